"""Functions written against packages that the sandbox stands in for travel with their imports."""

import sys
import types
from pathlib import Path

import pytest

import workbench as wb
from workbench.core.errors import CaptureError
from workbench.graders.capture import capture
from workbench.sandbox.platforms import letta


@pytest.fixture
def package(monkeypatch):
    """A package called letta_evals, as if it were installed."""
    text = compile(
        Path(letta.__file__).read_text("utf-8"), "/site-packages/letta_evals/decorators.py", "exec"
    )
    for name in ("letta_evals", "letta_evals.models", "letta_evals.decorators"):
        module = types.ModuleType(name)
        module.__path__, module.__file__ = [], f"/site-packages/{name.replace('.', '/')}.py"
        monkeypatch.setitem(sys.modules, name, module)
    exec(text, sys.modules["letta_evals.decorators"].__dict__)
    for name in ("GradeResult", "Sample"):
        found = getattr(sys.modules["letta_evals.decorators"], name)
        found.__module__ = "letta_evals.models"
        setattr(sys.modules["letta_evals.models"], name, found)
    return sys.modules["letta_evals.decorators"]


def cell(text, names=None):
    """Run a cell the way a notebook does, so that capture finds its text."""
    import linecache

    module = types.ModuleType("compatible_case")
    filename = f"<cell {abs(hash(text))}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module.__dict__.update(names or {})
    sys.modules["compatible_case"] = module
    exec(compile(text, filename, "exec"), module.__dict__)
    return module


IMPORTS = "from letta_evals.decorators import grader\nfrom letta_evals.models import GradeResult\n\n\n"
BODY = (
    "@grader\ndef brief(sample, submission):\n    return GradeResult(score=float(len(submission) <= LIMIT))\n"
)


def test_a_decorated_function_keeps_its_decorator_and_imports(package):
    """Nothing of the platform is dropped: what was written is what is exported."""
    module = cell(IMPORTS + "LIMIT = 3\n\n\n" + BODY)
    source = capture(module.brief)
    assert source.imports == (
        "from letta_evals.decorators import grader",
        "from letta_evals.models import GradeResult",
    )
    assert "@grader\ndef grade(sample, submission):" in source.text
    captured = wb.grader(module.brief)
    assert captured.signature == "letta"
    assert captured(wb.StringThread([("assistant", "abc")])).score == 1.0


def test_a_cell_reads_the_package_from_other_cells(package):
    """Imports of the notebook are put above a cell that needs them."""
    names = {"grader": package.grader, "GradeResult": package.GradeResult, "LIMIT": 3}
    source = capture(BODY, namespace=names)
    assert source.text.startswith("from letta_evals.")
    assert "import GradeResult" in source.text


def test_what_a_decorator_is_put_around_is_still_proved(package):
    """A helper that changed since is found, whatever stands around the function."""
    module = cell(IMPORTS + "LIMIT = 3\nTABLE = {}\n\n\n" + BODY.replace("LIMIT", "TABLE.get(1, 3)"))
    module.TABLE.update({1: 2})
    assert "TABLE = {1: 2}" in capture(module.brief).text
    module.brief.__wrapped__.__defaults__ = (1,)
    with pytest.raises(CaptureError, match="changed|defaults"):
        capture(module.brief)


def test_other_packages_are_refused_as_before():
    """Only the packages we stand in for are let through."""
    with pytest.raises(CaptureError, match="numpy is not in the standard library"):
        capture(
            "def grade(sample, item):\n    return float(numpy.mean([1]))\n",
            namespace={"numpy": __import__("numpy")},
        )
