"""What counts as a credential in captured values and in source text."""

from __future__ import annotations

import pytest

from workbench.capturing.credentials import refuse_credentials, refuse_credentials_in
from workbench.errors import CaptureError

KEY = "AKIA" + "ABCDEFGHIJKLMNOP"
DOCUMENTED = "AKIAIOSFODNN7EXAMPLE"


def refused(name, value):
    try:
        refuse_credentials(name, value)
    except CaptureError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"# as {DOCUMENTED}\nX = '{KEY}'\n", 2),
        (f"X = '{DOCUMENTED} {KEY}'  # EXAMPLE\n", 1),
        (f"# EXAMPLE\n\nX = '{KEY}'\n", 3),
    ],
)
def test_an_example_hides_no_key(text, line):
    """A key is found, and its line named, also behind the key that a documentation shows as an example."""
    with pytest.raises(CaptureError, match=f"line {line} looks like a credential") as error:
        refuse_credentials_in(text, "g.py")
    assert KEY not in str(error.value)


def test_an_example_is_no_key():
    """The key that AWS's documentation shows may stand in a source and in a value."""
    refuse_credentials_in(f"X = '{DOCUMENTED}'\n", "g.py")
    assert not refused("X", f"such as {DOCUMENTED}")


@pytest.mark.parametrize(
    ("name", "value", "is_refused"),
    [
        ("X", f"{DOCUMENTED} or {KEY}", True),
        ("X", {"a": [("b", KEY)]}, True),
        ("X", {KEY: 1}, True),
        ("X", KEY.encode(), True),
        ("api_key", "hunter2", True),
        ("api_key", "the name of a column", False),
        ("api_key", " ", False),
        ("token", "a1b2c3d4", True),
        ("token", "a1b2c3d", False),
        ("token", "<eos>", False),
        ("X", "a1b2c3d4", False),
        ("X", 7, False),
    ],
)
def test_values_by_name_and_shape(name, value, is_refused):
    """A secret's name and a text without spaces, a token's name and a run of letters and digits, or a known shape."""
    assert bool(refused(name, value)) == is_refused


@pytest.mark.parametrize(
    ("variable", "value", "is_refused"),
    [
        ("MY_API_KEY", "correct horse", True),
        ("MY_TOKEN", "correct horse", True),
        ("MY_API_KEY", "12345678", True),
        ("MY_API_KEY", "1234567", False),
        ("MY_COLUMN", "correct horse", False),
    ],
)
def test_secrets_of_the_environment(variable, value, is_refused, monkeypatch):
    """A value of eight characters or more that the environment keeps under a secret's name is refused by any name."""
    monkeypatch.setenv(variable, value)
    assert bool(refused("X", value)) == is_refused
    assert not refused("X", value + "!")
