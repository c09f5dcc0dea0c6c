"""Unsupported settings: never the opposite, never an unreported rule, never the wrong cause."""

import json
from dataclasses import replace

import pytest

import workbench as wb
from tests.formats.matrix import PLATFORMS
from workbench.core.errors import FormatError
from workbench.data.extractors import EXTRACTORS, extractor
from workbench.formats import FORMATS
from workbench.formats.shared import Document
from workbench.formats.shared.unsupported import unique
from workbench.judges import SchemaJudge

FUNCTION = wb.FunctionGrader.from_source("async def grade(thread):\n    return 1.0\n", name="f")
SCRIPT = wb.ScriptGrader.from_source("function grade(input) { return 1; }", name="s")
YES, NO = (wb.StringThread([("user", "q"), ("assistant", text)]) for text in ("one", "none"))
CHECK = '{{"graderTypeId": "contains", "name": "check", "config": {{"searchPattern": "{}"}}}}'


_WITH_NEGATION = {"adaptive", "adaptive .json", "letta", "openai", "osmosis", "umbraco", "vllora"}


@pytest.mark.parametrize("platform", [name for name in PLATFORMS if name != "native"])
def test_a_negated_rule_keeps_its_meaning(platform, tmp_path):
    """Code can compute 1 - x, so nothing is lost; a format without a negation refuses it by name."""
    name, ending = PLATFORMS[platform]
    entry = wb.Entry(wb.Contains(expected="none"), "n", negate=True)
    refusal = ""
    try:
        written = wb.export(wb.Suite(entry), tmp_path / f"g{ending}", name)
    except FormatError as error:
        refusal = str(error)
    if refusal:
        assert "negat" in refusal
        assert platform not in _WITH_NEGATION
        return
    assert written.losses == ()
    suite = wb.load(tmp_path / f"g{ending}", trust=True)
    assert [suite(thread).score for thread in (YES, NO)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("platform", "grader"),
    [
        ("letta", FUNCTION),
        ("adaptive", FUNCTION),
        ("osmosis", FUNCTION),
        ("vllora", SCRIPT),
        ("adaptive", wb.BinaryJudge(criteria="c", model="m", platform="adaptive")),
        ("letta", wb.RubricJudge(prompt="Is it right?", model="m")),
    ],
)
def test_a_negated_grader_is_dropped_whole(platform, grader, tmp_path):
    """Without its negation it would measure the opposite, so it is dropped completely."""
    path = tmp_path / f"g{PLATFORMS[platform][1]}"
    suite = wb.Suite([wb.Entry(grader, "bad", negate=True), wb.Entry(wb.Contains(expected="one"), "good")])
    with pytest.raises(FormatError, match="no grader can be written"):
        wb.export(wb.Suite(suite.entries[0]), path, platform, on_loss="report", allow_unvalidated=True)
    assert not list(tmp_path.iterdir())
    written = wb.export(suite, path, platform, on_loss="report", allow_unvalidated=True)
    assert ("bad", "negate") in {(loss.grader, loss.field) for loss in written.losses}
    assert len(wb.load(path)) == 1


@pytest.mark.parametrize("platform", [name for name, chosen in FORMATS.items() if name != "native"])
@pytest.mark.parametrize(
    "bad", [wb.CustomGrader(target="judge_mod:grade", name="bad"), wb.JsonSchema({}, name="bad")]
)
def test_a_grader_that_cannot_be_written_is_named(platform, bad, tmp_path):
    """With a supported one it is refused by name with a hint; on request it is omitted and reported."""
    path = tmp_path / f"g{FORMATS[platform].suffix}"
    suite = wb.Suite([bad, wb.Contains("none", name="good")], combine=wb.combine.Sum())
    with pytest.raises(FormatError):
        wb.export(suite, path, platform)
    assert not list(tmp_path.iterdir())
    written = wb.export(suite, path, platform, on_loss="report")
    (loss,) = (loss for loss in written.losses if loss.grader == "bad")
    assert loss.field in {"kind", "json-schema", "json-schema.schema"}
    assert loss.hint
    (entry,) = wb.load(path, trust=True).entries
    assert [wb.Suite(entry)(thread).score for thread in (YES, NO)] == [0.0, 1.0]


