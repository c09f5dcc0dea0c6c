"""One browser for all browser tests, axe-core, and servers: `lab`, `notebook7`, `marimo`, and `voila`, which makes them."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.lab import Server
    from tests.browser.voila import Voilas

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


def _missing(what: str) -> NoReturn:
    """Skip with the reason; on a build server the same is a failure."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"browser tests need {what}, and CI=true", pytrace=False)
    pytest.skip(f"browser tests need {what}")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    for module in ("playwright", "jupyterlab", "psutil"):
        if importlib.util.find_spec(module) is None:
            _missing(f"{module} (pip install 'grader-workbench[test]')")
    from playwright.sync_api import sync_playwright

    from tests.browser.page import CHROMIUM_FLAGS, chromium

    path = chromium()
    if path is None:
        _missing("Chromium on PATH, or its path in WORKBENCH_CHROMIUM")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as play:
        started = play.chromium.launch(
            executable_path=path, args=[*CHROMIUM_FLAGS, *(["--no-sandbox"] if root else [])]
        )
        yield started
        started.close()


@pytest.fixture(scope="package")
def axe(browser: Browser) -> str:
    """The source of axe-core, as the front end's own tests install it."""
    path = HERE.parents[1] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        pytest.skip("needs axe-core (npm ci --prefix frontend), which .ci/run installs")
    return path.read_text("utf-8")


@pytest.fixture(scope="package")
def lab(browser: Browser) -> Iterator[Server]:
    from tests.browser.lab import ROOT, serve

    with serve(ROOT / "notebooks") as server:
        yield server


@pytest.fixture
def table(lab: Server) -> None:
    """Somebody's own table among the notebooks of JupyterLab."""
    from tests.browser.stranger import write_table

    write_table(lab.notebooks)


@pytest.fixture(scope="package")
def notebook7(browser: Browser) -> Iterator[Server]:
    """Jupyter Notebook 7; `opened(browser, notebook7, name)` works as with `lab`."""
    if importlib.util.find_spec("notebook") is None:
        _missing("notebook (pip install 'grader-workbench[test]')")
    from tests.browser.lab import ROOT, serve

    with serve(ROOT / "notebooks", app="notebook") as server:
        yield server


@pytest.fixture(scope="package")
def marimo(browser: Browser) -> Iterator[Server]:
    """A server of marimo, which shows one notebook with the app."""
    if importlib.util.find_spec("marimo") is None:
        _missing("marimo (pip install 'grader-workbench[test]')")
    from tests.browser.marimo import serve

    with serve() as server:
        yield server


@pytest.fixture(scope="package")
def voila(browser: Browser) -> Iterator[Voilas]:
    """`voila(name)` is a Voila server for that notebook alone, started once; see tests/browser/voila.py."""
    if importlib.util.find_spec("voila") is None:
        _missing("voila (pip install 'grader-workbench[test]')")
    from tests.browser.voila import Voilas

    with contextlib.ExitStack() as stack:
        yield Voilas(stack)
