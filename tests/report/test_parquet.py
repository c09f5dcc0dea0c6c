"""Reports as Parquet: what is read back is what was written, over the rows that were graded."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import workbench as wb
from workbench.core.errors import FormatError, ReportError
from workbench.core.grade import Grade, Skip
from workbench.report import parquet

ROWS = [
    {"prompt": f"q{row // 3}", "completion": f"a{row % 5}", "answer": f"a{row % 2}", "good": row % 4 == 0}
    for row in range(60)
]


def uneven(thread):
    """A grade of each kind: a number, a note, a failure and a skip."""
    number = int(thread.completion()[1])
    if number == 3:
        raise Skip("does not apply")
    if number == 4:
        raise ValueError("broken")
    return Grade(
        number / 2,
        passed=number > 0,
        reasoning=f"because {number}",
        metadata={"n": [number]},
        tokens=number,
        cost=0.5,
    )


@pytest.fixture
def report():
    graders = [wb.ExactMatch(), wb.CustomGrader(uneven, name="own.grader"), wb.Length(maximum=1)]
    suite = wb.Suite(graders, gate=wb.combine.SimpleGate(metric_key="exact-match", op="gte", value=0.1))
    made = suite.run(wb.Samples(ROWS), labels="good", repeats=2, progress=False)
    return made.diagnose(limits={"too-lenient": 0.3})


def written_again(report, path):
    return wb.read_report(report.to_parquet(path), report.samples)


def test_the_report_comes_back(report, tmp_path, monkeypatch):
    """Grades of every kind, repeats, labels, settings, notes and findings, in as many parts as it takes."""
    monkeypatch.setattr(parquet, "_ROWS", 7)
    back = written_again(report, tmp_path / "report.parquet")
    pd.testing.assert_frame_equal(back.frame, report.frame)
    pd.testing.assert_frame_equal(back.summary, report.summary)
    pd.testing.assert_frame_equal(back.noise, report.noise)
    settings = (
        "preset",
        "labels",
        "pass_threshold",
        "scale",
        "limits",
        "notes",
        "sources",
        "fingerprints",
        "graders",
    )
    assert [getattr(back, name) for name in settings] == [getattr(report, name) for name in settings]
    for name, grades in report.grades.items():
        again = back.grades[name]
        assert dict(again.reasoning) == dict(grades.reasoning)
        assert dict(again.metadata) == {row: dict(note) for row, note in grades.metadata.items()}
        assert again.graded_again == grades.graded_again
        assert len(again.repeats) == len(grades.repeats)
    assert (back.gate.passed, back.gate.message) == (report.gate.passed, report.gate.message)
    about_graders = [str(finding) for finding in report.findings if finding.grader in report.graders]
    assert [str(finding) for finding in back.findings if finding.grader in back.graders] == about_graders


def test_a_grader_called_like_another_ones_repeat(tmp_path):
    """A grader `g/0` next to a `g` with repeats: both are read with their own grades."""
    graders = [wb.ExactMatch(name="g"), wb.Length(maximum=1, name="g/0"), wb.Contains(name="g/0'")]
    report = wb.Suite(graders).run(wb.Samples(ROWS), repeats=2, progress=False)
    back = written_again(report, tmp_path / "report.parquet")
    pd.testing.assert_frame_equal(back.frame, report.frame)
    for name, grades in report.grades.items():
        for one, again in zip(grades.repeats, back.grades[name].repeats, strict=True):
            assert list(again.scores) == list(one.scores)


@pytest.mark.parametrize("changed", ["reversed", "one row"])
def test_rows_with_other_contents_are_refused(tmp_path, changed):
    """Row numbers are the ids of rows without any: the contents show that these are others."""
    file, path = tmp_path / "rows.parquet", tmp_path / "grades.parquet"
    pd.DataFrame(ROWS).to_parquet(file)
    wb.Length(maximum=1).run(wb.read_samples(file, lazy=True), progress=False).to_parquet(path)
    assert len(wb.read_report(path)) == len(ROWS)
    others = ROWS[::-1] if changed == "reversed" else [{**ROWS[0], "completion": "other"}, *ROWS[1:]]
    pd.DataFrame(others).to_parquet(file)
    with pytest.raises(ReportError, match="other contents"):
        wb.read_report(path)
    with pytest.raises(ReportError, match="other contents"):
        wb.read_report(path, others)


def test_the_data_are_not_overwritten(tmp_path):
    """Neither their file, nor is a report put among the files of a folder, which would be rows of it from then on."""
    folder = tmp_path / "data"
    folder.mkdir()
    file = folder / "rows.parquet"
    pd.DataFrame(ROWS).to_parquet(file)
    before = file.read_bytes()
    for data in (wb.read_samples(file), wb.read_samples(folder, lazy=True)):
        report = wb.Length(maximum=1).run(data, progress=False)
        with pytest.raises(ReportError, match="over or into its data") as error:
            report.to_parquet(file)
        assert "-report.parquet" in error.value.hint
    (tmp_path / "data" / "inside").mkdir()
    for name in ("grades.parquet", "rows.parquet", "inside/grades.parquet"):
        with pytest.raises(ReportError):
            wb.Suite([wb.Length(maximum=1)]).run(data, resume=folder / name, progress=False)
    assert file.read_bytes() == before
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["rows.parquet"]
    report.to_parquet(folder / "grades")  # not a file of the data


@pytest.mark.parametrize("damage", ["middle", "end", "empty", "missing"])
def test_a_damaged_report_is_told(report, tmp_path, damage):
    """The file is named, and what to do."""
    path = report.to_parquet(tmp_path / "report.parquet")
    data = bytearray(path.read_bytes())
    if damage == "middle":
        data[200:4000] = bytes(3800)
    path.write_bytes({"end": bytes(data[:-200]), "empty": b""}.get(damage, bytes(data)))
    if damage == "missing":
        path.unlink()
    with pytest.raises(ReportError, match="cannot read") as error:
        wb.read_report(path, report.samples)
    assert error.value.where == str(path)
    assert error.value.hint


def test_repeats_come_back_with_what_was_said_of_their_grader(tmp_path):
    """Otherwise a forecast counts repeats of code as requests to a server."""
    grader = wb.FunctionGrader.from_source("async def grade(thread):\n    return 1.0\n", name="g")
    report = wb.Suite([grader]).run(wb.Samples(ROWS), repeats=2, progress=False)
    back = written_again(report, tmp_path / "report.parquet")
    assert not wb.forecast_cost(back, 1000).table["waits"].any()


def test_other_tools_read_it(report, tmp_path):
    """One line a row, with a column for each part of each grader's grade."""
    frame = pd.read_parquet(report.to_parquet(tmp_path / "report.parquet"))
    assert len(frame) == 60
    assert frame["exact-match.score"].tolist() == report.scores["exact-match"].tolist()
    assert set(frame["own.grader.status"]) == {"scored", "failed", "skipped"}
    assert json.loads(frame["own.grader.metadata"][1]) == {"n": [1]}
    assert frame["label"].tolist() == [row["good"] for row in ROWS]


