"""Adaptive's reward server, asked by the endpoint grader, which is a client of that protocol."""

import workbench as wb
from tests.deploy.serve.servers import served, thread_of
from workbench.core.grade import ErrorKind, Status


def test_the_endpoint_grader_is_served_one_by_one(server):
    """One thread a request: scores, and failures with their reason."""
    endpoint = wb.Endpoint(server.url)
    good = wb.StringThread([("user", "q"), ("assistant", "Paris")], {"expected": "Paris"})
    bad = wb.StringThread([("user", "q"), ("assistant", "boom")], {})
    assert endpoint(good).score == 1.0
    assert endpoint(good.assistant("Rome")).score == 0.0
    failed = endpoint(bad)
    assert (failed.score, failed.error.kind) == (None, ErrorKind.ENDPOINT)
    assert "ValueError: boom" in failed.error.message


def test_the_endpoint_grader_is_served_in_batches(server):
    """Many threads a request, in order; a thread without a score costs no other."""
    rows = [
        {"prompt": "q", "completion": "boom" if i == 40 else str(i % 5), "expected": "4"} for i in range(100)
    ]
    report = wb.Endpoint(server.url, batch=True, name="remote").run(wb.Samples(rows))
    frame = report.frame
    assert frame["status"].tolist() == ["failed" if i == 40 else "scored" for i in range(100)]
    scored = frame[frame["status"] == "scored"]
    assert scored["score"].tolist() == [float(i % 5 == 4) for i in range(100) if i != 40]


def test_what_the_server_says_of_itself(server):
    """`info` names the graders."""
    info = wb.Endpoint(server.url).info()
    assert (info.name, info.description) == ("expected", "expected")
    assert info.version


def test_a_row_that_cannot_be_read_costs_itself(server):
    """A turn without a role is a failure of its thread, not of the batch."""
    good = {"turns": [{"role": "assistant", "content": "4"}]}
    answer = server.post("/batch_score", {"requests": [{"turns": [{"content": "4"}]}, good]}).json()
    first, second = answer["responses"]
    assert (first["reward"], second["reward"]) == (None, 1.0)
    assert "no role" in first["metadata"]["reason"]


def test_a_thread_without_turns_has_no_score(server):
    """There is nothing to grade: 422 for one thread, null in a batch, never the score of an empty conversation."""
    assert server.post("/score", {"turns": []}).status_code == 422
    (answer,) = server.post("/batch_score", {"requests": [{"turns": []}]}).json()["responses"]
    assert answer["reward"] is None
    assert "turns is empty" in answer["metadata"]["reason"]


def test_an_empty_batch_is_answered(server):
    """No requests, no responses."""
    assert server.post("/batch_score", {"requests": []}).json() == {"responses": []}


def test_reasons_and_parts_come_along():
    """The reasoning stands in `metadata.reason`, the score of each grader in `metadata.scores`."""
    text = "async def grade(thread: StringThread) -> float:\n    return Grade(0.5, reasoning='because')\n"
    said = wb.FunctionGrader.from_source(f"from workbench import Grade\n{text}", name="said")
    assert said.validate().ok
    suite = wb.Suite([said, wb.Length(maximum=5, name="short")], combine=wb.combine.Mean())
    with served(suite) as running:
        answer = running.post("/score", thread_of("4")).json()
        assert answer["reward"] == 0.75
        assert answer["metadata"]["scores"] == {"said": 0.5, "short": 1.0}
        one = running.post("/graders/said/score", thread_of("4")).json()
        assert (one["reward"], one["metadata"]) == (0.5, {"reason": "because"})
        endpoint = wb.Endpoint(f"{running.url}/graders/said")
        grade = endpoint(wb.StringThread([("assistant", "4")]))
        assert (grade.score, grade.reasoning, grade.status) == (0.5, "because", Status.SCORED)
        assert endpoint.info().name
