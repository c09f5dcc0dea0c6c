"""`map_batches` inside Ray Data itself, with Ray's own processes."""

from pathlib import Path

import pytest

from tests.targets.environments import python_of
from tests.targets.scripts import last_line

pytestmark = pytest.mark.install


def test_ray_data_grades_as_a_run_does():
    """Three blocks in each form of batch that Ray has, in Ray's processes: the same scores row by row, and reasons."""
    answer = last_line(Path(__file__).with_name("ray_data.py"), python=python_of("train"), first=True)
    assert answer["elsewhere"]
    found = answer["found"]
    assert set(found) == {"default", "pandas", "pyarrow"}
    for form in found.values():
        assert form == {
            "scores": {"code": True, "exact-match": True, "combined": True},
            "reasons": ["by length"],
            "rows": 300,
        }
