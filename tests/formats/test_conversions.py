"""What came back changed, or not at all, from suites put together at random."""

import json

import pytest

import workbench as wb
from tests.formats.matrix import PLATFORMS
from workbench.core.errors import FormatError, NotValidatedError
from workbench.formats import FORMATS

ROWS = wb.Samples([{"prompt": "q", "completion": "one", "reference": said} for said in ("one", "")])
ONE, EMPTY = ROWS[0], ROWS[1]
HAS, LACKS = wb.Contains(expected="one"), wb.Contains(expected="none")


@pytest.mark.parametrize("platform", ["native", "umbraco", "vllora", "openai", "letta"])
def test_a_grader_may_be_called_combined(platform, tmp_path):
    """The name of a suite's own column does not prevent reading an exported file."""
    name, ending = PLATFORMS[platform]
    suite = wb.Suite([wb.Entry(HAS, "combined"), wb.Entry(LACKS, "combined_2")])
    wb.export(suite, tmp_path / f"g{ending}", name, on_loss="report")
    again = wb.load(tmp_path / f"g{ending}", trust=True)
    assert [entry.name for entry in again.entries] == ["combined", "combined_2"]
    assert again.combine is None or again.column == "combined 2"


def test_a_reward_may_be_called_combined(tmp_path):
    """Letta's reward is a rule too, whose column must not be its metric's."""
    suite = wb.Suite([wb.Entry(HAS, "combined"), LACKS], combine=wb.combine.Formula("combined"), name="all")
    wb.export(suite, tmp_path / "g.yaml", "letta")
    assert wb.load(tmp_path / "g.yaml", trust=True).column == "all"
    (tmp_path / "g.yaml").write_text((tmp_path / "g.yaml").read_text().replace("name: all\n", ""))
    again = wb.load(tmp_path / "g.yaml", trust=True)
    assert (again.column, again.combine) == ("combined 2", wb.combine.Formula("combined"))


def test_a_reward_goes_with_its_grader(tmp_path):
    """A reward that reads a dropped grader is dropped too, and reported."""
    suite = wb.Suite(
        [wb.Entry(wb.ToolCallMatch(expected=["x"]), "t"), wb.Entry(HAS, "h")], combine=wb.combine.Formula("t")
    )
    written = wb.export(suite, tmp_path / "g.yaml", "letta", on_loss="report")
    assert ("", "combine") in {(loss.grader, loss.field) for loss in written.losses}
    again = wb.load(tmp_path / "g.yaml", trust=True)
    assert [entry.name for entry in again.entries] == ["h"]
    assert again.combine is None


@pytest.mark.parametrize("rule", [wb.combine.Mean(), wb.combine.Sum(), wb.combine.Formula("h")])
def test_an_only_grader_blocks_in_umbraco(rule, tmp_path):
    """Where one grader is the whole score, a severity that never blocks would make it always 1.0."""
    suite = wb.Suite(wb.Entry(LACKS, "h", severity="info"), combine=rule)
    notes = wb.export(suite, tmp_path / "g.json", "umbraco").notes
    assert ("h", "severity") in {(note.grader, note.field) for note in notes}
    assert suite(ONE).score == wb.load(tmp_path / "g.json")(ONE).score == 0.0


def test_a_score_between_is_not_a_verdict_in_umbraco(tmp_path):
    """A judge's mean is its score, and no run there has one."""
    judge = wb.CriteriaJudge(criteria="c", platform="umbraco")
    wb.export(wb.Suite(judge), tmp_path / "g.json", "umbraco")
    with pytest.raises(wb.errors.FormatError, match="Error-severity"):
        wb.export(wb.Suite(judge, combine=wb.combine.Mean()), tmp_path / "h.json", "umbraco")


def test_a_negated_threshold_is_told_in_openai(tmp_path):
    """A formula turns the score round, and nothing there turns the verdict."""
    grader = wb.TextSimilarity(metric="rouge_1", reference="one two")
    suite = wb.Suite(wb.Entry(grader, "s", negate=True, pass_threshold=0.5))
    with pytest.raises(wb.errors.FormatError) as error:
        wb.export(suite, tmp_path / "g.json", "openai")
    assert error.value.where == "grader 's', pass_threshold"
    plain = wb.Suite(wb.Entry(grader, "s", pass_threshold=0.5))
    wb.export(plain, tmp_path / "g.json", "openai")
    assert wb.load(tmp_path / "g.json").entries[0].pass_threshold == 0.5


