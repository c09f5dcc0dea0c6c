"""A grader as plain data and back, as files and the store keep it: whose source it is and whom to trust left out.

What comes back counts as *imported*: whoever can write the file or the database can write any source into it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from workbench.errors import FormatError, WorkbenchError
from workbench.graders import Grader, ScriptGrader, from_spec
from workbench.judges.client.url_policy import service_sha256
from workbench.judges.kinds.agent.agent_file import AgentFile
from workbench.judges.kinds.agent.tools import tools_sha256
from workbench.sandbox.host.limits import IMPORTED_MB, IMPORTED_SECONDS
from workbench.sandbox.host.text import clean
from workbench.sandbox.host.validation import Check, Validation

__all__ = ["from_record", "held", "parts", "record_of", "spec_of"]

_JUDGED = frozenset({"trusted_sha256", "imported", "trust"})
"""What is for the reader to judge."""
_DATA = frozenset(
    {"agent", "schema", "output_schema", "sampling_params", "examples", "template_variables", "headers"}
)
"""Fields that hold somebody's data: what looks like a grader in there is none."""


def parts(grader: Grader) -> Iterator[Grader]:
    """A grader and every grader inside it."""
    yield grader
    inner = [entry.grader for entry in getattr(grader, "entries", ())]
    held = getattr(grader, "grader", None)
    for one in [*inner, *([held] if isinstance(held, Grader) else [])]:
        yield from parts(one)


def spec_of(grader: Grader) -> dict[str, Any]:
    """The grader's spec without what is for its reader to judge: where a source comes from, whom to trust.

    Raises:
        CaptureError: It has no form that can be kept, such as a function of a notebook without source.
    """
    spec: dict[str, Any] = _bare(grader.spec())
    return spec


def record_of(grader: Grader) -> dict[str, Any]:
    """The same with the proof of its source, where there is one."""
    record = spec_of(grader)
    proof = getattr(grader, "validation", None)
    if isinstance(proof, Validation):
        told = asdict(proof) | {"ok": proof.ok}
        record["validation"] = {key: told[key] for key in ("ok", "sha256", "isolation", "checks", "warnings")}
    return record


def _bare(value: Any) -> Any:
    """A spec without what is for its reader to judge."""
    if isinstance(value, list | tuple):
        return [_bare(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    dropped = _JUDGED if "kind" in value else {"imported"} if "sha256" in value else set()
    return {key: one if key in _DATA else _bare(one) for key, one in value.items() if key not in dropped}


def from_record(record: Mapping[str, Any], *, trust: bool = False, own: bool = False) -> Grader:
    """The grader of a record, as somebody else's. Nothing of it runs, and its limits are held; see `held`.

    Args:
        record: As `record_of` makes it.
        trust: Its sources may run even where the machine cannot confine them.
        own: This process has just made the record, and looks how it would read: its limits are left alone.

    Raises:
        FormatError: No dict, of a kind that is not registered here, or with fields that cannot be.
    """
    if not isinstance(record, Mapping):
        raise FormatError("this is no grader", found=type(record).__name__, expected='{"kind": ..., ...}')
    grader = _made({key: one for key, one in record.items() if key != "validation"}, trust=trust)
    if hasattr(grader, "remember") and "validation" in record:
        _attach(grader, record["validation"])
    if not own:
        held(grader)
    return grader


def held(grader: Grader) -> None:
    """Hold the time and memory that code from elsewhere asks for to the ceilings of its kind, and tell what was cut.

    Every way in for graders of others ends here: records of files and stores, and the readers of all formats. What a
    user types is not touched: `dataclasses.replace(grader, timeout=...)` raises a limit again.

    Args:
        grader: As a reader has just made it: nobody else holds it yet, so it is changed in place.
    """
    for one in parts(grader):
        ceilings: Mapping[str, float] = getattr(one, "ceilings", {})
        over = {name: most for name, most in ceilings.items() if getattr(one, name) > most}
        if not over or not _from_elsewhere(one):
            continue
        told = ", ".join(f"{name}={getattr(one, name)!r} to {most:g}" for name, most in over.items())
        for name, most in over.items():
            object.__setattr__(one, name, most)
        warnings.warn(
            f"grader {clean(one.name)!r} was read with limits cut: {told}. Code that comes from elsewhere may ask for "
            f"{IMPORTED_SECONDS:g} s and {IMPORTED_MB:,} MiB at most. Next step: where it needs more, say so yourself: "
            f"dataclasses.replace(grader, {next(iter(over))}=...)",
            stacklevel=2,
        )


def _from_elsewhere(grader: Grader) -> bool:
    source = getattr(grader, "source", grader)
    return bool(getattr(source, "imported", False))


def _made(spec: dict[str, Any], *, trust: bool) -> Grader:
    """The grader of a spec from elsewhere, which may hold anything where a kind's own code expects its fields."""
    try:
        return from_spec(_imported(spec, trust=trust))
    except FormatError:
        raise
    except WorkbenchError as error:
        raise FormatError(
            error.what, where=error.where, found=error.found, expected=error.expected, hint=error.hint
        ) from error
    except (AttributeError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
        found = f"{type(error).__name__}: {error}"[:300]
        raise FormatError("a grader cannot be made from these fields", found=found) from error


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
    if isinstance(kind, str) and kind in _HASHES:
        inner |= {"imported": True, "trusted_sha256": _HASHES[kind](inner) if trust else ""}
    return inner


def _script_hash(spec: dict[str, Any]) -> str:
    script = spec.get("script")
    return ScriptGrader.from_source(script).source.sha256 if isinstance(script, str) else ""


def _tools_hash(spec: dict[str, Any]) -> str:
    agent = spec.get("agent")
    return tools_sha256(AgentFile(agent)) if isinstance(agent, dict) else ""


def _service_hash(spec: dict[str, Any]) -> str:
    return service_sha256(spec.get("url"), spec.get("headers", {}))


_HASHES = {"script": _script_hash, "agent-judge": _tools_hash, "endpoint": _service_hash}
"""Kinds whose source is not in a field of its own, and what of another kind is trusted or not."""


def _attach(grader: Any, record: Any) -> None:
    """A record for another text proves nothing, so it is dropped; so is one that cannot be read."""
    try:
        checks = tuple(Check(**{**check, "message": clean(check["message"])}) for check in record["checks"])
        warnings = tuple(map(clean, record["warnings"]))
        proof = Validation(checks, warnings, record["isolation"], record["sha256"], claimed=True)
    except (KeyError, TypeError):
        return
    if proof.sha256 == grader.source.sha256:
        grader.remember(proof)
