"""Our own file format: JSON with a published schema, stable key order and an exact round trip.

```
{"format": "grader-workbench", "version": 1,
 "graders": [{"kind": "function", "name": ..., "source": {"text": ..., "sha256": ...}, "validation": {...}}]}
```

Reading executes nothing. The schema is `native.schema.json` beside this file; the hash of every source
is checked, and a validation record counts only for the very text it was made for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cache, partial
from importlib.resources import files
from typing import Any, TypeVar

import workbench.judges  # noqa: F401 (its kinds register themselves)
from workbench.errors import FormatError
from workbench.formats.base import Document, Format, Losses, Reading, parts, register
from workbench.formats.parsing import parse_json, to_json
from workbench.graders import Grader, from_spec
from workbench.graders.combine import Entry, Gate, Rule
from workbench.sandbox.text import clean
from workbench.sandbox.validate import Check, Validation
from workbench.suite import Suite

__all__ = ["FORMAT", "VERSION", "read", "schema", "write"]

FORMAT, VERSION = "grader-workbench", 1


@cache
def schema() -> dict[str, Any]:
    """The published JSON Schema of the format (draft 2020-12)."""
    text = files("workbench.formats").joinpath("native.schema.json").read_text("utf-8")
    return dict(json.loads(text))


def write(graders: Iterable[Grader] | Suite, *, allow_unvalidated: bool = False) -> str:
    """The graders as text of the format, the same text for the same graders.

    Raises:
        NotValidatedError: A grader is not validated and `allow_unvalidated` is not set.
        FormatError: No graders, two of one name, or a value JSON cannot hold.
    """
    suite = graders if isinstance(graders, Suite) else _as_suite(list(graders))
    records = [_record(item, allow_unvalidated=allow_unvalidated) for item in suite.graders]
    document = {"format": FORMAT, "version": VERSION, "graders": records}
    return to_json(document if suite.plain else {**document, "suite": _suite_record(suite)})


def _as_suite(items: list[Any]) -> Suite:
    for item in items:
        if not isinstance(item, Grader | Entry):
            raise TypeError(f"only graders can be saved, not {type(item).__name__}")
    if not items:
        raise FormatError("there are no graders to write")
    try:
        return Suite(items)
    except ValueError as error:
        raise FormatError(str(error)) from None


def _record(item: Grader, *, allow_unvalidated: bool) -> dict[str, Any]:
    if not allow_unvalidated:
        for one in parts(item):
            if hasattr(one, "require_proof"):
                one.require_proof()
    record: dict[str, Any] = _bare(item.spec())
    proof = getattr(item, "validation", None)
    return record if proof is None else {**record, "validation": _proof_record(proof)}


_PLAIN = {"agent", "schema", "output_schema", "sampling_params", "examples", "template_variables", "headers"}
"""Fields that hold somebody's data: what looks like a grader in there is none."""