@pytest.mark.parametrize(("platform", "hint"), [("osmosis", "json-keys"), ("vllora", "function grader")])
def test_what_cannot_be_code_says_what_could(platform, hint, tmp_path):
    """The hint is that of the setting that cannot be exported, not the platform's list of supported kinds."""
    suite = wb.Suite([wb.JsonSchema({}, name="bad"), wb.Contains("one")], combine=wb.combine.Sum())
    written = wb.export(suite, tmp_path / f"g{FORMATS[platform].suffix}", platform, on_loss="report")
    (loss,) = (loss for loss in written.losses if loss.grader == "bad")
    assert hint in loss.hint


@pytest.mark.parametrize("platform", ["adaptive", "osmosis", "python", "javascript", "umbraco", "vllora"])
@pytest.mark.parametrize(
    ("threshold", "is_lost"), [(0.0, True), (1e-9, False), (0.5, False), (1.0, False), (1.0001, True)]
)
def test_a_threshold_that_changes_nothing_is_no_loss(platform, threshold, is_lost, tmp_path):
    """Where scores are 0 and 1 any threshold above 0 and up to 1 gives the same verdicts."""
    entry = wb.Entry(wb.Contains("one"), "e", pass_threshold=threshold)
    path = tmp_path / f"g{FORMATS[platform].suffix}"
    losses = wb.export(wb.Suite(entry), path, platform, on_loss="report").losses
    assert [loss.field for loss in losses] == ["pass_threshold"] * is_lost


def test_a_name_that_is_computed_is_no_member_that_is_asked_for(tmp_path):
    """`hasattr` with a name that is not written out excuses no read of what the platform does not pass."""
    text = "async def grade(thread):\n    key = 'get_turns'\n    return float(hasattr(thread, {}) and len(thread.get_turns()))\n"
    computed, written = (wb.FunctionGrader.from_source(text.format(name)) for name in ("key", "'get_turns'"))
    with pytest.raises(FormatError, match="whole conversation"):
        wb.export(computed, tmp_path / "g.json", "openai", allow_unvalidated=True)
    assert wb.export(written, tmp_path / "g.json", "openai", allow_unvalidated=True).losses == ()


@pytest.mark.parametrize("companions", [{}, {"c.txt": "plain"}])
def test_text_that_no_file_can_hold_is_refused(companions, tmp_path, monkeypatch):
    """A format that writes half of a character pair gets an error with the file's name, and nothing is written."""
    torn = replace(FORMATS["python"], name="torn", write=lambda *_: Document("\ud800", companions))
    monkeypatch.setitem(FORMATS, "torn", torn)
    with pytest.raises(FormatError, match="lone surrogate") as error:
        wb.export(wb.Contains("x"), tmp_path / "g.py", "torn")
    assert error.value.where == str(tmp_path / "g.py")
    assert not list(tmp_path.iterdir())


def test_names_that_are_taken_get_the_next_number():
    """The first unused number from 2."""
    assert unique("a", ["b"]) == "a"
    assert unique("a", ["a"]) == "a 2"
    assert unique("a", ["a", "a 2", "a 3", "a 5"]) == "a 4"


def test_a_vllora_judge_has_no_extractor(tmp_path):
    """What a judge has beyond vLLora's keys is refused."""
    schema = {"type": "object", "properties": {"score": {"type": "number"}}}
    judge = SchemaJudge("p", schema, model="m", max_tokens=9, extractor="first_assistant", name="j")
    with pytest.raises(FormatError, match="no equivalent of extractor='first_assistant'"):
        wb.export(judge, tmp_path / "g.json", "vllora")


@pytest.mark.parametrize("platform", ["vllora", "openai"])
def test_a_negated_whole_is_not_written_plain(platform, tmp_path):
    """A combined grader's negation is not dropped either."""
    inner = wb.combine.Combined(
        entries=(wb.Entry(wb.Contains(expected="a"), "a"), wb.Entry(wb.Length(maximum=9), "b")), name="c"
    )
    with pytest.raises(FormatError, match="no grader can be written"):
        wb.export(wb.Suite(wb.Entry(inner, negate=True)), tmp_path / "g.json", platform, on_loss="report")


