"""`workbench certify`: verdicts as exit codes, files of the result, and no request without a budget."""

import json

import pytest

import workbench as wb
from tests.probes.certification.scripted_judges import rows
from workbench.cli import main


@pytest.fixture
def data(tmp_path):
    """Rows with stored verdicts of a good and of a bad judge."""
    path = tmp_path / "rows.jsonl"
    made = [{**row, "good_judge": row["good"], "bad_judge": True} for row in rows(100)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in made))
    return path


@pytest.mark.parametrize(("judge", "code"), [("good_judge", 0), ("bad_judge", 1)])
def test_a_column_of_verdicts(data, judge, code, capsys, tmp_path):
    """The exit code is the verdict's; the result is also written as a page."""
    words = ["certify", f"column:{judge}", str(data), "--labels", "good", "--out", str(tmp_path / "c.html")]
    assert main(words) == code
    assert capsys.readouterr().out.startswith(f"{judge}: {'certified' if code == 0 else 'not certified'}: ")
    assert "<table" in (tmp_path / "c.html").read_text("utf-8")


def test_labels_of_another_file_are_joined(tmp_path, capsys):
    """By the id of the rows, as for the other commands."""
    made = [{**row, "id": number, "good_judge": row["good"]} for number, row in enumerate(rows(100))]
    labels = [{"id": row["id"], "good": row.pop("good")} for row in made]
    for name, lines in (("rows", made), ("labels", labels)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    words = ["certify", "column:good_judge", str(tmp_path / "rows.jsonl"), "--labels", "good"]
    assert main([*words, "--join", str(tmp_path / "labels.jsonl")]) == 0
    assert capsys.readouterr().out.startswith("good_judge: certified: ")


def test_without_labels_the_plan_is_inconclusive(data, capsys):
    """The exit code is 4, and JSON has the plan."""
    assert main(["certify", "column:good_judge", str(data), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["label_plan"] == {"good": 69, "bad": 69}


def test_nothing_is_sent_without_a_budget(data, tmp_path, capsys, monkeypatch):
    """The error names the options."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-of-anyone")
    graders = tmp_path / "judge.json"
    wb.save(wb.BinaryJudge("It is right.", model="gpt-4o-mini"), graders)
    assert main(["certify", str(graders), str(data), "--labels", "good"]) == 3
    message = capsys.readouterr().err
    assert "certify: cost: about $" in message
    assert "--budget 0." in message


def test_the_format_of_the_result_is_checked_first(data, capsys):
    """Another suffix is wrong usage."""
    assert main(["certify", "column:good_judge", str(data), "--out", "c.pdf"]) == 2
    assert ".html, .md, .json" in capsys.readouterr().err
