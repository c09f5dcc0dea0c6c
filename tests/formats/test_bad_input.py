"""Bad files of every platform end in one clear error that names the place, and nothing is written."""

import contextlib
import json
import os
import sys
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.formats.documents import DOCUMENTS, companions, spoiled, text_of
from tests.formats.matrix import PLATFORMS
from workbench.core.errors import FormatError
from workbench.formats import FORMATS
from workbench.formats.frame.wrapping import wrap
from workbench.formats.platforms.adaptive import creates
from workbench.formats.platforms.native import write as native_write
from workbench.formats.shared import writing
from workbench.formats.shared.parsing import parse_json, parse_python
from workbench.formats.shared.yaml_text import parse_yaml
from workbench.formats.targets.target import Target
from workbench.run.suite import Suite

JSON_PLATFORMS = [
    chosen.name
    for chosen in FORMATS.values()
    if ".json" in {chosen.suffix, *chosen.variants} or chosen.name == "letta"
]
"""Formats whose documents are JSON, and Letta's YAML, which is read as strictly."""
STEP = "graders:\n  a:\n    kind: tool\n    function: {}\n"


def write(folder, platform, document):
    companions(folder)
    path = folder / ("suite.yaml" if platform == "letta" else "x.json")
    path.write_text(text_of(platform, document), "utf-8")
    return path


@pytest.mark.parametrize("name", DOCUMENTS)
def test_valid_documents_load(name, tmp_path):
    """What the other tests spoil is whole, and is recognised."""
    platform, document = DOCUMENTS[name]
    path = write(tmp_path, platform, document)
    assert list(wb.load(path)) == list(wb.load(path, platform))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_spoiled_documents(name, tmp_path):
    """For any part of another type, missing or unknown: it loads, or the error names the path."""
    platform, document = DOCUMENTS[name]
    refused = 0
    for steps, spoiled_document in spoiled(document):
        path = write(tmp_path, platform, spoiled_document)
        try:
            wb.load(path, platform)
        except FormatError as error:
            refused += 1
            told, where = str(error), error.where.partition(path.name)
            assert where[1], (steps, told)
            assert len(steps) < 2 or where[2] or any(str(step) in told for step in steps), (steps, told)
    assert refused > 30


_CRITERION = {"type": "string_check", "name": "a", "input": "i", "reference": "r", "operation": "eq"}
_HELD: dict[str, object] = {
    "criteria": [_CRITERION],
    "job": {"object": "fine_tuning.job", "method": {"type": "reinforcement", "reinforcement": {"grader": _CRITERION}}},
    "evals": {"object": "list", "data": [{"object": "eval", "name": "n", "testing_criteria": [_CRITERION]}]},
    "promptfoo": {
        "providers": ["x"],
        "tests": [{"vars": {"q": "1"}, "assert": [{"type": "equals", "value": "1", "weight": 2}]}],
        "defaultTest": {"assert": [{"type": "not-contains", "value": "b"}]},
    },
    "other tool": {"name": "x", "cases": [{"inputs": "a", "evaluators": ["A"]}]},
}  # fmt: skip


@pytest.mark.parametrize("name", [*DOCUMENTS, *_HELD])
def test_spoiled_documents_of_no_named_platform(name):
    """Where the platform has to be told from the document, a part of any type is no trap either."""
    document = DOCUMENTS[name][1] if name in DOCUMENTS else _HELD[name]
    for _, other in spoiled(document):
        with contextlib.suppress(FormatError):
            assert isinstance(wb.loads(json.dumps(other)), Suite)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_unknown_keys_are_named(name, tmp_path):
    """An unknown key is an error with its name, except in fields for user data."""
    platform, document = DOCUMENTS[name]
    free = {"sampling_params", "outputSchema", "extractor_config", "target", "examples", "input", "headers"}
    for steps, spoiled_document in spoiled(document):
        mine = steps[-1:] == ["surprise"] and not free & set(map(str, steps))
        if mine and not (platform == "letta" and steps[-2:-1] == ["weights"]):
            path = write(tmp_path, platform, spoiled_document)
            with pytest.raises(FormatError, match="surprise|an object is needed|graders|gate"):
                wb.load(path, platform)


