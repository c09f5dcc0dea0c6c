"""What holds for all tests: their order, how they are spread over processes, and which of them are slow."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# No deadlines: on a busy machine they measure the machine. Every run draws other examples, so that half as many do.
settings.register_profile("workbench", deadline=None, max_examples=50)
settings.load_profile("workbench")

MOST_PROCESSES = 4
"""Test processes at once, however many cores there are: each may start kernels, servers and a browser."""

TOGETHER = ("tests/kernel/",)
"""Where nodes begin that one process takes together: both files need an environment that pip makes."""

SLOW = (
    "notebooks/",
    "tests/browser/",
    "tests/formats/test_matrix.py",
    "tests/judges/test_faults.py",
    "tests/judges/test_keys.py::test_no_key_in_any_file",
    "tests/judges/test_notebook.py",
    "tests/judges/test_passing.py",
    "tests/judges/test_slots.py",
    "tests/kernel/",
    "tests/sandbox/test_capture.py",
    "tests/sandbox/test_hostile",
    "tests/sandbox/test_pool.py",
    "tests/store/test_faults.py",
    "tests/store/test_opening.py::test_many_processes",
    "tests/store/test_replies.py::test_two_processes",
    "tests/test_contributing.py",
    "tests/test_kernel.py",
    "tests/test_readme.py",
)
"""Where nodes begin that need a browser, a kernel, a server or a notebook, or take more than two seconds."""


def pytest_configure() -> None:
    """Nobody's key is spent on tests, nor by the notebooks they run."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "WORKBENCH_MODEL"):
        os.environ.pop(name, None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process more than cores, since many tests wait; none beside this one where single tests are named."""
    if config.args and all("::" in word for word in config.args):
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores + 1, MOST_PROCESSES)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """The tests of a file stay together, since they share what their module starts; some folders stay together."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((begin for begin in TOGETHER if nodeid.startswith(begin)), nodeid.partition("::")[0])

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow environments and browsers come last: a newcomer sees the quick tests first.

    It is also needed: Playwright keeps an event loop running in the main thread while a browser is open.
    """
    for item in items:
        on_postgres = item.nodeid.startswith("tests/store/") and "postgres" in item.nodeid
        if on_postgres or item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: ("browser" in item.path.parts, _is_slow(item)))


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


@pytest.fixture(autouse=True, scope="session")
def _new_prices() -> Iterator[None]:
    """Prices are as new as when they were read, whenever the tests run: else reports would get a note more."""
    from workbench.judges.asking import prices

    patch = pytest.MonkeyPatch()
    patch.setattr(prices, "_today", lambda: max(one.read for one in prices.PRICES.values() if one.read))
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def _interrupts() -> None:
    """Ctrl-C works although a shell that starts tests in the background sets it to be ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
