"""What another column explains away is not reported as a cause."""

import numpy as np
import pytest

import workbench as wb

N = 800


def kinds(scores, labels, **columns):
    """The findings of a grader with these scores that are verdicts, by kind."""
    rows = [
        {"prompt": f"p{n}", "completion": "x" * int(columns.get("length", [10] * N)[n]), "score": float(np.clip(scores[n], 0, 1)),
         **{name: str(cells[n]) for name, cells in columns.items() if name != "length"}}
        for n in range(N)
    ]  # fmt: skip
    grader = wb.CustomGrader(lambda thread: thread.metadata["score"], name="g")
    report = wb.Suite([grader]).run(rows, labels=[bool(label) for label in labels], progress=False)
    return {finding.kind: finding for finding in report.findings if finding.is_verdict}


@pytest.fixture
def base():
    """Labels and noisy scores that go with nothing but the label."""
    random = np.random.default_rng(3)
    labels = random.random(N) < 0.5
    return random, labels, 0.45 + 0.3 * labels + random.normal(0, 0.05, N)


ORDER = np.arange(N)
HALVES = np.where(ORDER < N // 2, "maths", "law")


def test_a_second_dataset_in_the_file_is_no_drift(base):
    """Rows that come dataset by dataset: the column is named, not the order."""
    _, labels, scores = base
    found = kinds(scores - 0.25 * (HALVES == "law"), labels, dataset=HALVES)
    assert "drifts" not in found
    assert "dataset" in found["differs-by-column"].message
    assert "'law'" in found["differs-by-column"].message or "'maths'" in found["differs-by-column"].message


def test_a_slope_over_sorted_topics_is_no_drift(base):
    """The same for a slope that many topics in order make."""
    _, labels, scores = base
    topics = ORDER // 50
    found = kinds(scores - 0.4 * topics / topics.max(), labels, topic=[f"t{topic:02d}" for topic in topics])
    assert "drifts" not in found
    assert "topic" in found["differs-by-column"].message


def test_a_real_drift_stays(base):
    """Beside columns that have nothing to do with it, and inside one dataset of two."""
    random, labels, scores = base
    writers = np.where(random.random(N) < 0.5, "ann", "bob")
    assert "drifts" in kinds(scores - 0.25 * (ORDER >= N // 2), labels, writer=writers)
    inside = kinds(scores - 0.35 * (ORDER >= 3 * N // 4), labels, dataset=HALVES)
    assert "drifts" in inside
    assert "differs-by-column" not in inside


def test_weeks_of_a_continuous_drift_are_no_cause(base):
    """A column that numbers parts of the order explains less than the order does."""
    _, labels, scores = base
    found = kinds(scores - 0.3 * ORDER / N, labels, week=[f"w{week}" for week in ORDER // 80])
    assert "drifts" in found


def test_a_column_made_of_the_scores_explains_nothing(base):
    """That the low scores are lower where the bucket is low is no finding."""
    _, labels, scores = base
    lower = scores - 0.25 * (ORDER >= N // 2)
    found = kinds(lower, labels, bucket=np.where(lower < 0.5, "low", "high"))
    assert "drifts" in found
    assert "differs-by-column" not in found


def test_numbers_and_truth_values_explain_nothing(base):
    """A column of an old run's scores, or of verdicts, is no cause of them."""
    _, labels, scores = base
    lower = scores - 0.25 * (ORDER >= N // 2)
    found = kinds(lower, labels, old=np.round(lower, 1), ok=lower > 0.5)
    assert "drifts" in found


def test_a_writer_of_long_answers_is_not_favoured(base):
    """The length is what the score goes with; the writer's answers of a length score as others do."""
    random, labels, scores = base
    writers = np.where(random.random(N) < 0.5, "ann", "bob")
    length = np.where(writers == "ann", random.integers(40, 100, N), random.integers(10, 70, N))
    found = kinds(np.clip(scores + 0.005 * (length - 50), 0, 1), labels, writer=writers, length=length)
    assert "follows-length" in found
    assert "writer-bias" not in found


def test_a_writer_of_easy_topics_is_not_favoured(base):
    """Among rows of one topic both writers score alike."""
    random, labels, scores = base
    topics = np.where(random.random(N) < 0.5, "easy", "hard")
    writers = np.where(random.random(N) < np.where(topics == "easy", 0.85, 0.15), "ann", "bob")
    found = kinds(np.clip(scores + 0.2 * (topics == "easy"), 0, 1), labels, writer=writers, topic=topics)
    assert "writer-bias" not in found


def test_a_favoured_writer_stays(base):
    """Whatever other columns there are, and under a second name for the same writers."""
    random, labels, scores = base
    writers = np.where(random.random(N) < 0.5, "ann", "bob")
    topics = np.where(random.random(N) < 0.5, "easy", "hard")
    higher = np.clip(scores + 0.15 * (writers == "ann"), 0, 1)
    found = kinds(higher, labels, writer=writers, topic=topics, account=np.char.add("id-", writers))
    assert "writer-bias" in found


def test_the_demo_blames_no_order():
    """Its file has one task after the other."""
    samples = wb.demo_samples()
    words = wb.CustomGrader(
        lambda thread: float(str(thread.metadata["expected"]) in (thread.completion() or "")), name="contains"
    )
    report = wb.Suite([words]).run(samples, labels="good", progress=False)
    found = {finding.kind: finding for finding in report.findings}
    assert "drifts" not in found
    assert "task" in found["differs-by-column"].message
