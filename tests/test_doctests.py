"""Examples in docstrings run."""

import doctest
import importlib
import linecache
import pkgutil
from unittest import mock

import pytest

import workbench
from workbench.data.extractors import EXTRACTORS

# The sandbox child's files run in their own interpreter, by path.
CHILD = {
    "workbench.sandbox.child.zygote",
    "workbench.sandbox.child.worker",
    "workbench.sandbox.child.checks",
    "workbench.sandbox.child.determinism",
    "workbench.sandbox.child.drive",
    "workbench.sandbox.child.javascript",
    "workbench.sandbox.child.loaders",
    "workbench.sandbox.child.calls",
    "workbench.sandbox.platforms.rollout",
    "workbench.sandbox.platforms.signatures",
    "workbench.sandbox.platforms.trainers",
    "workbench.__main__",
}
MODULES = [
    info.name for info in pkgutil.walk_packages(workbench.__path__, "workbench.") if info.name not in CHILD
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name, monkeypatch):
    """What a docstring shows is what happens; what it registers is forgotten, for the tests that list what there is."""
    # doctest's debugger asks for each docstring whether one of all files that were ever read has changed: half of the time.
    monkeypatch.setattr(linecache, "checkcache", lambda filename=None: None)
    with mock.patch.dict(EXTRACTORS):
        assert doctest.testmod(importlib.import_module(name)).failed == 0