@pytest.mark.parametrize("platform", JSON_PLATFORMS)
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", ""),
        ("   \n", ""),
        ("{", "line 1"),
        ("[" * 50_000, "deep"),
        ('{"a":' * 50 + "1" + "}" * 50, "deep"),
        ('{"graders": NaN}', "NaN"),
        ('{"graders": [Infinity]}', "Infinity"),
        ('{"graders": [], "graders": [1]}', "duplicate key"),
        ('{"name": "\\ud800", "graders": []}', "lone surrogate"),
        ('{"graders": ' + "9" * 6000 + "}", ""),
        ('\ufeff{"graders": []', "line 1"),
        ("null", ""),
        ("[]", ""),
        ("{}", ""),
        ("7", ""),
        ('"graders"', ""),
    ],
)
def test_broken_json(platform, text, part):
    """Broken, deep, ambiguous and empty JSON, with the platform given and not."""
    with pytest.raises(FormatError) as error:
        wb.loads(text, platform, where="f.json")
    assert part in str(error.value)
    assert "f.json" in error.value.where
    with pytest.raises(FormatError):
        wb.loads(text, where="f.json")


BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (STEP.format("!!python/name:os.system"), "tags are not read"),
        (STEP.format("!!python/object/apply:os.system [touch x]"), "tags are not read"),
        (STEP.format("!mine x"), "tags are not read"),
        ("!!map\n" + STEP.format("contains"), "tags are not read"),
        (BOMB, "aliases are not read"),
        ("base: &b {kind: tool}\ngraders:\n  a:\n    <<: *b\n", "aliases are not read"),
        ("graders:\n  a:\n    <<: {kind: tool}\n    function: contains\n", "<<"),
        (STEP.format("contains") + "graders: {}\n", "duplicate key"),
        (STEP.format("contains") + "    function: exact_match\n", "duplicate key"),
        ("graders:\n  7: {kind: tool, function: contains}\n", "a key must be text"),
        ("graders:\n  ? [a]\n  : {kind: tool}\n", "a key must be text"),
        ("graders: {a: {kind: tool, function: [" + "[" * 60 + "]" * 60 + "]}}", "deep"),
        ("graders:\n" + " " * 2 + "{" * 3000, ""),
        (STEP.format("contains") + "gate: {op: gte, value: .nan}\n", "finite number"),
        (STEP.format("contains") + "gate: {op: gte, value: .inf}\n", "finite number"),
        (STEP.format("contains") + "\t- x", "line 5"),
        (STEP.format("contains") + "---\ngraders: {}\n", ""),
        (STEP.format("con\x00tains"), ""),
        (STEP.format("2020-01-01"), "2020-01-01"),
        (STEP.format("yes"), "expected text"),
    ],
)
def test_hostile_yaml(text, part):
    """Tags, bombs, merges, duplicates, odd keys, depth and odd numbers are refused with their position."""
    with pytest.raises(FormatError) as error:
        wb.loads(text, "letta", where="s.yaml")
    assert part in str(error.value)
    assert "s.yaml" in error.value.where


