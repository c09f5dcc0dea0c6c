"""The sample of rows: whole prompts, as many as fit, the same whatever the parts and their order."""

import itertools

import numpy as np
import pandas as pd
import pytest

from workbench.core.grade import Grade
from workbench.core.grades import Grades
from workbench.data.samples.frame_columns import hashes_of
from workbench.run.part_summary import RowSample, SampledPart, keys_of

ROWS, PROMPTS, LIMIT = 600, 90, 100
FRAME = pd.DataFrame({"row": np.arange(ROWS), "prompt": [f"q{row * 7 % PROMPTS}" for row in range(ROWS)]})


def grades_of(frame):
    grades = Grades.empty(len(frame))
    for at, row in enumerate(frame["row"]):
        grades.put(at, Grade(score=float(row), reasoning=f"reason {row}"))
    grades.repeats = (grades.take(np.arange(len(frame))), grades.take(np.arange(len(frame))))
    return grades


def sampled(frames, limit=LIMIT, order=None, *, tell=True, has_prompt=True):
    """The sample of parts that come in some order; whether each knows what the earlier ones left out."""
    sample = RowSample(limit)
    for number in order or range(len(frames)):
        frame = frames[number].reset_index(drop=True)
        keys = keys_of(
            hashes_of(frame["prompt"].tolist()),
            np.full(len(frame), has_prompt),
            int(frame["row"].iloc[0]) if len(frame) else 0,
        )
        cut = sample.cut if tell else RowSample(limit).cut
        sample.add(*SampledPart.of(number, frame, {"g": grades_of(frame)}, keys, limit, cut))
    sample.finish()
    return sample


def parts_of(*cuts):
    ends = [0, *cuts, ROWS]
    return [FRAME.iloc[first:last] for first, last in itertools.pairwise(ends)]


WHOLE = sampled([FRAME])


def test_it_holds_whole_prompts_and_as_many_as_fit():
    """One more prompt would be too many."""
    frame = WHOLE.frame()
    sizes = FRAME["prompt"].value_counts()
    assert frame["prompt"].value_counts().to_dict() == sizes[frame["prompt"].unique()].to_dict()
    assert LIMIT - sizes.max() <= len(frame) <= LIMIT
    assert not WHOLE.is_whole


@pytest.mark.parametrize("cuts", [(300,), (1, 2, 599), (100, 200, 300, 400, 500)])
@pytest.mark.parametrize("tell", [True, False])
def test_it_is_the_same_whatever_the_parts_and_their_order(cuts, tell):
    """Rows, grades and repeats."""
    frames = parts_of(*cuts)
    orders = list(itertools.islice(itertools.permutations(range(len(frames))), 0, 720, 119)) or [None]
    for order in orders:
        sample = sampled(frames, order=list(order) if order else None, tell=tell)
        frame, grades = sample.frame(), sample.grades()["g"]
        pd.testing.assert_frame_equal(frame, WHOLE.frame())
        np.testing.assert_array_equal(grades.scores, frame["row"])
        assert [grades.reasoning[at] for at in range(3)] == [f"reason {row}" for row in frame["row"][:3]]
        assert [len(one) for one in grades.repeats] == [len(frame)] * 2
        starts = np.array([0, *cuts])
        np.testing.assert_array_equal(starts[sample.places["part"]] + sample.places["row"], frame["row"])


def test_few_rows_are_all_there_in_their_order():
    """Nothing is left out."""
    sample = sampled(parts_of(250), limit=ROWS)
    assert sample.is_whole
    pd.testing.assert_frame_equal(sample.frame(), FRAME)


def test_one_prompt_with_more_rows_than_fit():
    """Then it is a draw of its rows."""
    frames = [part.assign(prompt="q") for part in parts_of(100, 400)]
    found = [sampled(frames, order=order).frame()["row"].tolist() for order in ([0, 1, 2], [2, 0, 1])]
    assert found[0] == found[1]
    assert len(found[0]) == LIMIT


def test_rows_without_a_prompt_are_drawn_one_by_one():
    """Each is a prompt of its own."""
    frame = sampled(parts_of(250), has_prompt=False).frame()
    assert LIMIT - 1 <= len(frame) <= LIMIT
    assert 0 < (frame["row"] < 250).sum() < len(frame)


def test_repeats_that_not_all_parts_have_are_left_out():
    """A part whose budget was spent may have begun fewer."""
    frame = FRAME.head(4)
    keys = keys_of(hashes_of(frame["prompt"].tolist()), np.ones(4, bool), 0)
    sample = RowSample(LIMIT)
    once = grades_of(frame)
    once.repeats = ()
    sample.add(*SampledPart.of(0, frame, {"g": grades_of(frame)}, keys, LIMIT, sample.cut))
    sample.add(*SampledPart.of(1, frame, {"g": once}, keys, LIMIT, sample.cut))
    assert sample.grades()["g"].repeats == ()
    assert len(sample.grades()["g"]) == 8


def test_no_rows():
    """An empty frame and no grades."""
    sample = RowSample(LIMIT)
    sample.finish()
    assert sample.is_whole
    assert sample.frame().empty
    assert sample.grades() == {}
    assert sample.places.empty
