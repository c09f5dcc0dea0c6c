"""The ladder of writers in a report."""

import json
import math

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import ReportError

WRITERS = {"large": 3.0, "medium": 2.0, "small": 0.0}


def judged(prompts=40, *, order=0.0, noise=1.0, seed=2, **settings):
    """A ladder over one completion of each writer per prompt; the model reads their quality, with an order effect."""
    rng = np.random.default_rng(seed)
    rows = [
        {"prompt": f"p{at}", "completion": f"{quality + rng.normal(0, noise):.3f}", "model": name}
        for at in range(prompts)
        for name, quality in WRITERS.items()
    ]

    def model(messages):
        content = messages[1]["content"]
        a, b = (float(content.split(f"<answer_{one}>\n")[1].split("\n")[0]) for one in "ab")
        lead = a - b + order
        return json.dumps({"verdict": "TIE" if abs(lead) < 0.2 else "A" if lead > 0 else "B"})

    grader = wb.Ladder(wb.PairwiseJudge("is better", client=wb.ScriptedClient(model)), **settings)
    return grader.run(rows, progress=False)


def test_writers_are_ranked_with_intervals():
    """Strengths sum to 0, strongest first; the weakest is apart from the others."""
    ladder = judged().ladder(by="model")
    assert ladder.table.index.tolist() == ["large", "medium", "small"]
    assert ladder.table["strength"].sum() == pytest.approx(0)
    assert (ladder.table["lo"] < ladder.table["strength"]).all()
    assert ladder.table.loc["small", ["rank_lo", "rank_hi"]].tolist() == [3, 3]
    assert ladder.table["comparisons"].tolist() == [160, 160, 160]
    assert (ladder.n_pairs, ladder.prompts) == (120, 40)
    assert ladder.table.loc["large", "elo"] == pytest.approx(
        ladder.table.loc["large", "strength"] * 400 / math.log(10)
    )
    assert 0 < ladder.tie_share < 0.4
    assert ladder.order_interval.lo < 0.5 < ladder.order_interval.hi


def test_an_order_effect_is_found_and_removed():
    """A judge that favours the first is seen; the ranking stays."""
    ladder = judged(order=1.5).ladder(by="model")
    assert ladder.order_interval.lo > 0.5
    assert ladder.n_inconsistent > 20
    assert ladder.table.index.tolist() == ["large", "medium", "small"]
    assert "of equal pairs (95 % interval" in ladder.sentence


def test_few_prompts_have_no_intervals():
    """Fewer than ten: strengths only, and any rank is possible."""
    table = judged(6).ladder(by="model").table
    assert table["lo"].isna().all()
    assert table["rank_hi"].tolist() == [3, 3, 3]


def test_anchors_are_players():
    """Completions compared with fixed texts are on one ladder with these."""
    report = judged(20, design="anchors", anchors="model")
    assert report.summary.loc["ladder", "failed"] == 60  # the model cannot read these anchors
    rows = [
        {"prompt": f"p{at}", "completion": f"{at % 3}", "model": f"m{at % 3}", "anchors": ["0.9"]}
        for at in range(60)
    ]

    def model(messages):
        content = messages[1]["content"]
        a, b = (float(content.split(f"<answer_{one}>\n")[1].split("\n")[0]) for one in "ab")
        return json.dumps({"verdict": "A" if a > b else "B"})

    judge = wb.PairwiseJudge("is better", client=wb.ScriptedClient(model))
    table = wb.Ladder(judge, design="anchors").run(rows, progress=False).ladder(by="model").table
    assert table.index[-1] == "m0"
    assert "anchor 1" in table.index


def test_it_prints_as_a_table():
    """As text, HTML and Markdown, with the order effect below."""
    ladder = judged().ladder(by="model")
    for text in (ladder._repr_html_(), ladder._repr_markdown_()):
        assert "large" in text
        assert "in both orders" in text
    assert repr(ladder) == "LadderTable(3 writers by 'model', 120 pairs)"


def test_what_is_missing_is_named():
    """No ladder, no column, one writer only."""
    report = judged(12)
    with pytest.raises(ReportError, match="no such column(.|\n)*model"):
        report.ladder(by="writer")
    with pytest.raises(ReportError, match="between two values"):
        report.ladder(by="prompt")
    with pytest.raises(ReportError, match=r"wb\.Ladder"):
        wb.Contains("a").run([{"prompt": "p", "completion": "a"}], progress=False).ladder(by="prompt")


def test_a_file_keeps_comparisons(tmp_path):
    """A report that is read back has the same ladder."""
    report = judged(15)
    again = wb.read_report(report.to_parquet(tmp_path / "r.parquet"), report.samples)
    assert again.ladder(by="model").table.equals(report.ladder(by="model").table)