@pytest.mark.parametrize("sign", ["{", "a", "\n", "- a\n", "import x\n", '{"a":[],'])
def test_huge_files(sign, tmp_path):
    """10 MB of anything is refused by every reader, recognised or not, in bounded time."""
    path = tmp_path / "huge"
    path.write_text(sign * (10 * 2**20 // len(sign)), "utf-8")
    for platform in (*FORMATS, None):
        with pytest.raises(FormatError):
            wb.load(path, platform)


@pytest.mark.parametrize("platform", [*FORMATS, None])
def test_files_beyond_the_limit(platform, tmp_path):
    """More than 16 MiB is never read."""
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    with pytest.raises(FormatError, match="16 MiB"):
        wb.load(tmp_path / "huge", platform)


@pytest.mark.parametrize("platform", [*FORMATS, None])
def test_files_that_are_none(platform, tmp_path):
    """A folder, a missing file, a binary, and a name with a null character."""
    (tmp_path / "binary").write_bytes(b"\x89PNG\r\n\x00\xff")
    for name, part in [
        ("", "cannot be read"),
        ("none", "cannot be read"),
        ("binary", "UTF-8"),
        ("a\0b", "cannot be read"),
    ]:
        with pytest.raises(FormatError, match=part):
            wb.load(tmp_path / name if name else tmp_path, platform)


@pytest.mark.parametrize("name", ["umbraco", "letta", "adaptive", "openai", "vllora"])
def test_marks_and_line_ends(name, tmp_path):
    """A byte order mark and Windows line ends change nothing."""
    platform, document = DOCUMENTS[name]
    path = write(tmp_path, platform, document)
    before = wb.load(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    after = wb.load(path)
    assert after.entries == before.entries


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("adaptive.graders.create.function(key='f', fn=open('x').read())", "not written out"),
        ("adaptive.graders.create.function(key='f', fn=" + "-" * 3000 + "1)", ""),
        ("adaptive.graders.create.function(**settings)", "keyword arguments"),
        ("adaptive.graders.create.function('f')", "keyword arguments"),
        ("adaptive.graders.create.nothing(key='f')", "no create.nothing"),
        ("adaptive.graders.create.binary_judge(key='j', criteria=7, judge_model='m')", "line 1.criteria"),
        ("adaptive.graders.create.custom(key='c', description='d')", "custom grader"),
        ("adaptive.graders.create.function(key='f', fn=grade)", "grade"),
        ("adaptive.graders.create.function(key='f', fn='x' * 10**9)", "not written out"),
        ("def broken(:\n    adaptive.graders.create.function", "line 1"),
        ("x = " + "(" * 5000, ""),
        ("a" + ".b" * 5000 + ".graders.create.function(key=1)", ""),
        ("adaptive.graders.create.function(key='f', fn='\\ud800')", ""),
    ],
)
def test_bad_calls(text, part):
    """Calls with computed arguments, and text that is not Python."""
    with pytest.raises(FormatError) as error:
        wb.loads(text, "adaptive", where="g.py")
    assert part in str(error.value)


def test_a_credential_is_refused_with_what_to_do():
    """A Python file with a credential is not read; its line is named, the credential is not shown."""
    key = "sk-" + "a1B2c3D4" * 6
    with pytest.raises(FormatError, match="line 1 looks like a credential") as error:
        wb.loads(f"KEY = '{key}'\nasync def grade(thread):\n    return len(KEY)\n", "python", where="g.py")
    assert (error.value.where, "rename the constant" in error.value.hint) == ("g.py", True)
    assert key not in str(error.value)


@pytest.mark.parametrize(
    "call", ["graders.update.function", "recipes.create.function", "create.function", "graders.function"]
)
def test_other_calls_create_no_grader(call):
    """Only what is called under `graders.create` is a grader of Adaptive's."""
    assert creates(f"client.{call}(key='k')\n") == []
    assert creates("client.graders.create.function(key='k')\n") == [(1, "client.graders.create.function")]


@pytest.mark.parametrize(
    ("parse", "most", "filler"),
    [(parse_python, 2 * 1024 * 1024, "#"), (parse_yaml, 1024 * 1024, " ")],
)
def test_texts_are_read_up_to_a_limit(parse, most, filler):
    """A text of the most characters allowed is parsed, one character more is refused."""
    parse(filler * most, "g")
    with pytest.raises(FormatError, match="too large"):
        parse(filler * (most + 1), "g")


def test_nesting_is_read_up_to_a_limit():
    """Forty levels are read, one more is refused."""
    assert parse_json("[" * 40 + "]" * 40, "g")
    with pytest.raises(FormatError, match="deep"):
        parse_json("[" * 41 + "]" * 41, "g")


@pytest.mark.parametrize(
    ("schema", "part"),
    [
        ({"type": "object", "properties": {"reason": {"type": "string"}}}, "has no score"),
        ({"type": "object", "properties": ["score"]}, "not a valid JSON Schema"),
        ({"type": "object", "properties": 7}, "not a valid JSON Schema"),
        ({"type": "object"}, ""),
        ({"type": "object", "properties": {"score": {"type": "number"}}}, ""),
    ],
)
def test_schemas_of_a_vllora_judge(schema, part):
    """A reply must be able to contain a score; a schema that does not list its properties allows one."""
    text = json.dumps({"type": "llm-judge", "prompt": "p", "outputSchema": schema})
    if part:
        with pytest.raises(FormatError, match=part):
            wb.loads(text, "vllora")
    else:
        assert wb.loads(text, "vllora")[0].output_schema == schema


@pytest.mark.parametrize(
    "text", ["x = 1\n", "def f(:\n", "\0", "class", "import os\n", "# nothing\n", "(" * 5000]
)
def test_bad_modules(text):
    """A module without a grader, and no module at all."""
    with pytest.raises(FormatError, match=r"m\.py"):
        wb.loads(text, "osmosis", where="m.py")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("../secret.txt", "outside"),
        ("a/../../secret.txt", "outside"),
        ("..\\secret.txt", "outside"),
        ("/etc/passwd", "outside"),
        ("\\etc\\passwd", "outside"),
        ("link.txt", "outside"),
        ("ring", "outside" if sys.version_info < (3, 13) else "does not exist"),
        ("C:\\secret.txt", ""),
        ("none.txt", "does not exist"),
        ("inner", "does not exist"),
        ("x" * 5000, ""),
        ("a\\0b", ""),
        ("binary", "UTF-8"),
        ("huge", "too large"),
    ],
)
def test_companions_stay_in_their_folder(name, part, tmp_path):
    """A rubric is a text file in the suite's folder, by no trick one outside."""
    folder = tmp_path / "in"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "ring").symlink_to(folder / "ring")
    (folder / "binary").write_bytes(b"\xff")
    with (folder / "huge").open("wb") as file:
        file.truncate(17 * 2**20)
    path = folder / "suite.yaml"
    path.write_text(
        json.dumps({"graders": {"r": {"kind": "rubric", "prompt_path": name.replace("\\0", "\0")}}})
    )
    with pytest.raises(FormatError) as error:
        wb.load(path, "letta")
    assert part in str(error.value)
    assert "graders.r.prompt_path" in error.value.where
    assert "secret\n" not in str(error.value)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_as_companion_does_not_hang(tmp_path):
    """Something other than a file is not opened."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "suite.yaml").write_text("graders: {r: {kind: rubric, prompt_path: pipe}}")
    with pytest.raises(FormatError, match="does not exist"):
        wb.load(tmp_path / "suite.yaml")


def test_a_text_alone_has_no_companions():
    """Pasted text that names files: the error states how to load it."""
    with pytest.raises(FormatError, match="load it from its folder"):
        wb.loads("graders: {r: {kind: rubric, prompt_path: rubric.txt}}")


EVIL = "open({path!r}, 'w')\n"
MODULES = {
    "osmosis": "from osmosis_ai.rollout import Grader\n{evil}class G(Grader):\n    async def grade(self, ctx): ...\n",
    "adaptive": "{evil}async def grade(thread):\n    return 1.0\nadaptive.graders.create.function(key='f', fn=grade)\n",
    "letta": "{evil}def mentions(sample, submission):\n    return 1\n",
    "python": "{evil}async def grade(thread):\n    return 1.0\n",
    "javascript": "throw 1;\nfunction grade(input) {{ return 1; }}\n",
}


REWARD = "@osmosis_reward\ndef g(solution_str, ground_truth, extra_info=None):\n    return 1.0\n"
SOURCES = [
    *((name, text.format(evil="")) for name, text in MODULES.items() if name != "letta"),
    ("osmosis", REWARD),
    ("osmosis", wrap("async def grade(thread):\n    return 1.0\n", "osmosis", name="grade")),
    ("openai", json.dumps({"type": "python", "name": "p", "source": "def grade(sample, item):\n    return 1.0\n"})),
    ("vllora", json.dumps({"type": "script", "script": "function grade(input) { return 1; }"})),
]  # fmt: skip


@pytest.mark.parametrize(("platform", "text"), SOURCES)
def test_source_of_any_file_is_a_strangers(platform, text):
    """Code that is read on any way in is marked as imported, and trusted only on request."""
    read, trusted = (wb.loads(text, platform, trust=trust)[0] for trust in (False, True))
    assert read.source.imported
    assert (read.trust, trusted.trust) == (False, True)


@pytest.mark.parametrize("platform", FORMATS)
def test_reading_executes_nothing(platform, tmp_path):
    """Sources that would write a file when imported are read, and the file is not there."""
    validation = tmp_path / "executed"
    evil = EVIL.format(path=str(validation))
    code = f"{evil}def grade(sample, item):\n    return 1.0\n"
    module = MODULES.get(platform, "").format(evil=evil)
    (tmp_path / "mine.py").write_text(module)
    (tmp_path / "judge_mod.py").write_text(evil + "def grade(t):\n    return 1.0\n")
    text = {
        "native": native_write([wb.CustomGrader(target="judge_mod:grade", name="c"), wb.FunctionGrader.from_source(code)], allow_unvalidated=True)
        if platform == "native" else "",
        "openai": json.dumps({"type": "python", "name": "p", "source": code}),
        "umbraco": json.dumps({"graderTypeId": "contains", "config": {"searchPattern": evil}}),
        "vllora": json.dumps({"type": "script", "script": "throw 1; function grade(input) { return 1; }"}),
        "letta": "graders: {a: {kind: tool, function: 'mine.py:mentions'}}",
    }.get(platform, module or FORMATS[platform].example)  # fmt: skip
    if isinstance(FORMATS[platform], Target):
        grader = wb.FunctionGrader.from_source(f"{evil}async def grade(thread):\n    return 1.0\n", name="f")
        wb.export(grader, tmp_path / "written.py", platform, allow_unvalidated=True)
        text = (tmp_path / "written.py").read_text("utf-8")
    assert text, f"the format {platform} has no example= that tests could read"
    path = tmp_path / ("suite.yaml" if platform == "letta" else "g")
    path.write_text(text)
    modules = set(sys.modules)
    assert len(wb.load(path, platform)) >= 1
    assert len(wb.load(path)) >= 1
    assert not validation.exists()
    assert "judge_mod" not in set(sys.modules) - modules


def _state(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("platform", [name for name in PLATFORMS if name != "native"])
def test_a_refusal_changes_nothing(platform, tmp_path):
    """An unsupported setting leaves the folder unchanged, including an older file of that name."""
    name, ending = PLATFORMS[platform]
    target = tmp_path / f"out{ending}"
    target.write_text(native_write([wb.Contains(expected="older")]))
    companions(tmp_path)
    before = _state(tmp_path)
    suite = wb.Suite(
        [wb.Contains(expected="4"), wb.JsonSchema(schema={}, name="s")], combine=wb.combine.Mean()
    )
    for how in ({}, {"on_loss": "report"}):
        mine = suite if not how else wb.Suite(wb.JsonSchema(schema={}, name="s"))
        with pytest.raises(FormatError):
            wb.export(mine, target, name, **how)
        assert _state(tmp_path) == before


def test_somebodys_own_file_is_not_overwritten(tmp_path):
    """A user's module with a companion's name stops the export; an exported one is replaced."""
    suite = wb.Suite(wb.Entry(wb.Length(maximum=3), "short"))
    (tmp_path / "s_short.py").write_text("mine = 1\n")
    with pytest.raises(FormatError, match=r"s_short\.py"):
        wb.export(suite, tmp_path / "s.yaml", "letta")
    assert (tmp_path / "s_short.py").read_text() == "mine = 1\n"
    assert not (tmp_path / "s.yaml").exists()
    (tmp_path / "s_short.py").unlink()
    for limit in (3, 4):
        wb.export(wb.Suite(wb.Entry(wb.Length(maximum=limit), "short")), tmp_path / "s.yaml", "letta")
    assert "maximum=4" in (tmp_path / "s_short.py").read_text()


def test_a_write_that_fails_halfway_is_undone(tmp_path, monkeypatch):
    """When the main file cannot be written, its companions are unchanged."""
    suite = wb.Suite([wb.Entry(wb.Length(maximum=3), "short"), wb.Entry(wb.Length(maximum=9), "brief")])
    wb.export(wb.Suite(wb.Entry(wb.Length(maximum=5), "short")), tmp_path / "s.yaml", "letta")
    before = _state(tmp_path)
    real = writing.write_atomically

    def full(path, text):
        if path.suffix == ".yaml":
            raise FormatError("the file cannot be written", where=str(path), found="No space left on device")
        return real(path, text)

    monkeypatch.setattr(writing, "write_atomically", full)
    with pytest.raises(FormatError, match="No space"):
        wb.export(suite, tmp_path / "s.yaml", "letta")
    assert _state(tmp_path) == before


def test_an_old_report_does_not_stay(tmp_path):
    """A report of losses goes when the next export loses nothing."""
    path, report = tmp_path / "g.py", tmp_path / "g.py.losses.json"
    both = [wb.Contains(expected="4"), wb.JsonSchema(schema={})]
    wb.export(both, path, "adaptive", on_loss="report")
    assert report.exists()
    wb.export(both[0], path, "adaptive")
    assert not report.exists()


@pytest.mark.parametrize("platform", FORMATS)
def test_targets_that_cannot_be_written(platform, tmp_path, monkeypatch):
    """A missing folder, a folder in the file's place, and one without the right to write."""
    suite = wb.Suite(wb.RolloutGrader.from_source(MODULES["osmosis"].format(evil=""))
                     if platform == "osmosis" else wb.Contains(expected="4"))  # fmt: skip
    suite = (
        wb.Suite(wb.ScriptGrader.from_source("function grade(i) { return 1; }"))
        if platform in {"vllora", "javascript"}
        else suite
    )
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(tmp_path / "locked"))
    (tmp_path / "locked").mkdir()
    name = f"x{FORMATS[platform].suffix}"
    for place in (tmp_path / "no" / name, tmp_path, tmp_path / "locked" / name):
        with pytest.raises(FormatError, match="cannot be written"):
            wb.export(suite, place, platform, allow_unvalidated=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["locked"]


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "graders",
                    "type",
                    "kind",
                    "graderTypeId",
                    "name",
                    "config",
                    "format",
                    "grader",
                    "a",
                    "script",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=50)
