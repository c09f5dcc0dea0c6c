"""A grader as the JSON text of its row, and back: the record of the native file format.

A record contains `grader.spec()` and the validation of its source. What the reader has to decide (whether it is imported,
whom to trust) is omitted: a grader from a store counts as *imported*, as one from a file does, because everyone who can
write the database can write any source into it.
"""

from __future__ import annotations

from workbench.core.errors import FormatError
from workbench.graders import Grader, SandboxedGrader
from workbench.graders.serialization import from_record, parts, record_of, spec_of
from workbench.store.errors import StoreError
from workbench.store.texts import from_json, to_json

__all__ = ["prove", "read_record", "write_record"]


def prove(grader: Grader) -> None:
    """Reject a grader whose source does not pass the five checks; one not yet checked is checked now.

    Raises:
        ValidationError: A `ValueError` that names the check and its message.
        IsolationError: Imported source on a machine that cannot confine it.
    """
    for part in parts(grader):
        if isinstance(part, SandboxedGrader):
            validation = part.validation
            (part.validate() if validation is None or validation.claimed else validation).raise_for_failure()


def write_record(grader: Grader) -> str:
    """The record of a grader, verified to restore the same grader.

    Raises:
        CaptureError: It cannot be serialised, such as a function of a notebook without source.
        StoreError: It contains values that JSON does not support.
    """
    text = to_json(record_of(grader))
    reread = read_record(text, where=f"grader {grader.name!r}", own=True)
    if to_json(spec_of(reread)) != to_json(spec_of(grader)):
        raise StoreError(
            f"grader {grader.name!r} cannot be restored unchanged", found=f"a {grader.kind} grader with fields JSON changes",
            hint="give its fields plain values: texts, numbers, lists and dicts with text keys",
        )  # fmt: skip
    return text


def read_record(text: str, *, where: str, trust: bool = False, own: bool = False) -> Grader:
    """The grader of a record, marked as imported. None of it runs.

    Args:
        text: The record.
        where: Its location, for errors.
        trust: Its sources may run even if the machine cannot confine them.
        own: Whether this process has just written it.

    Raises:
        FormatError: Of a kind that is not registered here, or changed after it was stored.
        StoreError: Not a record.
    """
    try:
        record = from_json(text)
    except ValueError as error:
        record = str(error)
    if not isinstance(record, dict):
        raise StoreError("a stored grader cannot be read", where=where, found=str(record)[:200])
    try:
        return from_record(record, trust=trust, own=own)
    except FormatError as error:
        raise FormatError(
            error.what, where=where, found=error.found, expected=error.expected, hint=error.hint
        ) from None
