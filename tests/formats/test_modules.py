"""Files written by hand: Python modules and scripts are read like any platform's file, and never written over."""

import re

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.formats.shared.writing import detect

THREAD = wb.StringThread([("user", "q"), ("assistant", "four")])
BARE = "async def grade(thread):\n    return 0.5\n"
TWO = "import workbench as wb\n\n\n@wb.grader(timeout=2.0)\nasync def long(thread):\n    return 0.25\n\n\n@wb.grader\nasync def brief(thread):\n    return 0.75\n"
OPENAI = "def grade(sample, item):\n    return float(sample['output_text'] == 'four')\n"
SCRIPT = "function grade(input) {\n  const held = {a: 0.5};\n  return held.a;\n}\n"
OSMOSIS = "class Mine(Grader):\n    async def grade(self, ctx: GraderContext) -> None:\n        pass\n"


def scores(suite):
    return [grader(THREAD).score for grader in suite]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (BARE, "g.py", [0.5]),
        (TWO, "g.py", [0.25, 0.75]),
        (OPENAI, "g.py", [1.0]),
        (SCRIPT, "g.js", [0.5]),
        ("const grade = (input) => 0.5;\n", "g.js", [0.5]),
    ],
)
def test_source_files_are_read(text, name, expected, tmp_path):
    """A file, and its text alone, without its format."""
    (tmp_path / name).write_text(text)
    assert scores(wb.load(tmp_path / name, trust=True)) == expected
    assert scores(wb.loads(text, trust=True)) == expected


def test_settings_of_decorators_are_kept(tmp_path):
    """The timeout in the decorator is the grader's, and a loaded file is untrusted."""
    (tmp_path / "g.py").write_text(TWO)
    suite = wb.load(tmp_path / "g.py")
    assert [grader.timeout for grader in suite] == [2.0, 1.0]
    assert all(grader.source.imported and not grader.trust for grader in suite)


def test_a_module_is_converted(tmp_path):
    """What runs can be converted, too."""
    (tmp_path / "g.py").write_text(BARE)
    wb.convert(tmp_path / "g.py", tmp_path / "g.json", "openai", trust=True)
    assert scores(wb.load(tmp_path / "g.json", trust=True)) == [0.5]


def test_a_platforms_module_is_that_platforms():
    """A Grader class is Osmosis', with its import line or without; calls of create are Adaptive's."""
    assert detect(OSMOSIS).name == "osmosis"
    assert detect(BARE + "adaptive.graders.create.function(key='a', fn=grade)\n").name == "adaptive"


def test_a_python_file_without_graders_says_what_was_looked_for(tmp_path):
    """It is detected as Python, not as YAML."""
    (tmp_path / "g.py").write_text("x = {1: 2}\n")
    with pytest.raises(FormatError, match="contains no grader") as error:
        wb.load(tmp_path / "g.py")
    assert "@wb.grader" in error.value.expected
    (tmp_path / "g.py").write_text("x = (\n")
    with pytest.raises(FormatError, match="not Python"):
        wb.load(tmp_path / "g.py")


OTHERS = {
    "inspect_ai": (
        "from inspect_ai.scorer import Score, accuracy, scorer\n\n\n@scorer(metrics=[accuracy()])\ndef mine():\n"
        "    async def score(state, target):\n        return Score(value=1)\n\n    return score\n"
    ),
    "LangSmith": "def correct(inputs: dict, outputs: dict, reference_outputs: dict) -> bool:\n    return True\n",
    "MLflow": "def correct(outputs, expectations):\n    return outputs == expectations['expected']\n",
}


