"""Validation sets of Inspect Scout as labels, and labels as validation sets."""

import json

import pandas as pd
import pytest

import workbench as wb
from workbench.cli import main
from workbench.core.errors import FormatError, ReportError
from workbench.report.cases import label_codes
from workbench.report.validation_set import write_validation_set

ROWS = [
    {"id": f"t{n}", "uuid": f"u{n}", "prompt": f"{n}?", "completion": "yes" if n % 2 else "no"}
    for n in range(6)
]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", "id,target,split\nt0,false,dev\nt1,true,dev\nt9,true,test\n"),
        ("c.csv", "id,target\nu0,0\nu1,1.0\n"),
        ("c.json", json.dumps([{"id": "t0", "target": False}, {"id": "u1", "target": True}])),
        ("c.jsonl", '{"id": "t0", "target": false}\n{"id": "t1", "target": true}\n'),
        ("c.yaml", "- {id: t0, target: false}\n- {id: t1, target: true}\n"),
    ],
)
def test_cases_are_labels_of_their_rows(tmp_path, name, text):
    """By id, or uuid; a case of another transcript is not used, and a row without a case has no label."""
    (tmp_path / name).write_text(text, "utf-8")
    report = wb.Contains("yes").run(wb.Samples(ROWS), labels=str(tmp_path / name), progress=False)
    assert label_codes(report).tolist() == [0, 1, -1, -1, -1, -1]


def test_a_case_is_for_the_only_row_of_its_sample(tmp_path):
    """As in a log with one epoch; with several, the sample's id does not say which row is meant."""
    path = tmp_path / "c.csv"
    path.write_text("id,target\ns0,false\ns1,true\n", "utf-8")
    rows = [
        {"id": f"s{n}_epoch_1", "group": f"s{n}", "prompt": "?", "completion": "yes" if n else "no"}
        for n in range(2)
    ]
    report = wb.Contains("yes").run(wb.Samples(rows), labels=str(path), progress=False)
    assert label_codes(report).tolist() == [0, 1]
    twice = [*rows, {**rows[0], "id": "s0_epoch_2"}]
    with pytest.raises(ReportError, match="no case"):
        wb.Contains("yes").run(wb.Samples(twice), labels=str(path), progress=False)


def test_one_of_several_targets_is_named(tmp_path):
    """Without its name the error lists them; labels of a case in YAML are columns."""
    path = tmp_path / "c.yaml"
    path.write_text(
        "- {id: t0, labels: {rude: false, long: true}}\n- {id: t1, labels: {rude: true, long: true}}\n",
        "utf-8",
    )
    with pytest.raises(FormatError, match="several targets"):
        wb.Contains("yes").run(wb.Samples(ROWS), labels=str(path), progress=False)
    report = wb.Contains("yes").run(wb.Samples(ROWS), labels=f"{path}:label_rude", progress=False)
    assert label_codes(report).tolist()[:3] == [0, 1, -1]
    with pytest.raises(FormatError, match="no column 'label_kind'"):
        wb.Contains("yes").run(wb.Samples(ROWS), labels=f"{path}:label_kind", progress=False)


@pytest.mark.parametrize(
    ("text", "error", "part"),
    [
        ("id,target\nx,true\n", ReportError, "no case"),
        ("name,score\na,1\n", FormatError, "not a validation set"),
        ("", FormatError, "list of cases"),
    ],
)
def test_other_files_are_errors(tmp_path, text, error, part):
    (tmp_path / "c.csv").write_text(text, "utf-8")
    with pytest.raises(error, match=part):
        wb.Contains("yes").run(wb.Samples(ROWS), labels=str(tmp_path / "c.csv"), progress=False)


def test_a_missing_file_is_an_unknown_column():
    with pytest.raises(ReportError, match="unknown label column"):
        wb.Contains("yes").run(wb.Samples(ROWS), labels="none.csv", progress=False)


def test_labels_are_written_and_read_back(tmp_path, monkeypatch, capsys):
    """`workbench run --validation` writes id and target; `--labels FILE` reads them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(
        "\n".join(json.dumps({**row, "good": row["completion"] == "yes"}) for row in ROWS), "utf-8"
    )
    wb.save(wb.Contains("yes"), "g.json")
    assert main(["run", "g.json", "rows.jsonl", "--labels", "good", "--validation", "cases.csv"]) == 0
    assert pd.read_csv("cases.csv").to_dict("list") == {
        "id": [f"u{n}" for n in range(6)],
        "target": [False, True] * 3,
    }
    assert main(["check", "g.json", "rows.jsonl", "--labels", "cases.csv"]) == 0
    assert "6 of 6 labelled rows graded as labelled" in capsys.readouterr().out
    assert main(["run", "g.json", "rows.jsonl", "--validation", "cases.csv"]) == 3


def test_unlabelled_rows_are_omitted(tmp_path):
    """A split is a third column; another suffix is refused."""
    samples = wb.Samples(
        [{"id": "a", "prompt": "p", "completion": "c"}, {"id": "b", "prompt": "q", "completion": "c"}]
    )
    write_validation_set(tmp_path / "v.csv", samples, [None, False], split="dev")
    assert (tmp_path / "v.csv").read_text("utf-8") == "id,target,split\nb,false,dev\n"
    with pytest.raises(FormatError, match="CSV"):
        write_validation_set(tmp_path / "v.json", samples, [None, False])