@given(_VALUES, st.sampled_from([None, *FORMATS]))
def test_any_json_is_read_or_refused(value, platform):
    """No JSON at all ends in anything but a suite or a `FormatError`."""
    with contextlib.suppress(FormatError):
        assert isinstance(wb.loads(json.dumps(value), platform), Suite)


@settings(max_examples=40)
@given(st.text(max_size=60), st.sampled_from([None, *FORMATS]))
def test_any_text_is_read_or_refused(text, platform):
    """The same for any text."""
    with contextlib.suppress(FormatError):
        assert isinstance(wb.loads(text, platform), Suite)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('{"graderTypeId": "contains",}', ["a comma before the closing }", "remove that comma"]),
        ('[{"type": "script"},\n ]', ["a comma before the closing ]", "line 1"]),
        ('{"type": "script" "script": 1}', ["',' delimiter"]),
        ("graders: !!python/object {}", ["YAML tags are not read"]),
        ("graders: {a: *b}", ["YAML aliases are not read"]),
        ("# mine\ngraders: [", ["not plain YAML"]),
    ],
)
def test_mistakes_are_told_once_and_alone(text, parts):
    """Certain JSON or YAML gets no advice to name another format, and each part of the message appears once."""
    with pytest.raises(FormatError) as error:
        wb.loads(text)
    told = str(error.value)
    assert all(part in told for part in parts)
    assert "format=" not in told
    assert all(told.count(label) <= 1 for label in ("where:", "found:", "next step:"))