@pytest.mark.parametrize("make", [wb.Contains, lambda **how: wb.ExactMatch(trim=False, **how)])
def test_an_empty_reference_scores_zero_in_openai(make, tmp_path):
    """A check there finds the empty text everywhere, where Letta's rule gives 0.0: code keeps the difference."""
    wb.export(make(on_no_reference="zero"), tmp_path / "g.json", "openai")
    assert json.loads((tmp_path / "g.json").read_text())["type"] == "python"
    again = wb.load(tmp_path / "g.json", trust=True)
    assert [again(row).score for row in (ONE, EMPTY)] == [1.0, 0.0]
    wb.export(make(), tmp_path / "h.json", "openai")
    assert json.loads((tmp_path / "h.json").read_text())["type"] == "string_check"


@pytest.mark.parametrize(
    "grader",
    [
        wb.Contains(ignore_case=True),
        wb.combine.PerTurn(grader=wb.Contains(ignore_case=True, on_empty="zero")),
    ],
)
def test_lettas_rule_of_empty_references_is_noted(grader, tmp_path):
    """Its built-in functions give 0.0 where a row has nothing to compare with."""
    notes = wb.export(grader, tmp_path / "g.yaml", "letta").notes
    assert [note.field for note in notes] == ["on_no_reference"]
    assert "empty one, scores 0.0" in str(notes[0])
    own = wb.Contains(ignore_case=True, on_no_reference="zero", on_empty="zero")
    assert wb.export(own, tmp_path / "h.yaml", "letta").notes == ()


def test_a_row_that_lettas_rule_does_not_skip_is_a_loss(tmp_path):
    """A grader that skips rows without a reference is not written as one that scores them 0.0, unless requested."""
    grader = wb.Contains(ignore_case=True, on_no_reference="skip")
    with pytest.raises(FormatError, match="on_no_reference"):
        wb.export(grader, tmp_path / "g.yaml", "letta")
    written = wb.export(grader, tmp_path / "g.yaml", "letta", on_loss="report")
    assert [loss.field for loss in written.losses] == ["on_no_reference"]


@pytest.mark.parametrize("kind", [wb.Contains, wb.ExactMatch])
def test_braces_stay_text_at_openai(kind, tmp_path):
    """A searched text that reads like a template is written as code: OpenAI would fill it in."""
    braces = "{{item.reference}}"
    wb.export(kind(braces, name="g"), tmp_path / "g.json", "openai")
    assert json.loads((tmp_path / "g.json").read_text())["type"] == "python"
    suite = wb.load(tmp_path / "g.json", trust=True)
    report = suite.run([{"completion": text, "reference": "one"} for text in ("one", braces)], progress=False)
    assert report.scores["g"].tolist() == [0.0, 1.0]


def test_a_reward_of_no_metric_is_refused_at_its_place():
    """The error is the reward's own, with its place, and not one about the suite as a whole."""
    text = "graders: {a: {kind: tool, function: contains}}\nreward: {kind: metric, metric_key: zz}\n"
    with pytest.raises(FormatError, match="unknown metric") as error:
        wb.loads(text, "letta")
    assert error.value.where == "text, reward.metric_key"


@pytest.mark.parametrize("platform", ["adaptive", "letta", "openai", "osmosis", "python"])
def test_unfinished_source_is_written_on_request(platform, tmp_path):
    """A grader that does not parse is refused, and written unchanged on request."""
    text = "async def grade(thread:\n    return 1.0\n"
    grader = wb.FunctionGrader.from_source(text, name="g")
    target = tmp_path / f"g{FORMATS[platform].suffix}"
    with pytest.raises(NotValidatedError):
        wb.export(grader, target, platform)
    paths = wb.export(grader, target, platform, allow_unvalidated=True).paths
    assert any("async def grade(thread:" in path.read_text() for path in paths)
