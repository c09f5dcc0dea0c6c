"""The public surface: names, laziness, and agreement with its page of the documentation."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb

ROOT = Path(__file__).resolve().parents[1]
HEAVY = [
    "openai",
    "plotly",
    "ipywidgets",
    "anywidget",
    "pygments",
    "sqlalchemy",
    "dask",
    "pandas",
    "numpy",
    "IPython",
    "jinja2",
    "pyarrow",
    "httpx",
    "quickjs",
    "rapidfuzz",
    "regex",
    "yaml",
]


def test_all_is_sorted_and_complete():
    """`__all__` is sorted, holds no name twice, and every name loads."""
    assert wb.__all__ == sorted(set(wb.__all__))
    for name in wb.__all__:
        assert getattr(wb, name) is not None


def test_the_public_names_are_few():
    """At most 84 names; the rest stands in `wb.combine`, `wb.judges`, `wb.errors`, `wb.session` and `wb.widgets`."""
    assert len(wb.__all__) <= 84
    for name in ("combine.Mean", "combine.PerTurn", "judges.PRICES", "judges.ScoreJudge", "errors.ErrorKind"):
        module, _, member = name.partition(".")
        assert getattr(getattr(wb, module), member) is not None


def test_the_page_of_public_names_is_the_public_surface():
    """The page of public names has a line for each of them and for no others."""
    text = (ROOT / "docs" / "public-names.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == sorted(wb.__all__)


def test_unknown_name_is_an_attribute_error():
    """A misspelt name is said to be missing."""
    with pytest.raises(AttributeError, match="grade_all_the_things"):
        wb.grade_all_the_things  # noqa: B018


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Contain", "wb.Contains"), ("ScoreJudge", "wb.judges.ScoreJudge"), ("Mean", "wb.combine.Mean")],
)
def test_a_misspelt_name_is_answered_with_the_one_meant(name, meant):
    """Names in `combine`, `judges` and `errors` are among them."""
    with pytest.raises(AttributeError, match=f"did you mean {meant}"):
        getattr(wb, name)


def test_import_is_light():
    """`import workbench` loads none of the heavy packages and starts no thread."""
    code = f"import workbench, sys, threading; print([m for m in {HEAVY} if m in sys.modules], threading.active_count())"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[] 1"


def test_a_module_of_ours_loads_alone():
    """`from workbench import core` is not taken for a misspelt name, whose answer loads graders and judges."""
    code = f"from workbench import core; import sys; print([m for m in {[*HEAVY, 'workbench.judges']} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_dir_lists_public_names():
    """Tab completion offers the public names before they are loaded."""
    assert set(wb.__all__) <= set(dir(wb))
