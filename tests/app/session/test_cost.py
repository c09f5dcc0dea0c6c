"""What a run is expected to cost, before it starts."""

import pytest

import workbench as wb
from workbench.app.session.cost import CostEstimates

MODEL = "gpt-6-luna"
ROWS = wb.Samples([
    {"prompt": f"q{at // 4}", "completion": f"reply {at}", "reference": "r", "rubrics": "- a\n- b", "anchors": ["x", "y", "z"]}
    for at in range(16)
])  # fmt: skip


@pytest.mark.parametrize(
    ("grader", "requests"),
    [
        (wb.BinaryJudge("c", model=MODEL), 1),
        (wb.PairwiseJudge("c", model=MODEL), 2),
        (wb.RowRubric(model=MODEL), 1),
        (wb.RowRubric(model=MODEL, requests="each"), 2),
        (wb.Panel([wb.BinaryJudge("c", model=MODEL, temperature=1.0)], repeats=3), 3),
        (
            wb.Panel(
                [wb.BinaryJudge("c", model=MODEL), wb.PairwiseJudge("c", model=MODEL), wb.Contains("a")]
            ),
            3,
        ),
        (wb.Ladder(wb.PairwiseJudge("c", model=MODEL)), 3),
        (wb.Ladder(wb.PairwiseJudge("c", model=MODEL), design="adaptive", rounds=2), 2),
        (wb.Ladder(wb.PairwiseJudge("c", model=MODEL), design="anchors"), 6),
    ],
)
def test_requests_per_row(grader, requests):
    """Members and repeats of a panel, and comparisons of a ladder, are counted."""
    estimate = CostEstimates().of("g", grader, ROWS)
    assert estimate.requests == pytest.approx(requests)
    assert estimate.dollars > 0


def test_rows_that_would_fail_cost_nothing():
    """A judge whose request cannot be made for any row has no estimate, and raises nothing."""
    assert CostEstimates().of("g", wb.ContextRelevancyJudge(model=MODEL), ROWS) is None
    assert CostEstimates().of("g", wb.Contains("a"), ROWS) is None
