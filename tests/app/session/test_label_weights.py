"""How rows were drawn, and how many rows each represents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.app.widgets import using
from workbench.app.session.label_queue import BALANCED, LabelQueue, of_stratum, weights_of

WORDS = {1: "accepted", 0: "refused", -1: "neither"}


@given(
    st.dictionaries(st.sampled_from([1, 0, -1]), st.tuples(st.integers(1, 50), st.integers(1, 9)), min_size=1)
)
def test_each_class_stands_for_its_share(classes):
    """The labels of a class have the weight of the class, independent of their number and the other classes' sizes."""
    n = sum(size for size, _ in classes.values())
    drawn = [
        of_stratum(verdict, size, n) for verdict, (size, labels) in classes.items() for _ in range(labels)
    ]
    weights = weights_of(drawn)
    assert sum(weights) == pytest.approx(len(drawn))
    for verdict, (size, _) in classes.items():
        mine = [one for one, said in zip(weights, drawn, strict=True) if said == of_stratum(verdict, size, n)]
        assert sum(mine) / len(drawn) == pytest.approx(size / n)


def test_a_label_says_its_class():
    """As text that its store saves."""
    assert [of_stratum(verdict, 3, 8) for verdict in WORDS] == [
        f"{BALANCED} {word} 3/8" for word in WORDS.values()
    ]


def test_labels_that_do_not_say_their_class_count_as_before():
    """Older ones are distinguished only by the share; newer ones belong to their class."""
    old, older = f"{BALANCED} 3/4", f"{BALANCED} 1/4"
    assert weights_of([old, old, older]) == pytest.approx([1.125, 1.125, 0.75])
    assert weights_of([old, of_stratum(1, 3, 4), older]) == pytest.approx([1.125, 1.125, 0.75])
    both = [of_stratum(1, 2, 4), of_stratum(0, 2, 4), f"{BALANCED} 2/4"]
    assert weights_of(both) == pytest.approx([1, 1, 1])


def rate_of(drawn, values):
    """The weighted share of good labels."""
    weights = weights_of(drawn)
    return sum(one for one, good in zip(weights, values, strict=True) if good) / sum(weights)


def test_one_label_of_another_run_moves_the_rate_by_one_label():
    """A class that a re-run made one row larger is the same class, not a new one with a separate share."""
    drawn = [of_stratum(1, 300, 1_000)] * 50 + [of_stratum(0, 700, 1_000)] * 50
    values = [True] * 45 + [False] * 5 + [True] * 5 + [False] * 45
    before, after = rate_of(drawn, values), rate_of([*drawn, of_stratum(1, 301, 1_000)], [*values, True])
    assert before == pytest.approx(0.34)
    assert 0 < after - before < 1 / 100


def test_a_class_weighs_the_mean_share_of_its_draws():
    """Of 4 labels one was drawn when the class was half of all; the shares are scaled to add up to 1."""
    drawn = [of_stratum(1, 1, 4)] * 3 + [of_stratum(1, 2, 4)] + [of_stratum(0, 3, 4)] * 2
    weights = weights_of(drawn)
    assert sum(weights) == pytest.approx(6)
    assert sum(weights[:4]) / 6 == pytest.approx(0.3125 / (0.3125 + 0.75))
    assert len(set(weights[:4])) == 1


@pytest.mark.parametrize(
    "drawn", ["class-balanced", "class-balanced 4/3", "class-balanced odd 1/2", "as shown", "no idea"]
)
def test_other_rows_have_no_weight(drawn):
    """They were selected; rates do not use unreadable records."""
    assert weights_of([drawn, "", "random"]) == [None, 1.0, 1.0]


@pytest.mark.parametrize("accepted", [19, 20, 21])
def test_classes_of_one_size_are_two_classes(accepted):
    """All accepted rows and two of the refused ones labelled, all good: half of the refusals are still unknown."""
    rows = [{"prompt": f"p{n}", "completion": "yes" if n < accepted else "no"} for n in range(40)]
    report = wb.Contains(expected="yes", name="g").run(rows, progress=False)
    made = using.labels_of(report.samples, None, None)
    queue, refused = LabelQueue(BALANCED, report.samples, report=report), 0
    for row in map(int, queue.rows):
        refused += row >= accepted
        if row < accepted or refused <= 2:
            name = str(report.samples.ids[row])
            made.note_drawn(name, queue.drawn(row))
            made.put(name, True)
    counted = made.weighted(report.samples)
    found = report.agreement("g", counted.labels, weights=counted.weights)
    assert counted.n == accepted + 2
    assert found.observed.value == pytest.approx(accepted / 40)
    made.storage.close()
