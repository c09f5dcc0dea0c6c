"""What a report says about panels, and weights from labels."""

import json

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import ReportError
from workbench.graders.base import from_spec
from workbench.judges.panel_votes import fold_of

NAMES = ("ann", "ben", "cyd")


def judged(errors, n=100, *, seed=3, broken=(), labels=True, **settings):
    """A report of a panel whose judges contradict the label of a row with these chances."""
    rng = np.random.default_rng(seed)
    good = rng.random(n) < 0.5
    verdicts = good[:, None] ^ (rng.random((n, len(errors))) < errors)

    def client(at):
        def answer(messages):
            row = int(messages[-1]["content"].split("row ")[1].split(".")[0])
            if (row, at) in broken:
                return "no verdict"
            return json.dumps({"reasoning": "", "score": "PASS" if verdicts[row, at] else "FAIL"})

        return wb.ScriptedClient(answer)

    members = [wb.BinaryJudge("c", name=name, model="m", client=client(at)) for at, name in enumerate(NAMES)]
    panel = wb.Panel(members, **settings)
    rows = [{"prompt": f"q{at}", "completion": f"row {at}.", "good": bool(good[at])} for at in range(n)]
    return panel, panel.run(rows, labels="good" if labels else None, progress=False), verdicts, good


def test_members_have_dissent_and_kappa():
    """Votes against the outcome, and agreement with labels, each with an interval."""
    _, report, verdicts, good = judged((0.02, 0.1, 0.4), broken={(0, 2)})
    frame = report.panels.set_index("judge")
    majority = verdicts.sum(1) >= 2
    expected = (verdicts != majority[:, None]).sum(0)
    assert frame["votes"].tolist() == [100, 100, 99]
    assert frame["failed"].tolist() == [0, 0, 1]
    assert abs(frame["dissents"].to_numpy() - expected).max() <= 1
    assert frame["kappa"].is_monotonic_decreasing
    assert frame.loc["ann", "kappa"] == pytest.approx(2 * (verdicts[:, 0] == good).mean() - 1, abs=0.02)
    assert (frame["kappa_lo"] < frame["kappa"]).all()
    assert (frame["dissent_lo"] < frame["dissent_share"]).all()


def test_agreement_and_dissent_are_in_the_report():
    """A sentence with alpha, and the rows on which the judges are divided as a finding's evidence."""
    _, report, verdicts, _ = judged((0.05, 0.1, 0.1))
    divided = np.flatnonzero((verdicts.sum(1) % 3) != 0)
    (line,) = [line for line in report.facts if line.startswith("panel: ")]
    assert "Krippendorff's alpha of 3 judges 0." in line
    assert f"divided on {len(divided)} of 100 rows" in line
    (finding,) = [finding for finding in report.findings if finding.kind == "panel-dissent"]
    assert list(finding.rows) == list(divided)
    assert list(report.rows(where=finding).index) == list(divided)
    assert "panel: panel: Krippendorff" in report._repr_html_().replace("&#x27;", "'")


def test_judges_that_disagree_are_a_finding():
    """Alpha below 0.667 by its upper bound; judges that agree have no such finding."""
    kinds = {finding.kind for finding in judged((0.3, 0.3, 0.3))[1].findings if finding.severity == "warning"}
    assert "panel-disagrees" in kinds
    assert "panel-disagrees" not in {finding.kind for finding in judged((0.02, 0.02, 0.02))[1].findings}


def test_early_stopping_does_not_bias_agreement():
    """Alpha is of the members asked on every row: the third was asked on disputed rows only."""
    _, report, verdicts, _ = judged((0.1, 0.1, 0.1), early_stop=True)
    (line,) = [line for line in report.facts if line.startswith("panel: ")]
    assert "alpha of 2 judges, those called on every row" in line
    asked = report.panels.set_index("judge")["votes"]
    assert asked["cyd"] == (verdicts[:, 0] != verdicts[:, 1]).sum()


def test_weights_come_from_labels_of_other_prompts():
    """Good judges weigh more; a row's label never enters the weights of its own score."""
    panel, report, _, good = judged((0.02, 0.3, 0.3), n=200)
    fitted = panel.fit(report)
    weights = np.array(fitted.fold_weights)
    assert weights.shape == (5, 3)
    assert (weights[:, 0] > weights[:, 1] + weights[:, 2]).all()
    assert from_spec(json.loads(json.dumps(fitted.spec()))) == fitted
    rows = report.samples.frame.to_dict("records")
    again = fitted.run(rows, labels="good", progress=False)
    right = ((again.scores["panel"] >= 0.5).to_numpy() == good).mean()
    assert right > ((report.scores["panel"] >= 0.5).to_numpy() == good).mean() + 0.05
    # One label is changed: the weights of that row's own fold stay, the others change.
    own = fold_of(report.samples[7].thread, 5)
    changed = np.array(
        panel.fit(
            report, [not label if at == 7 else bool(label) for at, label in enumerate(good)]
        ).fold_weights
    )
    assert (changed[own] == weights[own]).all()
    assert all((changed[fold] != weights[fold]).any() for fold in range(5) if fold != own)


def test_fitting_needs_labels_votes_and_a_judge_better_than_chance():
    """Each missing part is named with the next step."""
    panel, report, _, good = judged((0.1, 0.1, 0.1), n=60)
    with pytest.raises(ReportError, match="labelled good(.|\n)*label 10 more"):
        panel.fit(report, [None] * 60)
    with pytest.raises(ReportError, match="no votes of this panel"):
        wb.Panel(panel.entries, name="other").fit(report)
    with pytest.raises(ReportError, match="better than chance"):
        panel.fit(report, [not label for label in good])


def test_other_graders_have_no_panels():
    """The frame is empty, and no sentence is shown."""
    report = wb.Contains("a").run([{"prompt": "p", "completion": "a"}], progress=False)
    assert report.panels.empty
    assert not any(line.startswith("panel") for line in report.facts)


def test_a_file_keeps_votes(tmp_path):
    """A report that is read back has the same panels."""
    _, report, _, _ = judged((0.1, 0.1, 0.1), n=30)
    again = wb.read_report(report.to_parquet(tmp_path / "r.parquet"), report.samples)
    assert again.panels.equals(report.panels)
