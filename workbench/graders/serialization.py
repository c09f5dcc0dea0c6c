"""Conversion of a grader to plain data and back, for files and the store, without the fields about origin and trust.

A grader that is read back counts as *imported*: anyone who can write the file or the database can change its source.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from workbench.core.display_text import clean
from workbench.core.errors import FormatError, WorkbenchError
from workbench.graders import KINDS, Grader, from_spec
from workbench.sandbox.host.program import IMPORTED_MB, IMPORTED_SECONDS
from workbench.sandbox.host.validation import Check, Validation

_TRUST_FIELDS = frozenset({"trusted_sha256", "imported", "trust"})
"""Fields about origin and trust, which the reader of a grader sets itself."""
_DATA = frozenset(
    {
        "agent",
        "schema",
        "output_schema",
        "sampling_params",
        "examples",
        "template_variables",
        "headers",
        "when",
        "defaults",
    }
)
"""Fields of user data: an object in there that looks like a grader is not one."""


def parts(grader: Grader) -> Iterator[Grader]:
    """A grader and every grader inside it."""
    yield grader
    for inner_grader in direct_parts(grader):
        yield from parts(inner_grader)


def direct_parts(grader: Grader) -> list[Grader]:
    """The graders directly inside a grader; none for most."""
    inner = [entry.grader for entry in getattr(grader, "entries", ())]
    inner += getattr(grader, "inner_graders", ())
    wrapped = getattr(grader, "grader", None)
    return [*inner, wrapped] if isinstance(wrapped, Grader) else inner


def is_data_field(name: str) -> bool:
    """Whether a field of a spec is user data, in which nothing is a grader or a source."""
    return name in _DATA


def spec_of(grader: Grader) -> dict[str, Any]:
    """The grader's spec without the fields about origin and trust.

    Raises:
        CaptureError: It cannot be converted to data, such as a function of a notebook without source.
    """
    spec: dict[str, Any] = _without_trust(grader.spec())
    return spec


def record_of(grader: Grader) -> dict[str, Any]:
    """The spec of `spec_of`, with the validation of its source if there is one."""
    record = spec_of(grader)
    validation = getattr(grader, "validation", None)
    if isinstance(validation, Validation):
        fields = asdict(validation) | {"ok": validation.ok}
        record["validation"] = {
            key: fields[key] for key in ("ok", "sha256", "isolation", "checks", "warnings")
        }
    return record


def _without_trust(value: Any) -> Any:
    """A spec without the fields about origin and trust."""
    if isinstance(value, list | tuple):
        return [_without_trust(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    # A source has a hash and no kind; of these fields it has only the one about its origin.
    dropped = _TRUST_FIELDS if "kind" in value else {"imported"} if "sha256" in value else set()
    return {
        key: item if key in _DATA else _without_trust(item)
        for key, item in value.items()
        if key not in dropped
    }


def from_record(record: Mapping[str, Any], *, trust: bool = False, own: bool = False) -> Grader:
    """The grader of a record, as an imported one. None of its code runs, and its limits are capped; see `limit_imported`.

    Args:
        record: As from `record_of`.
        trust: Its sources may run even if the machine cannot confine them.
        own: This process has just created the record, to check how it would be read: its limits are not capped.

    Raises:
        FormatError: It is not a dict, has an unregistered kind, or invalid fields.
    """
    if not isinstance(record, Mapping):
        raise FormatError("this is not a grader", found=type(record).__name__, expected='{"kind": ..., ...}')
    grader = _build({key: value for key, value in record.items() if key != "validation"}, trust=trust)
    if hasattr(grader, "remember") and "validation" in record:
        _attach(grader, record["validation"])
    if not own:
        limit_imported(grader)
    return grader


def limit_imported(grader: Grader) -> None:
    """Cap the time and memory limits of imported code at the maximum of its kind, and warn about each cap.

    All readers of imported graders call this: records of files and stores, and all formats. Graders that the user
    defines are not affected: `dataclasses.replace(grader, timeout=...)` raises a limit again.

    Args:
        grader: A grader that was just read. No other object refers to it yet, so it is changed in place.
    """
    for nested in parts(grader):
        ceilings: Mapping[str, float] = getattr(nested, "ceilings", {})
        exceeded = {name: ceiling for name, ceiling in ceilings.items() if getattr(nested, name) > ceiling}
        if not exceeded or not _from_elsewhere(nested):
            continue
        cuts = ", ".join(
            f"{name}={getattr(nested, name)!r} to {ceiling:g}" for name, ceiling in exceeded.items()
        )
        for name, ceiling in exceeded.items():
            object.__setattr__(nested, name, ceiling)
        warnings.warn(
            f"grader {clean(nested.name)!r} was read with reduced limits: {cuts}. Imported code may request at most "
            f"{IMPORTED_SECONDS:g} s and {IMPORTED_MB:,} MiB. Next step: if it needs more, set it explicitly: "
            f"dataclasses.replace(grader, {next(iter(exceeded))}=...)",
            stacklevel=2,
        )


def _from_elsewhere(grader: Grader) -> bool:
    source = getattr(grader, "source", grader)
    return bool(getattr(source, "imported", False))


def _build(spec: dict[str, Any], *, trust: bool) -> Grader:
    """The grader of an imported spec, whose fields may have any value and raise any error in the kind's code."""
    try:
        return from_spec(_imported(spec, trust=trust))
    except FormatError:
        raise
    except WorkbenchError as error:
        raise FormatError(
            error.what, where=error.where, found=error.found, expected=error.expected, hint=error.hint
        ) from error
    except (AttributeError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
        problem = f"{type(error).__name__}: {error}"[:300]
        raise FormatError("a grader cannot be created from these fields", found=problem) from error


def _imported(value: Any, *, trust: bool) -> Any:
    """A spec in which every source is marked as imported, and trusted by its hash if requested."""
    if isinstance(value, list):
        return [_imported(item, trust=trust) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: item if key in _DATA else _imported(item, trust=trust) for key, item in value.items()}
    source, kind = inner.get("source"), inner.get("kind")
    if isinstance(source, dict) and "sha256" in source:
        inner["source"] = {**source, "imported": True}
        inner["trusted_sha256"] = source["sha256"] if trust else ""
    if kind == "custom":
        inner |= {"imported": True, "trust": trust}
    sha256 = KINDS[kind].imported_sha256(inner) if isinstance(kind, str) and kind in KINDS else None
    if sha256 is not None:
        inner |= {"imported": True, "trusted_sha256": sha256 if trust else ""}
    return inner


def _attach(grader: Any, record: Any) -> None:
    """Attach a validation to its grader. One for another source text, or an unreadable one, is dropped."""
    try:
        checks = tuple(Check(**{**check, "message": clean(check["message"])}) for check in record["checks"])
        warnings = tuple(map(clean, record["warnings"]))
        validation = Validation(checks, warnings, record["isolation"], record["sha256"], claimed=True)
    except (KeyError, TypeError):
        return
    if validation.sha256 == grader.source.sha256:
        grader.remember(validation)