def test_a_near_name_of_a_companion_is_shown(tmp_path):
    """rubrik.txt for rubric.txt; where nothing is like it, the next step."""
    (tmp_path / "s.yaml").write_text("graders: {r: {kind: rubric, prompt_path: rubric.txt}}")
    with pytest.raises(FormatError, match="put the file into that folder"):
        wb.load(tmp_path / "s.yaml")
    (tmp_path / "rubrik.txt").write_text("Rate {submission}")
    with pytest.raises(FormatError, match=r"did you mean 'rubrik\.txt'"):
        wb.load(tmp_path / "s.yaml")


def test_an_output_schema_needs_a_score():
    """A judge whose replies could never contain a score is refused with the path of the schema."""
    judge = {
        "type": "llm-judge",
        "prompt": "p",
        "outputSchema": {"type": "object", "properties": {"grade": {}}},
    }
    with pytest.raises(FormatError, match="no score") as error:
        wb.loads(judge)
    assert "outputSchema" in error.value.where
    judge["outputSchema"]["properties"] = {"score": {"type": "number"}}
    assert wb.loads(judge)[0].kind == "schema-judge"


def test_parsed_objects_are_read():
    """A dict or a list is as good as its text; anything else is named."""
    check = {"graderTypeId": "contains", "name": "c", "config": {"searchPattern": "a"}}
    assert wb.loads(check) == wb.loads([check]) == wb.loads(json.dumps(check))
    with pytest.raises(TypeError, match="load\\(path\\)"):
        wb.loads(tempfile)
    with pytest.raises(FormatError, match="JSON cannot represent"):
        wb.loads({"a": object()})