@pytest.mark.parametrize("module", ["workbench.data.extractors", "elsewhere"])
def test_an_own_extractor_is_no_letta_extractor(module, tmp_path, monkeypatch):
    """A registered extractor is reported by name, in a setting as in code, independent of its function's module."""
    monkeypatch.setattr("workbench.data.extractors.EXTRACTORS", dict(EXTRACTORS))

    def last_assistant(thread):
        return "one"

    last_assistant.__module__, last_assistant.__qualname__ = module, "last_assistant"
    extractor("mine")(last_assistant)
    built_in = wb.ExactMatch(extractor="mine", name="g")
    for grader in (built_in, wb.Contains("one", extractor="mine", name="g")):
        with pytest.raises(FormatError, match="'mine' is a"):
            wb.export(grader, tmp_path / "g.yaml", "letta")
    with pytest.raises(FormatError, match="'mine' is a"):
        wb.export(built_in, tmp_path / "g.py", "adaptive")
    written = wb.export(built_in, tmp_path / "g.yaml", "letta", on_loss="report")
    assert [(loss.grader, loss.field) for loss in written.losses] == [("g", "extractor")]


def test_companions_are_named_after_their_suite(tmp_path):
    """Two suites with a grader of one name, in one folder, keep a module each."""
    for name, word in (("a", "one"), ("b", "two")):
        (tmp_path / f"{name}.json").write_text(CHECK.format(word))
        wb.convert(tmp_path / f"{name}.json", tmp_path / f"{name}.letta.yaml", "letta")
    held = [wb.load(tmp_path / f"{name}.letta.yaml", trust=True) for name in "ab"]
    assert [suite(YES).score for suite in held] == [1.0, 0.0]


def test_another_suites_companion_is_not_overwritten(tmp_path):
    """Names that differ in signs only would give one file: the second is refused."""
    wb.export(wb.Entry(wb.Contains(expected="one"), "check"), tmp_path / "a b.yaml", "letta")
    before = (tmp_path / "a_b_check.py").read_text()
    with pytest.raises(FormatError, match="another suite") as error:
        wb.export(wb.Entry(wb.Contains(expected="two"), "check"), tmp_path / "a_b.yaml", "letta")
    assert "a b.yaml" in error.value.found
    assert (tmp_path / "a_b_check.py").read_text() == before
    wb.export(wb.Entry(wb.Contains(expected="two"), "check"), tmp_path / "a b.yaml", "letta")


ALL_PASS = wb.Suite(
    [wb.Entry(wb.Contains(expected="one"), "a"), wb.Entry(wb.Length(maximum=1), "b", severity="warning")],
    combine=wb.combine.AllPass(),
)


def test_a_rule_put_in_anothers_place_is_told(tmp_path):
    """The report and the refusal name the rule that is written instead."""
    written = wb.export(ALL_PASS, tmp_path / "v.json", "vllora", on_loss="report")
    told = {loss.field: loss for loss in written.losses}
    assert told["combine"].instead == "the weighted sum 0.5 * a + 0.5 * b"
    assert "written instead: the weighted sum" in str(written)
    report = json.loads((tmp_path / "v.json.losses.json").read_text())
    assert "0.5 * b" in report["dropped"][-1]["instead"]
    loose = wb.Suite([wb.Contains(expected="one", name="a"), wb.Length(maximum=9, name="b")])
    with pytest.raises(FormatError) as error:
        wb.export(loose, tmp_path / "o.json", "openai")
    assert "writes min(a, b) instead" in error.value.hint
    (told,) = wb.export(loose, tmp_path / "o.json", "openai", on_loss="report").losses
    assert told.instead == json.loads((tmp_path / "o.json").read_text())["calculate_output"] == "min(a, b)"


