"""Two equal questions of one row ask once, and never wait for each other for ever."""

import pytest

import workbench as wb
from workbench.judges import ScriptedClient

PAIRWISE = (wb.PairwiseJudge, {"prompt": "q", "completion": "same", "reference": "same"})
DOCUMENTS = (
    wb.ContextRelevancyJudge,
    {"prompt": "q", "completion": "a", "metadata": {"documents": ["d", "d"]}},
)


@pytest.mark.parametrize(("kind", "row"), [PAIRWISE, DOCUMENTS], ids=["pairwise", "documents"])
def test_equal_questions_whose_answer_cannot_be_read_fail_and_end(kind, row):
    """The second is not held up by the first one's answer, which is dropped as soon as it means nothing."""
    client = ScriptedClient("no verdict at all")
    judge = kind(model="m", client=client)
    with wb.open_store("sqlite://") as store:
        job = wb.Suite([judge]).start([row], store=store)
        try:
            report = job.report(timeout=600)
        finally:
            job.cancel()
    assert list(report.errors["error_kind"]) == ["judge_parse"]
    assert len(client.calls) == 4