@pytest.mark.parametrize("system", OTHERS)
def test_functions_of_other_systems_are_no_graders(system, tmp_path):
    """A file, and a pasted text, of a trainer or evaluator is refused with its function and what it looks like."""
    (tmp_path / "g.py").write_text(OTHERS[system])
    with pytest.raises(FormatError, match="Python file contains no grader") as error:
        wb.load(tmp_path / "g.py")
    name = re.findall(r"^(?:async )?def (\w+)", OTHERS[system], re.MULTILINE)[0]
    assert error.value.found.startswith(f"{name}(")
    assert system in error.value.found
    assert "async def grade(thread)" in error.value.hint
    with pytest.raises(FormatError, match="Python text contains no grader"):
        wb.loads(OTHERS[system])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("def a():\n    pass\n\n\ndef b(x, y=1):\n    pass\n", "a(), b(x, y=1)"),
        ("import re\n\n\nclass A:\n    pass\n", "class A"),
        ("limit = 3\nprint(limit)\n", "no function"),
        ("reward = lambda completions: [1.0]\n", "no function"),
        ("print(1)\n", "no function"),
        (BARE.replace("grade", "one") + "\n\n" + BARE.replace("grade", "two"), "one, two"),
    ],
)
def test_python_without_a_grader_says_what_is_there(text, part, tmp_path):
    """Pasted or in a file it is detected as Python, with what was found and what is supported."""
    (tmp_path / "g.py").write_text(text)
    for read in (lambda: wb.load(tmp_path / "g.py"), lambda: wb.loads(text)):
        with pytest.raises(FormatError, match="Python") as error:
            read()
        assert part in error.value.found
        assert "YAML" not in str(error.value)
        assert error.value.hint


@pytest.mark.parametrize("text", ["hello", "just words, no code", "name: x\nlist: [1, 2]\n", "- a\n- b\n"])
def test_what_is_no_python_is_not_told_as_python(text):
    """A line of YAML may be Python to its parser."""
    with pytest.raises(FormatError, match="cannot detect the platform"):
        wb.loads(text)


@pytest.mark.parametrize(("format", "ending"), [("python", ".py"), ("javascript", ".js")])
@pytest.mark.parametrize("negate", [False, True])
def test_rules_are_written_as_source(format, ending, negate, tmp_path):  # noqa: A002
    """A rule becomes a file that scores the same, its opposite too."""
    path = tmp_path / f"g{ending}"
    wb.export(wb.Entry(wb.Contains(expected="four"), negate=negate), path, format)
    assert scores(wb.load(path, trust=True)) == [0.0 if negate else 1.0]


def test_own_source_comes_back_as_it_was(tmp_path):
    """A function's text and a script's are the file."""
    wb.export(wb.FunctionGrader.from_source(BARE), tmp_path / "g.py", "python", allow_unvalidated=True)
    wb.export(wb.ScriptGrader.from_source(SCRIPT), tmp_path / "g.js", "javascript", allow_unvalidated=True)
    assert (tmp_path / "g.py").read_text() == BARE
    assert (tmp_path / "g.js").read_text() == SCRIPT


def test_a_file_holds_one_grader(tmp_path):
    """Others, and a rule over them, are refused or reported."""
    suite = wb.Suite([wb.Contains(expected="a"), wb.Length(maximum=9)], combine=wb.combine.Mean())
    with pytest.raises(FormatError, match="one grader"):
        wb.export(suite, tmp_path / "g.py", "python")
    written = wb.export(suite, tmp_path / "g.py", "python", on_loss="report")
    assert {loss.field for loss in written.losses} == {"grader", "combine"}
    with pytest.raises(FormatError, match="no grader can be written"):
        wb.export(wb.BinaryJudge(criteria="c"), tmp_path / "j.py", "python", on_loss="report")


# --- targets


@pytest.mark.parametrize(
    ("name", "held"), [("g.json", '{"my": "data"}'), ("g.py", BARE), ("g.py", "x = 1\n")]
)
def test_somebodys_own_file_is_not_a_target(name, held, tmp_path):
    """Data, and Python written by hand, stay; a grader file is replaced."""
    path = tmp_path / name
    path.write_text(held)
    platform = "openai" if name == "g.json" else "adaptive"
    with pytest.raises(FormatError, match="exists and"):
        wb.export(wb.Contains(expected="a"), path, platform)
    assert path.read_text() == held
    path.write_text("")
    for word in ("a", "b"):
        wb.export(wb.Contains(expected=word), path, platform)
    assert "'b'" in path.read_text() or '"b"' in path.read_text()