@pytest.mark.parametrize("platform", ["adaptive", "letta", "osmosis", "vllora", "openai"])
def test_the_kind_is_told_first(platform, tmp_path):
    """A judge that a platform lacks is refused as such, not for the rule its suite came with."""
    (tmp_path / "u.json").write_text('{"graderTypeId": "llm-judge", "name": "j"}')
    with pytest.raises(FormatError, match="no equivalent of a criteria-judge") as error:
        wb.convert(tmp_path / "u.json", tmp_path / f"g{PLATFORMS[platform][1]}", platform)
    assert error.value.where == "grader 'j', kind"


def test_articles_fit():
    """An exact match is not "a exact match"."""
    from workbench.graders.portable import portable

    assert portable(wb.ExactMatch(expected="a")).startswith('"""An exact-match grader')
    with pytest.raises(FormatError, match="no equivalent of an ascii-printable"):
        wb.export(wb.AsciiPrintable(), "x.json", "umbraco")


def test_a_gate_is_called_a_gate(tmp_path):
    """A run's gate is not a combining rule."""
    suite = wb.Suite(
        wb.Contains(expected="a", name="a"), gate=wb.combine.SimpleGate(metric_key="a", value=0.5)
    )
    for platform in ("adaptive", "osmosis"):
        with pytest.raises(FormatError, match="no gates over a run"):
            wb.export(suite, tmp_path / "g.py", platform)


def test_keys_of_adaptive_are_words(tmp_path):
    """A name with spaces becomes a key and a display name, which is noted."""
    suite = wb.Suite([wb.Contains(expected="a", name=name) for name in ("No rivals!", "no-rivals", "B_1")])
    written = wb.export(suite, tmp_path / "g.json", "adaptive")
    records = json.loads((tmp_path / "g.json").read_text())["graders"]
    assert [record["key"] for record in records] == ["no-rivals-2", "no-rivals", "B_1"]
    assert [record.get("name") for record in records] == ["No rivals!", None, None]
    assert [(note.grader, note.field) for note in written.notes] == [("No rivals!", "name")]
    assert len(wb.load(tmp_path / "g.json")) == 3


def test_changed_names_and_needed_columns_are_noted(tmp_path):
    """OpenAI's formulas need words, its checks a column; an Osmosis module has no name."""
    suite = wb.Suite([wb.Contains(name="a b"), wb.Length(maximum=9, name="c")], combine=wb.combine.Mean())
    notes = wb.export(suite, tmp_path / "o.json", "openai").notes
    assert {(note.grader, note.field) for note in notes} == {("a b", "name"), ("a b", "reference")}
    assert any("{{item.reference}}" in str(note) for note in notes)
    (note,) = wb.export(wb.Contains(name="a", expected="x"), tmp_path / "g.py", "osmosis").notes
    assert "'g'" in str(note)
    assert wb.load(tmp_path / "g.py").entries[0].name == "g"


@pytest.mark.parametrize("pattern", ["(?a)\\w+", "(?u:\\w)", "a(?is-m:b)(?a:c)"])
def test_flags_that_dotnet_lacks_are_refused(pattern, tmp_path):
    """A pattern that .NET would not compile is not valid for Umbraco."""
    with pytest.raises(FormatError, match=r"\.NET has no flags") as error:
        wb.export(wb.Regex(pattern=pattern, name="r"), tmp_path / "u.json", "umbraco")
    assert error.value.where == "grader 'r', pattern"


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"ignore_case": False}, "ignore_case"),
        ({"ignore_case": True, "mode": "set"}, "mode"),
        ({"ignore_case": True}, ""),
    ],
)
def test_tool_calls_that_umbraco_compares_otherwise(settings, field, tmp_path):
    """Names in their letter case, and the set of names, are losses there; any case is none."""
    suite = wb.Suite(
        [wb.ToolCallMatch(["a"], name="t", **settings), wb.Contains("x")], combine=wb.combine.Mean()
    )
    written = wb.export(suite, tmp_path / "u.json", "umbraco", on_loss="report")
    assert [loss.field for loss in written.losses if loss.grader == "t"] == [field] * bool(field)
