"""A source: a value with a text, a hash and a cap."""

import pickle

import pytest

from workbench.core.errors import CaptureError
from workbench.graders.capture.source import MAX_BYTES, Source


def test_equality_is_by_value():
    """Two sources of one text and origin are one value, hashable and picklable."""
    one, other = Source("x = 1\n"), Source("x = 1\n")
    assert one == other
    assert hash(one) == hash(other)
    assert one != Source("x = 2\n")
    assert one == Source("x = 1\n", imported=True)  # a matter of trust, not of what it is
    assert pickle.loads(pickle.dumps(one)) == one


def test_hash_is_of_the_text_alone():
    """Trust is bound to the text, wherever it came from."""
    assert Source("x = 1\n").sha256 == Source("x = 1\n", "f", "cell 3", imported=True).sha256
    assert Source("x = 1\n").sha256 != Source("x = 1").sha256


def test_cap_is_inclusive():
    """64 KiB of UTF-8 pass, one byte more does not."""
    assert Source("x" * MAX_BYTES).text
    with pytest.raises(CaptureError, match="too large") as caught:
        Source("é" * (MAX_BYTES // 2) + "x")
    assert "65,537 bytes" in str(caught.value)


def test_surrogates_are_refused():
    """A text must be able to become a file."""
    with pytest.raises(CaptureError, match="not valid Unicode"):
        Source("'\udc80'")


def test_repr_is_one_short_line():
    """The repr does not print the text."""
    shown = repr(Source("async def grade(thread):\n    return 1.0\n", "exact", "cell 3"))
    assert shown == "Source('exact' from cell 3, 2 lines, sha256 f25c9e7beef1)"
