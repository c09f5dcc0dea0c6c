"""An overview of rows that are graded part by part: its numbers and findings are those of a report on all of them."""

import pickle
import socket
import sqlite3
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from tests.run.scale.graders import SOURCE
from workbench.core.errors import FormatError, ReportError, SamplesError
from workbench.data.samples.frame_columns import UnreadableRowsError
from workbench.run import overview_run
from workbench.run.part_summary import part_path

ROWS, PART = 900, 200
FRAME = pd.DataFrame(
    {
        "prompt": [f"q{row // 4}" for row in range(ROWS)],
        "completion": ["" if row % 13 == 4 else f"a{row % 5}" for row in range(ROWS)],
        "answer": [f"a{row % 3}" for row in range(ROWS)],
        "n": np.arange(ROWS),
        "good": [None if row % 5 == 0 else row % 2 == 0 for row in range(ROWS)],
    }
)
SUITE = wb.Suite(
    [wb.ExactMatch(), wb.FunctionGrader.from_source(SOURCE, name="code")], combine=wb.combine.Mean()
)
PASS = completion('{"reasoning": "yes", "score": "PASS"}')


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of 200 rows instead of some ten thousand."""
    monkeypatch.setattr(overview_run, "PART_ROWS", PART)


@pytest.fixture(scope="module")
def whole():
    """The report on all rows."""
    return SUITE.run(FRAME, labels="good", progress=False)


def check_numbers(overview, report, *, exact):
    """All of `summary` but times; intervals from bundles of prompts are near."""
    found, expected = overview.summary, report.summary
    assert list(found.columns) == list(expected.columns)
    for name in ("n", "scored", "failed", "skipped", "min", "q25", "median", "q75", "max", "isolation"):
        assert found[name].tolist() == expected[name].tolist(), name
    for name in ("mean", "sd"):
        np.testing.assert_allclose(found[name].astype(float), expected[name].astype(float), rtol=1e-12)
    ends = ["mean_lo", "mean_hi"]
    np.testing.assert_allclose(
        found[ends].astype(float), expected[ends].astype(float), atol=0 if exact else 2e-3
    )
    for name, histogram in report.histograms.items():
        np.testing.assert_array_equal(overview.histograms[name].counts, histogram.counts)


def test_with_all_rows_in_the_sample_it_is_the_report(whole):
    """Numbers, findings and their rows."""
    overview = SUITE.overview(FRAME, labels="good", progress=False)
    assert overview.whole
    check_numbers(overview, whole, exact=True)
    assert [str(one) for one in overview.findings] == [str(one) for one in whole.findings]
    assert [one.rows for one in overview.findings] == [one.rows for one in whole.findings]
    assert len(overview) == ROWS
    assert "findings: from all rows that were graded." in str(overview)


def test_with_a_sample_numbers_are_those_of_all_rows(whole):
    """Findings are of whole prompts."""
    overview = SUITE.overview(FRAME, labels="good", progress=False, sample=300)
    assert not overview.whole
    check_numbers(overview, whole, exact=False)
    assert 290 <= len(overview.report) <= 300
    assert (overview.report.samples.frame.groupby("prompt").size() == 4).all()
    good, bad = FRAME["good"].eq(True), FRAME["good"].eq(False)
    accepted = whole.scores["exact-match"].to_numpy() >= 0.5
    line = overview.labels.loc["exact-match"]
    assert (line["good"], line["bad"]) == (good.sum(), bad.sum())
    assert line["bad_accepted"] == pytest.approx(accepted[bad].mean())
    assert line["bad_accepted_lo"] < line["bad_accepted"] < line["bad_accepted_hi"]
    assert "random sample of whole prompts" in str(overview)
    assert "known-bad rows" in overview._repr_html_()
    assert "exact-match" in overview._repr_markdown_()


def test_rows_of_the_sample_say_where_they_stand():
    """The part and the row in it."""
    overview = SUITE.overview(FRAME, progress=False, sample=300)
    frame = overview.rows("code", "failed")
    assert len(frame) > 1
    numbers = frame["part"] * PART + frame["row in part"]
    assert (FRAME["n"][numbers] % 50 == 7).all()
    assert "sample" not in frame
    named = SUITE.overview(FRAME.assign(id=[f"r{row}" for row in range(ROWS)]), progress=False)
    assert named.rows("code", "failed")["sample"].iloc[0] == "r7"


def test_parts_are_told_apart():
    """A part whose rows fail is seen."""
    overview = SUITE.overview(FRAME, progress=False)
    code = overview.parts[overview.parts["grader"] == "code"]
    assert code["rows"].tolist() == [200, 200, 200, 200, 100]
    assert code["failed"].sum() == 18
    errors = overview.errors.set_index("grader")
    assert errors.loc["code", "rows"] == 18
    assert "broken" in errors.loc["code", "example"]


def test_a_file_is_read_part_by_part(tmp_path, whole):
    """With the same result."""
    path = tmp_path / "rows.parquet"
    FRAME.to_parquet(path)
    overview = SUITE.overview(wb.read_samples(path, lazy=True), labels="good", progress=False)
    check_numbers(overview, whole, exact=True)


def test_repeats_and_a_gate():
    """The report on the sample has both."""
    suite = wb.Suite(
        SUITE.entries,
        gate=wb.combine.SimpleGate(metric_key="exact-match", aggregation="avg_score", op="gte", value=0.9),
    )
    overview = suite.overview(FRAME, progress=False, repeats=3, reduce="mean", sample=300)
    assert len(overview.report.repeats["code"]) == 3
    assert not overview.report.gate.passed
    assert "(on these rows)" in str(overview)


def test_grades_are_written_and_an_earlier_call_goes_on(tmp_path, whole):
    """Each part is a report; the second call grades nothing again."""
    folder = tmp_path / "graded" / "deep"
    first = SUITE.overview(FRAME, folder, labels="good", progress=False)
    assert sorted(path.name for path in folder.iterdir()) == [f"part-0000{part}.parquet" for part in range(5)]
    for number, (start, stop) in enumerate(pairwise([0, 200, 400, 600, 800, ROWS])):
        part = wb.read_report(part_path(folder, number), FRAME.iloc[start:stop])
        np.testing.assert_array_equal(part.scores["code"], whole.scores["code"][start:stop])
    part_path(folder, 3).unlink()
    seen = []
    second = SUITE.overview(FRAME, folder, labels="good", progress=lambda now: seen.append(now.done))
    assert second.folder == folder
    assert any("1,400 grades were in" in note for note in second.notes)
    assert seen[-1] == 2 * ROWS
    check_numbers(second, whole, exact=True)
    assert [str(one) for one in first.findings] == [str(one) for one in second.findings]


def test_a_stopped_call_goes_on(tmp_path):
    """What was begun is kept, row by row."""
    folder = tmp_path / "graded"
    stopped = SUITE.overview(FRAME, folder, progress=lambda now: now.done < 500)
    assert any("Rerun with the folder" in note for note in stopped.notes)
    assert any("Interrupted" in note for note in stopped.notes)
    assert len(stopped) < ROWS
    overview = SUITE.overview(FRAME, folder, progress=False)
    assert len(overview) == ROWS
    assert overview.errors["error_kind"].tolist() == ["runtime", "runtime"]


def test_a_judge_is_asked_once_a_row(tmp_path):
    """Also over a store and a second call; what it cost is counted once."""
    folder, rows = tmp_path / "graded", FRAME.head(450)
    with server(lambda *_: (200, {}, PASS)) as (address, requests):
        client = wb.judges.OpenAIClient(base_url=address)
        suite = wb.Suite(wb.BinaryJudge(criteria="is polite", model="gpt-4o-mini", client=client))
        first = suite.overview(rows, folder, progress=False)
        second = suite.overview(rows, folder, progress=False)
        asked = len(requests)
    assert asked == rows["completion"].notna().sum()
    assert first.summary["mean"].tolist() == second.summary["mean"].tolist() == [1.0]
    assert first.summary["tokens"].tolist() == second.summary["tokens"].tolist()


def test_a_budget_that_is_spent():
    """The other rows fail as such, and it is said."""
    rows = FRAME.head(450)
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    with server(lambda *_: (200, {}, PASS | {"usage": usage})) as (address, requests):
        client = wb.judges.OpenAIClient(base_url=address)
        suite = wb.Suite(wb.BinaryJudge(criteria="is polite", model="gpt-4o-mini", client=client))
        overview = suite.overview(rows, progress=False, budget=wb.Budget(calls=250))
        asked = len(requests)
    assert asked == 250
    assert overview.summary["scored"].tolist() == [250]
    assert overview.graders["binary-judge"].errors.total() == 200
    assert any("Budget exhausted" in note for note in overview.notes)


def test_other_rows_and_other_graders_are_refused(tmp_path):
    """Whose folder it is, is told by its files; nothing of them changes."""
    SUITE.overview(FRAME, tmp_path, progress=False)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ReportError, match="another folder"):
        SUITE.overview(FRAME.assign(n=1), tmp_path, progress=False)
    with pytest.raises(ReportError, match="another folder"):
        wb.Suite(wb.Contains(expected="a")).overview(FRAME, tmp_path, progress=False)
    with pytest.raises(ReportError, match="after the last"):
        SUITE.overview(FRAME.head(PART), tmp_path, progress=False)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_part_in_use_is_refused(tmp_path):
    """Two calls must not write one folder."""
    path = part_path(tmp_path, 0)
    database = sqlite3.connect(path.with_name(path.name + ".unfinished"), isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    with pytest.raises(ReportError, match="another run"):
        SUITE.overview(FRAME, tmp_path, progress=False)
    database.close()


def test_a_folder_among_the_data_is_refused(tmp_path):
    """Its files would be read as data."""
    FRAME.to_parquet(tmp_path / "rows.parquet")
    samples = wb.read_samples(tmp_path, lazy=True)
    with pytest.raises(ReportError, match="to the folder of their data"):
        SUITE.overview(samples, tmp_path / "graded", progress=False)


def test_overviews_and_reports_can_be_pickled(whole):
    """Numbers, findings and reasons come back: notes that rows share are each row's then."""
    assert str(pickle.loads(pickle.dumps(whole))) == str(whole)
    overview = SUITE.overview(FRAME, labels="good", progress=False)
    assert str(overview)  # what it shows is computed by now
    again = pickle.loads(pickle.dumps(overview))
    assert str(again) == str(overview)
    for name, grades in overview.report.grades.items():
        assert dict(again.report.grades[name].reasoning) == dict(grades.reasoning)