def test_rows_are_read_from_their_file(tmp_path, monkeypatch):
    """Where samples came from a file, the report finds it again, some rows at a time where it was read so."""
    path = tmp_path / "rows.parquet"
    pd.DataFrame(ROWS).rename(columns={"completion": "out"}).to_parquet(path)
    samples = wb.read_samples(str(path), columns={"completion": "out"}, lazy=True)
    report = wb.ExactMatch().run(samples, progress=False)
    back = wb.read_report(report.to_parquet(tmp_path / "report.parquet"))
    assert back.samples.is_lazy
    pd.testing.assert_frame_equal(back.rows(), report.rows())
    path.unlink()
    with pytest.raises(ReportError, match="does not contain the rows"):
        wb.read_report(tmp_path / "report.parquet")


def test_many_equal_reasons_stay_small(tmp_path):
    """A reason shared by many rows is one text in memory after reading, as before."""
    report = wb.ExactMatch().run(wb.Samples(ROWS), progress=False)
    back = written_again(report, tmp_path / "report.parquet")
    assert back.grades["exact-match"].reasoning._own == {}
    assert np.array_equal(back.grades["exact-match"].scores, report.grades["exact-match"].scores)


def test_a_lone_surrogate_becomes_an_escape(tmp_path):
    """Parquet is UTF-8, which cannot encode one."""
    grader = wb.CustomGrader(lambda thread: Grade(1.0, reasoning="odd \ud800"), name="odd")
    report = grader.run(wb.Samples(ROWS[:2]), progress=False)
    assert written_again(report, tmp_path / "report.parquet").grades["odd"].reasoning[0] == "odd \\ud800"


def test_an_empty_report(tmp_path):
    """No rows and no labels are a report too."""
    report = wb.ExactMatch().run(wb.Samples(pd.DataFrame({"completion": [], "answer": []})), progress=False)
    assert len(written_again(report, tmp_path / "report.parquet")) == 0


def test_refusals(report, tmp_path):
    """Other rows, other files, a newer release, a missing folder; an old file is unchanged."""
    path = report.to_parquet(tmp_path / "report.parquet")
    with pytest.raises(ReportError, match="does not contain the rows"):
        wb.read_report(path)
    with pytest.raises(ReportError, match=r"(?s)samples.*59 rows"):
        wb.read_report(path, wb.Samples(ROWS[:-1]))
    with pytest.raises(ReportError, match=r"(?s)samples.*row 0 is"):
        wb.read_report(path, wb.Samples([{**row, "id": f"x{at}"} for at, row in enumerate(ROWS)]))
    with pytest.raises(ReportError, match="cannot read"):
        wb.read_report(tmp_path / "none.parquet", report.samples)
    pd.DataFrame(ROWS).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ReportError, match="contains no report"):
        wb.read_report(tmp_path / "rows.parquet", report.samples)
    table = pq.read_table(path)
    settings = json.loads(table.schema.metadata[b"grader-workbench"]) | {"version": 99}
    pq.write_table(
        table.replace_schema_metadata({b"grader-workbench": json.dumps(settings)}), tmp_path / "new.parquet"
    )
    with pytest.raises(ReportError, match="newer release"):
        wb.read_report(tmp_path / "new.parquet", report.samples)
    with pytest.raises(FormatError, match="no folder"):
        report.to_parquet(tmp_path / "none" / "report.parquet")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "new.parquet",
        "report.parquet",
        "rows.parquet",
    ]
