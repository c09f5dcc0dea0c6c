"""What a report says about the criteria of rubrics."""

import json

import numpy as np
import pytest

import workbench as wb

RUBRIC = [
    {"criterion": "is right", "points": 6, "tags": ["axis:accuracy"]},
    {"criterion": "is short", "points": 2, "tags": ["axis:style"]},
    {"criterion": "is kind", "points": 2, "tags": ["axis:style"]},
    {"criterion": "is rude", "points": -4, "tags": ["axis:style"]},
]


def judged(rows, rubric_of=lambda _: RUBRIC, labels=None):
    """A report over rows of four truth values each, which the completion states and the model repeats."""
    data = [
        {"prompt": f"q{at}", "completion": json.dumps(list(map(bool, met))), "rubrics": rubric_of(at)}
        for at, met in enumerate(rows)
    ]

    def answer(messages):
        text = messages[-1]["content"]
        met = json.loads(text.split("<completion>")[1].split("</completion>")[0])
        return json.dumps(
            {"criteria": [{"number": at, "reason": "", "met": one} for at, one in enumerate(met, 1)]}
        )

    judge = wb.RowRubric(model="m", clip=None, client=wb.ScriptedClient(answer))
    return judge.run(data, labels=labels, progress=False)


def drawn(n, seed=1):
    rng = np.random.default_rng(seed)
    return rng.random((n, 4)) < [0.5, 0.9, 1.0, 0.2]


def test_every_criterion_has_pass_rate_kappa_and_share():
    """Rates are of wanted results: a fault passes if it is absent; shares of the variance sum to 1."""
    rows = drawn(120)
    right = rows[:, 0]
    report = judged(rows, labels=list(map(bool, right)))
    frame = report.criteria
    lines = frame[frame["level"] == "criterion"].set_index("criterion")
    assert lines.loc["is right", "pass_rate"] == pytest.approx(right.mean())
    assert lines.loc["is rude", "pass_rate"] == pytest.approx(1 - rows[:, 3].mean())
    assert lines.loc["is right", "kappa"] == pytest.approx(1.0)
    assert lines.loc["is right", "kappa_lo"] > 0.9
    assert abs(lines.loc["is short", "kappa"]) < 0.3
    assert lines["labels"].unique().tolist() == [120]
    assert lines["variance"].sum() == pytest.approx(1.0)
    assert lines.index[0] == "is right"
    points = np.array([6, 2, 2, -4])
    contributions = rows * points / 10
    total = contributions.sum(1)
    expected = [np.cov(part, total)[0, 1] / total.var(ddof=1) for part in contributions.T]
    found = lines.loc[[criterion["criterion"] for criterion in RUBRIC], "variance"]
    assert list(found) == pytest.approx(expected)
    assert lines.loc["is right", "variance_lo"] < expected[0] < lines.loc["is right", "variance_hi"]
    assert lines.loc["is kind", "variance"] == pytest.approx(0)


def test_tags_collect_their_criteria():
    """A tag has the verdicts of all of its criteria, clustered by prompt."""
    rows = drawn(60)
    frame = judged(rows).criteria
    tags = frame[frame["level"] == "tag"].set_index("criterion")
    wanted = np.concatenate([rows[:, 1], rows[:, 2], ~rows[:, 3]])
    assert tags.loc["axis:style", "pass_rate"] == pytest.approx(wanted.mean())
    assert tags.loc["axis:style", "rows"] == 60
    assert tags["variance"].sum() == pytest.approx(1.0)


def test_labels_of_criteria_count_before_those_of_rows():
    """An annotator's verdict on the criterion itself is compared with the judge's."""
    rows = drawn(80)

    def rubric(at):
        return [{**one, "label": bool(rows[at, number])} for number, one in enumerate(RUBRIC[:2])]

    report = judged(rows[:, :2], rubric, labels=[True, False] * 40)
    lines = report.criteria[report.criteria["level"] == "criterion"].set_index("criterion")
    assert lines["kappa"].tolist() == pytest.approx([1.0, 1.0])


def test_few_rows_have_no_intervals_of_variance():
    """Fewer than ten prompts: values only, and the exact interval of the rate."""
    frame = judged(drawn(6), labels=[True, False] * 3).criteria
    assert frame["variance_lo"].isna().all()
    assert frame["kappa_lo"].isna().all()
    assert (frame["pass_hi"] - frame["pass_lo"] > 0.3).all()


def test_failed_rows_do_not_count():
    """A row whose rubric cannot be read has no verdicts."""
    report = judged(drawn(12), lambda at: "" if at < 2 else RUBRIC)
    assert report.summary.loc["row-rubric", "failed"] == 2
    assert report.criteria["rows"].unique().tolist() == [10]


def test_the_report_shows_them():
    """As text, HTML and Markdown: the criteria, or the tags if every row has other criteria."""
    report = judged(drawn(40))
    for text in (
        report._repr_html_(),
        report._repr_markdown_(),
        str(report.text if hasattr(report, "text") else ""),
    ):
        if text:
            assert "is right" in text
            assert "share of variance" in text

    def own(at):
        return [{**one, "criterion": f"{one['criterion']} {at}"} for one in RUBRIC]

    text = judged(drawn(40), own)._repr_markdown_()
    assert "axis:accuracy" in text
    assert "is right 3" not in text
    assert len(judged(drawn(40), own).criteria) == 160 + 2


def test_other_graders_have_none():
    """Without a rubric the frame is empty and nothing is shown."""
    report = wb.Contains("a").run([{"prompt": "p", "completion": "a"}], progress=False)
    assert report.criteria.empty
    assert "share of variance" not in report._repr_html_()


def test_they_survive_a_file(tmp_path):
    """A report that is read back has them."""
    report = judged(drawn(20))
    again = wb.read_report(report.to_parquet(tmp_path / "r.parquet"), report.samples)
    assert again.criteria.equals(report.criteria)