def test_a_heavy_prompt_is_in_the_sample():
    """A prompt with more rows than the sample holds is there with as many as fit, and the overview says so."""
    heavy = pd.DataFrame({"prompt": ["the same"] * 3000, "completion": "a", "answer": "a"})
    light = pd.DataFrame({"prompt": [f"q{row}" for row in range(300)], "completion": "a", "answer": "b"})
    frame = pd.concat([heavy, light], ignore_index=True)
    overview = wb.Suite(wb.ExactMatch()).overview(frame, sample=1000, progress=False)
    assert overview.has_part_of_a_prompt
    assert len(overview.report) == 1000
    assert overview.report.summary.loc["exact-match", "mean"] > 0.6
    assert "one of them with more rows than there was room for" in str(overview)


def test_rows_that_were_not_graded_are_counted(monkeypatch):
    """Where every part is unreadable nothing is found, and that is said at the top, not passed over."""

    def unreadable(*_):
        raise UnreadableRowsError("gone", found="damaged", where="rows.parquet")

    monkeypatch.setattr(wb.Samples, "part", unreadable)
    overview = SUITE.overview(FRAME, progress=False)
    assert overview.missing == ROWS
    assert overview.notes[0] == f"0 of {ROWS} rows were graded."
    assert list(overview.summary.index) == [*(entry.name for entry in SUITE.entries), "combined"]
    assert str(overview)
    assert overview._repr_html_()