def _bare(value: Any) -> Any:
    """A spec without what is for the reader of a file to judge: where a source comes from, whom to trust."""
    if isinstance(value, list | tuple):
        return [_bare(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    judged = {"trusted_sha256", "imported", "trust"}
    dropped = judged if "kind" in value else {"imported"} if "sha256" in value else set()
    return {key: one if key in _PLAIN else _bare(one) for key, one in value.items() if key not in dropped}


def _suite_record(suite: Suite) -> dict[str, Any]:
    """The suite with its graders by their place in the list above."""
    spec = suite.spec()
    spec["entries"] = [{**entry, "grader": at} for at, entry in enumerate(spec["entries"])]
    return spec


def _proof_record(proof: Validation) -> dict[str, Any]:
    record = asdict(proof) | {"ok": proof.ok}
    return {key: record[key] for key in ("ok", "sha256", "isolation", "checks", "warnings")}


def read(text: str, *, where: str = "text", trust: bool = False) -> Suite:
    """The graders in a text of the format. See `load`.

    Raises:
        FormatError: With the place in the file, what was found and what was expected.
    """
    document = parse_json(text, where)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(
            "this is no grader workbench file", where=where, found=_found_format(document),
            expected=f'a JSON object with "format": "{FORMAT}"',
        )  # fmt: skip
    if document.get("version") != VERSION:
        raise FormatError(
            "the file is of another version of the format", where=where, found=repr(document.get("version"))[:40],
            expected=str(VERSION), hint="upgrade the workbench, or save the graders again with this one",
        )  # fmt: skip
    _check_schema(document, where)
    graders = [
        _grader(record, f"{where}, graders[{i}]", trust=trust) for i, record in enumerate(document["graders"])
    ]
    record = document.get("suite")
    return _made(
        lambda: Suite(graders) if record is None else _suite(record, graders, where), f"{where}, suite"
    )


T = TypeVar("T")


def _made(make: Callable[[], T], where: str) -> T:
    """What `make` makes, with whatever it refuses told with its place."""
    try:
        return make()
    except FormatError as error:
        place = error.where if error.where.startswith(where.partition(",")[0]) else where
        raise FormatError(
            error.what, where=place, found=error.found, expected=error.expected, hint=error.hint
        ) from None
    except (ValueError, TypeError, ArithmeticError) as error:
        raise FormatError("this part cannot be made", where=where, found=str(error)[:300]) from None


def _suite(record: Mapping[str, Any], graders: list[Grader], where: str) -> Suite:
    for at, entry in enumerate(record["entries"]):
        if entry["grader"] >= len(graders):
            raise FormatError(
                "an entry names a grader that is not there", where=f"{where}, suite.entries[{at}]"
            )
    entries = [{**entry, "grader": graders[entry["grader"]]} for entry in record["entries"]]
    rule, gate = record.get("combine"), record.get("gate")
    return Suite(
        [_made(partial(Entry.build, one), f"{where}, suite.entries[{at}]") for at, one in enumerate(entries)],
        combine=None if rule is None else _made(lambda: Rule.build(rule), f"{where}, suite.combine"),
        gate=None if gate is None else _made(lambda: Gate.build(gate), f"{where}, suite.gate"),
        name=record.get("name", ""),
        description=record.get("description", ""),
    )


def _found_format(document: Any) -> str:
    if not isinstance(document, dict):
        return f"a JSON {type(document).__name__}"
    found = document.get("format")
    return (
        f'"format": {found!r}'[:80]
        if found is not None
        else f"keys {', '.join(map(repr, list(document)[:8]))}"
    )


def _check_schema(document: Any, where: str) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema()).iter_errors(document))
    if error is not None:
        raise FormatError(
            "the file does not fit the format", where=f"{where}, {error.json_path}", found=error.message[:300]
        )


def _grader(record: dict[str, Any], where: str, *, trust: bool) -> Grader:
    spec = _imported({key: value for key, value in record.items() if key != "validation"}, trust=trust)
    item = _made(lambda: from_spec(spec), where)
    if hasattr(item, "remember") and "validation" in record:
        _attach_proof(item, record["validation"])
    return item


def _imported(value: Any, *, trust: bool) -> Any:
    """A spec whose every source counts as somebody else's, with trust given to their hashes or not."""
    if isinstance(value, list):
        return [_imported(one, trust=trust) for one in value]
    if not isinstance(value, dict):
        return value
    inner = {key: one if key in _PLAIN else _imported(one, trust=trust) for key, one in value.items()}
    source = inner.get("source")
    if isinstance(source, dict) and "sha256" in source:
        inner["source"] = {**source, "imported": True}
        inner["trusted_sha256"] = source["sha256"] if trust else ""
    if inner.get("kind") == "custom":
        inner |= {"imported": True, "trust": trust}
    if inner.get("kind") == "script":
        inner |= {"imported": True, "trusted_sha256": _script_hash(inner) if trust else ""}
    if inner.get("kind") == "agent-judge":
        inner |= {"imported": True, "trusted_sha256": _tools_hash(inner) if trust else ""}
    return inner


def _tools_hash(spec: dict[str, Any]) -> str:
    from workbench.judges.agent_file import AgentFile
    from workbench.judges.agent_tools import tools_sha256

    agent = spec.get("agent")
    return tools_sha256(AgentFile(agent)) if isinstance(agent, dict) else ""


def _script_hash(spec: dict[str, Any]) -> str:
    from workbench.graders import ScriptGrader

    script = spec.get("script")
    return ScriptGrader.from_source(script).source.sha256 if isinstance(script, str) else ""


def _attach_proof(item: Any, record: dict[str, Any]) -> None:
    """A record for another text proves nothing, so it is dropped."""
    checks = tuple(Check(**{**check, "message": clean(check["message"])}) for check in record["checks"])
    proof = Validation(
        checks, tuple(map(clean, record["warnings"])), record["isolation"], record["sha256"], claimed=True
    )
    if proof.sha256 == item.source.sha256:
        item.remember(proof)


def _write(suite: Suite, losses: Losses) -> Document:  # noqa: ARG001 (nothing is lost)
    return Document(write(suite))


def _read(reading: Reading) -> Suite:
    return read(reading.text, where=reading.where, trust=reading.trust)


def _detect(document: Any, text: str) -> int:  # noqa: ARG001
    return 2 if isinstance(document, dict) and document.get("format") == FORMAT else 0


register(Format("native", "grader workbench's own JSON", ".json", _read, _write, _detect))
