"""What holds for all tests: their order, how they are spread over processes, and which of them are slow."""

from __future__ import annotations

import gc
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

TOGETHER = (
    ("tests/browser/test_workbench.py", "tests/browser/test_servers.py"),
    ("tests/browser/",),
    ("tests/kernel/",),
)
"""Where nodes begin that one process takes together: they share servers and a browser, kernels, or what pip makes.

What uses Notebook 7 and Voila is one half of the browser tests, what uses JupyterLab alone is the other.
"""

LONGEST = (
    "tests/browser/",
    "tests/test_binder.py",
    "tests/kernel/",
    "tests/sandbox/test_hostile.py",
    "tests/targets/test_equality_evaluators.py",
    "tests/targets/test_equality_trainers.py",
    "tests/targets/test_callers.py",
    "tests/test_faults.py",
    "tests/deploy/serve/test_server.py",
    "tests/test_readme.py",
    "tests/test_extend.py",
    "tests/sandbox/test_pool.py",
    "tests/deploy/reward/test_real_trainers.py",
    "tests/sandbox/test_residents.py",
    "tests/judges/test_transient_errors.py",
    "tests/judges/test_two_processes.py",
    "tests/judges/test_keys.py",
    "tests/store/test_replies.py",
    "tests/judges/test_faults.py",
    "tests/sandbox/test_hostile_programs.py",
    "tests/probes/test_planted.py",
    "tests/formats/test_matrix.py",
    "tests/formats/test_bad_input.py",
    "tests/graders/code/test_custom.py",
    "tests/judges/test_capabilities.py",
    "tests/graders/code/test_script.py",
)
"""Files of more than ten seconds, the longest first: begun last, one would run on when all others have ended. Those which
need the targets' environments are not the first of all: `.ci/run` makes these in the meantime."""

SLOW = (
    "notebooks/",
    "tests/browser/",
    "tests/graders/capture/test_capture.py",
    "tests/analysis/diagnostics/test_human.py::test_healthy",
    "tests/formats/test_bad_input.py::test_spoiled",
    "tests/formats/test_matrix.py",
    "tests/graders/code/test_custom.py::test_a_coroutine_that_is_not_begun",
    "tests/graders/code/test_custom.py::test_a_function_that_blocks",
    "tests/judges/test_capabilities.py::test_a_server_that_warms_up",
    "tests/judges/test_faults.py",
    "tests/judges/test_keys.py::test_no_key_in_any_file",
    "tests/judges/test_kinds.py::test_schemas_of_answers_end",
    "tests/judges/test_repeats.py",
    "tests/judges/test_notebook.py",
    "tests/judges/test_resumed_runs.py",
    "tests/judges/test_transient_errors.py",
    "tests/judges/test_unstored_answers.py",
    "tests/kernel/",
    "tests/report/plots/test_scores.py::test_payload_is_independent",
    "tests/probes/test_planted.py",
    "tests/deploy/reward/test_real_trainers.py",
    "tests/sandbox/test_hostile",
    "tests/run/scale/test_ray.py",
    "tests/deploy/serve/test_server.py",
    "tests/deploy/serve/test_workers.py",
    "tests/sandbox/test_pool.py",
    "tests/app/session/test_session.py::test_a_run_that_was_cut_off",
    "tests/app/session/test_session.py::test_a_state_that_is_closed",
    "tests/app/session/test_session.py::test_closing_in_the_middle",
    "tests/analysis/statistics/test_informative_groups.py::test_simulation",
    "tests/store/test_faults.py",
    "tests/store/test_opening.py::test_many_processes",
    "tests/store/test_replies.py::test_a_killed_process",
    "tests/store/test_replies.py::test_two_processes",
    "tests/store/test_texts.py::test_labels_and_undos_of_two_texts",
    "tests/targets/test_callers.py",
    "tests/targets/test_equality",
    "tests/data/templates/test_bounds.py::test_a_bomb",
    "tests/data/templates/test_bounds.py::test_long_texts",
    "tests/data/templates/test_real_random.py",
    "tests/test_codebase_figures.py::test_every_line_has_a_goal",
    "tests/test_extend.py",
    "tests/run/test_jobs.py::test_a_cancelled_job",
    "tests/run/test_jobs.py::test_a_job_can_be_awaited",
    "tests/run/test_jobs.py::test_a_listener_that_returns_false",
    "tests/test_kernel.py",
    "tests/test_readme.py",
    "tests/app/widgets/test_app.py::test_a_closed_app",
)
"""Where nodes begin that need a browser, a kernel, a server or a notebook, or take more than two seconds."""


def pytest_configure(config: pytest.Config) -> None:
    """Nobody's key is spent on tests, nor by the notebooks they run; what they start keeps its compiled modules."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "WORKBENCH_MODEL"):
        os.environ.pop(name, None)
    # Else every process that tests start compiles all it imports anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


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
            return next(
                (begins[0] for begins in TOGETHER if nodeid.startswith(begins)), nodeid.partition("::")[0]
            )

    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Several processes begin with what takes longest; one alone ends with it: a newcomer sees the quick tests first.

    Browsers come last there for another reason as well: Playwright keeps an event loop running in the main thread until
    the last browser test of the process has ended.
    """
    for item in items:
        on_postgres = item.nodeid.startswith("tests/store/") and "postgres" in item.nodeid
        if on_postgres or item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)
    else:
        items.sort(key=lambda item: ("browser" in item.path.parts, _is_slow(item)))


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector of garbage need not look at it again and again (a tenth of all time)."""
    gc.collect()
    gc.freeze()


def _rank(item: pytest.Item) -> int:
    """Where a test stands in the order of `LONGEST`; all others after them, the slow ones first."""
    found = next((rank for rank, begin in enumerate(LONGEST) if item.nodeid.startswith(begin)), None)
    return len(LONGEST) + (not _is_slow(item)) if found is None else found


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


@pytest.fixture(autouse=True, scope="session")
def _new_prices() -> Iterator[None]:
    """Prices are as new as when they were read, whenever the tests run: else reports would get a note more."""
    from workbench.judges import prices

    patch = pytest.MonkeyPatch()
    patch.setattr(prices, "_today", lambda: max(one.read for one in prices.PRICES.values() if one.read))
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def _interrupts() -> None:
    """Ctrl-C works although a shell that starts tests in the background sets it to be ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
