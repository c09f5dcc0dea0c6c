"""The package math-verify as an engine of `MathEqual`: in separate processes, which a time limit ends."""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from typing import Any

from workbench.core.errors import CaptureError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.packages import OPTIONAL, is_installed, missing
from workbench.core.user_functions import LateError
from workbench.core.user_processes import ProcessLostError, ProcessPool

_MAX_CHARACTERS = 20_000
"""Maximum characters of a text: the package searches all of it for expressions. Workbench limit."""
_PACKAGE = next(package for package in OPTIONAL if package.module == "math_verify")


def check_installed() -> None:
    """Raise if the package is not installed.

    Raises:
        MissingPackageError: With the command that installs it.
    """
    if not is_installed(_PACKAGE):
        raise missing(_PACKAGE)


@cache
def engine_processes() -> ProcessPool:
    """The processes of all graders with this engine."""
    return ProcessPool(_Verifier())


async def verified(text: str, expected: str, seconds: float) -> Grade:
    """The grade of a text.

    Args:
        text: The completion.
        expected: The result.
        seconds: Time limit, after which the process is ended.
    """
    if len(text) > _MAX_CHARACTERS:
        return Grade.failed(ErrorKind.SAMPLE, f"the text has more than {_MAX_CHARACTERS:,} characters")
    try:
        score, reason, details = await engine_processes().call((text, expected), seconds)
    except LateError:
        return Grade.failed(ErrorKind.TIMEOUT, f"timed out: no result within {seconds:g} s")
    except ProcessLostError as error:
        return Grade.failed(ErrorKind.CRASH, f"math-verify's process ended: {error}")
    except (ValueError, CaptureError, ImportError, TimeoutError) as error:
        return Grade.failed(ErrorKind.SAMPLE if isinstance(error, ValueError) else ErrorKind.LOAD, str(error))
    except Exception as error:  # noqa: BLE001 (of the package, which parses any text)
        return Grade.failed(ErrorKind.RUNTIME, f"math-verify: {type(error).__name__}: {error}"[:300])
    return Grade(score, passed=score >= 1.0, reasoning=reason, metadata=details)


class _Verifier:
    """The function of the processes. Loading it there loads the package, before any row's time starts."""

    def __call__(self, pair: tuple[str, str]) -> tuple[float, str, dict[str, Any]]:
        raise NotImplementedError("called only in a separate process")

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, ()


def _loaded() -> Any:
    # It warns at every call without a time limit; the limit here is that of the process.
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    import_module("math_verify")
    return _verify


def _verify(pair: tuple[str, str]) -> tuple[float, str, dict[str, Any]]:
    """Score, reason and details, in a separate process."""
    package = import_module("math_verify")
    text, expected = pair
    wanted = package.parse(expected if "$" in expected else f"${expected}$", parsing_timeout=None)
    if not wanted:
        raise ValueError(f"math-verify cannot read the reference {expected[:80]!r}")
    found = package.parse(text, parsing_timeout=None)
    details: dict[str, Any] = {"engine": "math-verify", "result": str(found[-1]) if found else None}
    if not found:
        return 0.0, "No result was found", {**details, "failure": "missing"}
    equal = package.verify(wanted, found, timeout_seconds=None)
    reason = f"{found[-1]} equals {expected}" if equal else f"{found[-1]} does not equal {expected}"
    return float(equal), reason[:300], details