@pytest.mark.parametrize(
    ("name", "platform"),
    [
        ("g.yaml", "native"),
        ("g.json", "letta"),
        ("g.json", "osmosis"),
        ("g.py", "openai"),
        ("g.js", "adaptive"),
    ],
)
def test_another_formats_ending_is_refused(name, platform, tmp_path):
    """No JSON in a .yaml file, no YAML in a .json file."""
    with pytest.raises(FormatError, match="not written to") as error:
        wb.export(wb.Contains(expected="a"), tmp_path / name, platform)
    assert error.value.expected
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "platform"), [("g.yml", "letta"), ("g", "native"), ("g.txt", "openai")])
def test_endings_of_no_format_are_left_to_the_user(name, platform, tmp_path):
    """Other endings are accepted unchanged."""
    wb.export(wb.Contains(expected="a"), tmp_path / name, platform)
    assert (tmp_path / name).exists()


@pytest.mark.parametrize(("kind", "make", "text"), [
    ("python", wb.FunctionGrader, "async def grade(thread):\n    return 0.5\n"),
    ("javascript", wb.ScriptGrader, "function grade(input) { return 0.5; }\n"),
])  # fmt: skip
def test_a_name_that_a_file_does_not_keep_is_told(tmp_path, kind, make, text):
    """The imported grader is named after its function, and the export reports this unless the name is the same."""
    path = tmp_path / ("file.py" if kind == "python" else "file.js")
    notes = wb.export(make.from_source(text, name="mine"), path, kind, allow_unvalidated=True).notes
    (back,) = wb.load(path)
    assert [note.what for note in notes if note.field == "name"] == [
        f"a file does not store a name: imported again, it is named {back.name!r} after its function"
    ]
    same = wb.export(make.from_source(text), tmp_path / f"same{path.suffix}", kind, allow_unvalidated=True)
    assert [note for note in same.notes if note.field == "name"] == []


REWARDS = "def near(completions, river, **kw):\n    return [1.0 for _ in completions]\n\n\ndef short(completions, **kw):\n    return [-1.0 for _ in completions]\n\n\n"


@pytest.mark.parametrize(
    "rest",
    [
        "GRPOTrainer(reward_funcs=[near, short], args=GRPOConfig(reward_weights=[2.0, 0.5]))\n",
        "reward_funcs = [near, short]\nreward_weights = [2, 0.5]\nGRPOTrainer(reward_funcs=reward_funcs)\n",
        "def main():\n    args = GRPOConfig(reward_weights=[2.0, 0.5])\n    GRPOTrainer(reward_funcs=[near, short], args=args)\n",
    ],
)
def test_the_weights_of_a_trainer_combine_its_rewards(rest):
    """TRL adds the weighted scores: 2 * 1 - 0.5 * 1."""
    suite = wb.loads(f"from trl import GRPOTrainer, GRPOConfig\n\n{REWARDS}{rest}", trust=True)
    assert [(entry.name, entry.weight) for entry in suite.entries] == [("near", 2.0), ("short", 0.5)]
    thread = wb.StringThread([("user", "q"), ("assistant", "four")], {"river": "Elbe"})
    assert suite(thread).score == 1.5


@pytest.mark.parametrize(
    "rest",
    [
        "GRPOConfig(reward_weights=[2.0])\nGRPOTrainer(reward_funcs=[near, short])\n",
        "GRPOConfig(reward_weights=weights)\nGRPOTrainer(reward_funcs=[near, short])\n",
        "GRPOConfig(reward_weights=[1.0, 2.0])\nGRPOTrainer(reward_funcs=[near, other])\n",
        "",
    ],
)
def test_weights_that_are_not_known_combine_nothing(rest):
    suite = wb.loads(f"{REWARDS}{rest}", trust=True)
    assert suite.combine is None
    assert [entry.weight for entry in suite.entries] == [1.0, 1.0]