def test_an_interrupt_between_two_parts(monkeypatch):
    """What was graded comes back, as where it comes while rows are graded."""
    read = wb.Samples.part

    def interrupted(self, first, last):
        if first >= 2 * PART:
            raise KeyboardInterrupt
        return read(self, first, last)

    monkeypatch.setattr(wb.Samples, "part", interrupted)
    overview = SUITE.overview(FRAME, progress=False)
    assert len(overview) == 2 * PART
    assert overview.missing == ROWS - 2 * PART
    assert overview.notes[0].startswith("Interrupted")


def test_a_label_that_cannot_be_read(monkeypatch):
    """It is met before a row is graded, with its number among all rows."""
    monkeypatch.setattr(overview_run.OverviewRun, "grade", None)
    with pytest.raises(ReportError) as raised:
        SUITE.overview(FRAME.assign(good=[*FRAME["good"][:-1], "maybe"]), labels="good", progress=False)
    assert str(ROWS - 1) in raised.value.where


def test_a_judge_that_cannot_be_reached():
    """A note says why, beside the table of errors."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        client = wb.judges.OpenAIClient(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        suite = wb.Suite(wb.BinaryJudge("It is short.", model="m", client=client))
        overview = suite.overview(FRAME[:40], progress=False)
    (note,) = overview.notes
    assert note.startswith("binary-judge: no server listens at the judge's address")
    assert note.endswith("40 rows without a grade for it.")


def test_wrong_arguments_are_refused_before_a_row_is_graded(tmp_path):
    """Each with what was expected."""
    with pytest.raises(ReportError, match="column of the data"):
        SUITE.overview(FRAME, labels=[True] * ROWS, progress=False)
    with pytest.raises(ReportError, match="column of the data"):
        SUITE.overview(FRAME, labels="nothing", progress=False)
    with pytest.raises(ReportError, match="sample"):
        SUITE.overview(FRAME, sample=0, progress=False)
    with pytest.raises(ReportError, match="preset"):
        SUITE.overview(FRAME, preset="nothing", progress=False)
    with pytest.raises(SamplesError):
        SUITE.overview(FRAME[["prompt"]], progress=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match="folder"):
        SUITE.overview(FRAME, tmp_path / "file" / "graded", progress=False)


def test_no_rows():
    """An overview of nothing."""
    overview = SUITE.overview(FRAME.head(0), progress=False)
    assert len(overview) == 0
    assert overview.whole
    assert np.isnan(overview.summary["mean"]).all()
    assert "0 rows" in str(overview)
    assert overview._repr_html_()


def test_what_cannot_be_read_is_no_lost_row():
    """A part in which no row can be read fails its rows."""
    cells = [1] * PART + [[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "a"}]] * 10
    frame = pd.DataFrame({"messages": cells, "answer": "a"})
    overview = wb.Suite(wb.ExactMatch()).overview(frame, progress=False)
    assert overview.summary["failed"].tolist() == [PART]
    assert overview.summary["scored"].tolist() == [10]


def test_a_line_that_cannot_be_read_fails_its_row(tmp_path):
    """It is no row without a completion."""
    path = tmp_path / "rows.jsonl"
    lines = [f'{{"prompt": "q{row}", "completion": "a", "answer": "a"}}' for row in range(2 * PART)]
    lines[PART + 3] = "{broken"
    path.write_text("\n".join(lines))
    overview = wb.Suite(wb.ExactMatch()).overview(wb.read_samples(path, strict=False), progress=False)
    assert overview.summary["failed"].tolist() == [1]
    assert overview.graders["exact-match"].errors == {"sample": 1}
    (line,) = overview.rows("exact-match", "failed").to_dict("records")
    assert (line["part"], line["row in part"]) == (1, 3)
    assert "unreadable" in line["completion"]


def test_names_and_texts_are_escaped():
    """A grader's name in HTML."""
    suite = wb.Suite(wb.Entry(wb.ExactMatch(), "<b>x</b>"))
    assert "<b>x</b>" not in suite.overview(FRAME, progress=False)._repr_html_()
