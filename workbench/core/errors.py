"""Exceptions that the workbench raises deliberately.

```
WorkbenchError
├── CaptureError         (ValueError)    a function cannot be captured as source
├── ValidationError      (ValueError)    one of the five checks failed
├── NotValidatedError    (ValueError)    save or export of a grader that was never validated
├── SamplesError         (ValueError)    rows or columns that cannot be read
│   └── UnreadableRowsError              in samples: rows of a file that was changed or damaged
├── FormatError          (ValueError)    a file that cannot be read or written
├── ReportError          (ValueError)    invalid arguments of a report
├── SandboxError         (RuntimeError)  the sandbox could not start or work
│   ├── IsolationError                   imported source and insufficient confinement
│   └── StartError                       in sandbox: the sandbox does not start on this machine
├── JudgeServerError     (RuntimeError)  in judges: no reply; its kind gives the reason
├── BudgetError          (RuntimeError)  in judges: the budget does not cover a request
└── StoreError           (RuntimeError)  a database that cannot be used
```

`GradeError` and `ErrorKind` are not exceptions: they record in a `Grade` why it has no score.

A message describes the error, followed by lines, each only if known: where, what was
found, what was expected, and the next step.
"""

from __future__ import annotations

from workbench.core.grade import ErrorKind, GradeError

__all__ = [
    "CaptureError",
    "ErrorKind",
    "FormatError",
    "GradeError",
    "IsolationError",
    "MissingPackageError",
    "NotValidatedError",
    "ReportError",
    "SamplesError",
    "SamplesWarning",
    "SandboxError",
    "StoreError",
    "ValidationError",
    "WorkbenchError",
]


class WorkbenchError(Exception):
    """Base of all errors raised on purpose.

    Args:
        what: One sentence that describes the error.
        where: File, row, column, cell or name of the error.
        found: The actual value.
        expected: The valid value.
        hint: The next step for the user.
    """

    def __init__(
        self, what: str, *, where: str = "", found: str = "", expected: str = "", hint: str = ""
    ) -> None:
        self.what, self.where, self.found, self.expected, self.hint = what, where, found, expected, hint
        parts = (("where", where), ("found", found), ("expected", expected), ("next step", hint))
        lines = [what, *(f"  {label}: {text}" for label, text in parts if text)]
        super().__init__("\n".join(lines))

    def _render_traceback_(self) -> list[str]:
        """Text for IPython: the sentence, without the package's own stack frames."""
        return [f"{type(self).__name__}: {self}"]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the parts, so that a copy has the same text."""
        return (_rebuild, (type(self), self.what, self.where, self.found, self.expected, self.hint))


def _rebuild(
    kind: type[WorkbenchError], what: str, where: str, found: str, expected: str, hint: str
) -> WorkbenchError:
    return kind(what, where=where, found=found, expected=expected, hint=hint)


class MissingPackageError(WorkbenchError, ModuleNotFoundError):
    """A package that only some features need is not installed."""


class CaptureError(WorkbenchError, ValueError):
    """A function, or something it reads, cannot be captured as source text."""


class ValidationError(WorkbenchError, ValueError):
    """One of the five checks failed; the message names the check."""


class NotValidatedError(WorkbenchError, ValueError):
    """A grader was to be saved or exported before it was validated."""


class SamplesError(WorkbenchError, ValueError):
    """Rows, columns or files that cannot be read as samples."""


class SamplesWarning(UserWarning):
    """Readable data that probably differ from what the user intended."""


class FormatError(WorkbenchError, ValueError):
    """A grader file that cannot be read or written."""


class ReportError(WorkbenchError, ValueError):
    """Invalid arguments of a report."""


class SandboxError(WorkbenchError, RuntimeError):
    """The sandbox could not start or work."""


class IsolationError(SandboxError):
    """Imported source was to run although the machine cannot confine it."""


class StoreError(WorkbenchError, RuntimeError):
    """The store could not be opened, read or written. Data committed before are still there."""
