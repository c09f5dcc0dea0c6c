"""Every exception the workbench raises on purpose.

```
WorkbenchError
├── CaptureError         (ValueError)    a function cannot travel as source
├── ValidationError      (ValueError)    one of the five checks failed
├── NotValidatedError    (ValueError)    save or export of a grader that was never proved
├── SamplesError         (ValueError)    rows or columns that cannot be read
│   └── UnreadableRowsError              in samples: rows of a file that was changed or damaged
├── FormatError          (ValueError)    a file that cannot be read or written
├── ReportError          (ValueError)    a question a report cannot answer
├── SandboxError         (RuntimeError)  the sandbox could not do its work
│   ├── IsolationError                   imported source where confinement is too weak
│   └── StartError                       in sandbox: no sandbox starts on this machine
├── JudgeServerError     (RuntimeError)  in judges: no answer; its kinds say why
├── BudgetError          (RuntimeError)  in judges: no room for a question
└── StoreError           (RuntimeError)  a database that cannot be used
```

`GradeError` and `ErrorKind` are no exceptions: they say in a `Grade` why it has no score.

A message says what went wrong, then, each on its own line and only where known: where, what was
found, what was expected, and the next step.
"""

from __future__ import annotations

from workbench.grade import ErrorKind, GradeError

__all__ = [
    "CaptureError",
    "ErrorKind",
    "FormatError",
    "GradeError",
    "IsolationError",
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
        what: One sentence saying what went wrong.
        where: File, row, column, cell or name the sentence is about.
        found: What was there.
        expected: What would have been right.
        hint: The next step for the reader.
    """

    def __init__(
        self, what: str, *, where: str = "", found: str = "", expected: str = "", hint: str = ""
    ) -> None:
        self.what, self.where, self.found, self.expected, self.hint = what, where, found, expected, hint
        parts = (("where", where), ("found", found), ("expected", expected), ("next step", hint))
        lines = [what, *(f"  {label}: {text}" for label, text in parts if text)]
        super().__init__("\n".join(lines))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence, not the way through our own files."""
        return [f"{type(self).__name__}: {self}"]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the parts, so that a copy reads the same."""
        return (_rebuild, (type(self), self.what, self.where, self.found, self.expected, self.hint))


def _rebuild(
    kind: type[WorkbenchError], what: str, where: str, found: str, expected: str, hint: str
) -> WorkbenchError:
    return kind(what, where=where, found=found, expected=expected, hint=hint)


class CaptureError(WorkbenchError, ValueError):
    """A function, or something it reads, cannot travel as source text."""


class ValidationError(WorkbenchError, ValueError):
    """One of the five checks failed; the message names the check."""


class NotValidatedError(WorkbenchError, ValueError):
    """A grader was to be saved or exported before it was proved."""


class SamplesError(WorkbenchError, ValueError):
    """Rows, columns or files that cannot be read as samples."""


class SamplesWarning(UserWarning):
    """Data that can be read, but are likely not what was meant."""


class FormatError(WorkbenchError, ValueError):
    """A grader file that cannot be read or written."""


class ReportError(WorkbenchError, ValueError):
    """A question a report cannot answer."""


class SandboxError(WorkbenchError, RuntimeError):
    """The sandbox could not start or do its work."""


class IsolationError(SandboxError):
    """Imported source was to run where the machine cannot confine it."""


class StoreError(WorkbenchError, RuntimeError):
    """The store could not be opened, read or written. What was committed before is still there."""
