"""A grader as the JSON text of its row, and back: the record of the native file format.

A record holds what `grader.spec()` says and the proof of its source. What is for the reader to judge (whose
source it is, whom to trust) is left out: a grader out of a store counts as *imported*, as one out of a file
does, because whoever can write the database can write any source into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import workbench.judges  # noqa: F401 (its kinds register themselves)
from workbench.errors import FormatError
from workbench.graders import Grader, SandboxedGrader, ScriptGrader, from_spec
from workbench.sandbox.text import clean
from workbench.sandbox.validate import Check, Validation
from workbench.store.errors import StoreError
from workbench.store.texts import from_json, to_json

__all__ = ["prove", "read_record", "write_record"]

_JUDGED = frozenset({"trusted_sha256", "imported", "trust"})
_DATA = frozenset(
    {"agent", "schema", "output_schema", "sampling_params", "examples", "template_variables", "headers"}
)
"""Fields that hold somebody's data: what looks like a grader in there is none."""


def prove(grader: Grader) -> None:
    """Refuse a grader that has a source which does not pass the five checks; one not yet checked is checked now.

    Raises:
        ValidationError: A `ValueError` that names the check and its message.
        IsolationError: Imported source where the machine cannot confine it.
    """
    for part in _parts(grader):
        if isinstance(part, SandboxedGrader):
            known = part.validation
            (part.validate() if known is None or known.claimed else known).raise_for_failure()


def _parts(grader: Grader) -> Iterator[Grader]:
    """A grader and every grader inside it."""
    yield grader
    inner = [entry.grader for entry in getattr(grader, "entries", ())]
    held = getattr(grader, "grader", None)
    for one in [*inner, *([held] if isinstance(held, Grader) else [])]:
        yield from _parts(one)


def write_record(grader: Grader) -> str:
    """The record of a grader, proved to read as the grader it was.

    Raises:
        CaptureError: It has no form that can be kept, such as a function of a notebook without source.
        StoreError: It holds what JSON cannot say.
    """
    record = _bare(grader.spec())
    proof = getattr(grader, "validation", None)
    if isinstance(proof, Validation):
        told = asdict(proof) | {"ok": proof.ok}
        record["validation"] = {key: told[key] for key in ("ok", "sha256", "isolation", "checks", "warnings")}
    text = to_json(record)
    again = _bare(read_record(text, where=f"grader {grader.name!r}").spec())
    if to_json(again) != to_json(_bare(grader.spec())):
        raise StoreError(
            f"grader {grader.name!r} would not come back as it is", found=f"a {grader.kind} grader with fields JSON changes",
            hint="give its fields plain values: texts, numbers, lists and dicts with text keys",
        )  # fmt: skip
    return text


def read_record(text: str, *, where: str, trust: bool = False) -> Grader:
    """The grader of a record, as somebody else's. Nothing of it runs.

    Args:
        text: The record.
        where: Its place, for errors.
        trust: Its sources may run even where the machine cannot confine them.

    Raises:
        FormatError: Of a kind that is not registered here, or changed after it was stored.
        StoreError: No record at all.
    """
    try:
        record = from_json(text)
    except ValueError as error:
        record = str(error)
    if not isinstance(record, dict):
        raise StoreError("a stored grader cannot be read", where=where, found=str(record)[:200])
    proof = record.pop("validation", None)
    try:
        grader = from_spec(_imported(record, trust=trust))
    except FormatError as error:
        raise FormatError(
            error.what, where=where, found=error.found, expected=error.expected, hint=error.hint
        ) from None
    if isinstance(grader, SandboxedGrader) and isinstance(proof, dict):
        _attach(grader, proof)
    return grader


def _attach(grader: SandboxedGrader, record: dict[str, Any]) -> None:
    """A record for another text proves nothing, so it is dropped; so is one that cannot be read."""
    try:
        checks = tuple(Check(**{**check, "message": clean(check["message"])}) for check in record["checks"])
        warnings = tuple(map(clean, record["warnings"]))
        proof = Validation(checks, warnings, record["isolation"], record["sha256"], claimed=True)
    except (KeyError, TypeError):
        return
    if proof.sha256 == grader.source.sha256:
        grader.remember(proof)


def _bare(value: Any) -> Any:
    """A spec without what is for its reader to judge."""
    if isinstance(value, list | tuple):
        return [_bare(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    dropped = _JUDGED if "kind" in value else {"imported"} if "sha256" in value else set()
    return {key: one if key in _DATA else _bare(one) for key, one in value.items() if key not in dropped}


def _imported(value: Any, *, trust: bool) -> Any:
    """A spec whose every source counts as somebody else's, with trust given to their hashes or not."""
    if isinstance(value, list):
        return [_imported(one, trust=trust) for one in value]
    if not isinstance(value, dict):
        return value
    inner = {key: one if key in _DATA else _imported(one, trust=trust) for key, one in value.items()}
    source, kind = inner.get("source"), inner.get("kind")
    if isinstance(source, dict) and "sha256" in source:
        inner["source"] = {**source, "imported": True}
        inner["trusted_sha256"] = source["sha256"] if trust else ""
    if kind == "custom":
        inner |= {"imported": True, "trust": trust}
    if kind == "script":
        script = inner.get("script")
        known = trust and isinstance(script, str)
        trusted = ScriptGrader.from_source(str(script)).source.sha256 if known else ""
        inner |= {"imported": True, "trusted_sha256": trusted}
    return inner
