"""The pytest fixture `workbench_check`: graders tested as `workbench check` tests them.

pytest loads this module at every start, so that it imports nothing else before the fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from workbench.deploy.guard import CheckResult

_OUTCOMES = ("skip", "fail", "pass")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings `workbench_inconclusive` and `--workbench-inconclusive`."""
    text = "outcome of a test whose grader check is inconclusive: skip, fail or pass"
    parser.addini("workbench_inconclusive", text, default="skip")
    parser.getgroup("workbench").addoption(
        "--workbench-inconclusive", choices=_OUTCOMES, default=None, help=text
    )


@pytest.fixture(scope="session")
def workbench_check(request: pytest.FixtureRequest) -> Callable[..., CheckResult]:
    """A function with the arguments of `workbench.deploy.guard.check`: fails the test if the check fails or could not run.

    An inconclusive check skips the test with the number of rows needed; the setting `workbench_inconclusive` or the argument
    `inconclusive` chooses "fail" or "pass" instead.
    """
    chosen = request.config.getoption("--workbench-inconclusive") or request.config.getini(
        "workbench_inconclusive"
    )

    def check(
        graders: Any, rows: Any = None, *, inconclusive: str = str(chosen), **settings: Any
    ) -> CheckResult:
        if inconclusive not in _OUTCOMES:
            raise pytest.UsageError(
                f"workbench_inconclusive must be one of {', '.join(_OUTCOMES)}, not {inconclusive!r}"
            )
        from workbench.deploy.guard import check as run_check

        result = run_check(graders, rows, **{"progress": False, **settings})
        if result.outcome.value == "fail" or result.missed:
            pytest.fail(str(result), pytrace=False)
        if result.outcome.value == "inconclusive" and inconclusive != "pass":
            (pytest.fail(str(result), pytrace=False) if inconclusive == "fail" else pytest.skip(str(result)))
        return result

    return check
