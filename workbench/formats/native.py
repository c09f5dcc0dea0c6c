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
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

from workbench.errors import FormatError
from workbench.graders import FunctionGrader, Grader, from_spec
from workbench.sandbox.text import clean
from workbench.sandbox.validate import Check, Validation

__all__ = ["FORMAT", "VERSION", "read", "schema", "write"]

FORMAT, VERSION = "grader-workbench", 1
_MAX_DEPTH = 40


@cache
def schema() -> dict[str, Any]:
    """The published JSON Schema of the format (draft 2020-12)."""
    text = files("workbench.formats").joinpath("native.schema.json").read_text("utf-8")
    return dict(json.loads(text))


def write(graders: Iterable[Grader], *, allow_unvalidated: bool = False) -> str:
    """The graders as text of the format, the same text for the same graders.

    Raises:
        NotValidatedError: A grader is not validated and `allow_unvalidated` is not set.
        FormatError: No graders, two of one name, or a value JSON cannot hold.
    """
    items = list(graders)
    for item in items:
        if not isinstance(item, Grader):
            raise TypeError(f"only graders can be saved, not {type(item).__name__}")
    names = [item.name for item in items]
    if not items:
        raise FormatError("there are no graders to write")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise FormatError(f"two graders are called {twice[0]!r}", hint="give one of them another name")
    records = [_record(item, allow_unvalidated=allow_unvalidated) for item in items]
    try:
        text = json.dumps(
            {"format": FORMAT, "version": VERSION, "graders": records},
            indent=2,
            ensure_ascii=False,
            allow_nan=False,
        )
        text.encode()
    except (TypeError, ValueError) as error:
        raise FormatError("a grader holds a value JSON cannot say", found=str(error)) from error
    return text + "\n"


def _record(item: Grader, *, allow_unvalidated: bool) -> dict[str, Any]:
    if not isinstance(item, FunctionGrader):
        return item.spec()
    if not allow_unvalidated:
        item.require_proof()
    record = {key: value for key, value in item.spec().items() if key != "trusted_sha256"}
    # Where a source comes from is for the reader of a file to judge, not for the file to say.
    record["source"] = {key: value for key, value in record["source"].items() if key != "imported"}
    proof = item.validation
    return record if proof is None else {**record, "validation": _proof_record(proof)}


def _proof_record(proof: Validation) -> dict[str, Any]:
    record = asdict(proof) | {"ok": proof.ok}
    return {key: record[key] for key in ("ok", "sha256", "isolation", "checks", "warnings")}


def read(text: str, *, where: str = "text", trust: bool = False) -> list[Grader]:
    """The graders in a text of the format. See `load`.

    Raises:
        FormatError: With the place in the file, what was found and what was expected.
    """
    document = _parse(text, where)
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
    names = [item.name for item in graders]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise FormatError(f"two graders are called {twice[0]!r}", where=where)
    return graders


def _parse(text: str, where: str) -> Any:
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_no_twins)
    except RecursionError:
        raise FormatError(
            "the file is nested too deeply", where=where, expected=f"at most {_MAX_DEPTH} levels"
        ) from None
    except json.JSONDecodeError as error:
        raise FormatError(
            "the file is not JSON",
            where=f"{where}, line {error.lineno}, column {error.colno}",
            found=error.msg,
        ) from None
    except ValueError as error:
        raise FormatError("the file is not plain JSON", where=where, found=str(error)) from None
    _check_depth(document, where)
    return document


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key given twice: two readers would see two different graders."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(
            f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in one object"
        )
    return found


def _check_depth(document: Any, where: str) -> None:
    level: list[Any] = [document]
    for _ in range(_MAX_DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise FormatError("the file is nested too deeply", where=where, expected=f"at most {_MAX_DEPTH} levels")


def _children(item: Any) -> Sequence[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else ()


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
    fields = {key: value for key, value in record.items() if key != "validation"}
    if isinstance(fields.get("source"), dict):
        trusted = fields["source"].get("sha256", "") if trust else ""
        fields |= {"source": {**fields["source"], "imported": True}, "trusted_sha256": trusted}
    try:
        item = from_spec(fields)
    except FormatError as error:
        raise FormatError(
            error.what, where=where, found=error.found, expected=error.expected, hint=error.hint
        ) from None
    if isinstance(item, FunctionGrader) and "validation" in record:
        _attach_proof(item, record["validation"])
    return item


def _attach_proof(item: FunctionGrader, record: dict[str, Any]) -> None:
    """A record for another text proves nothing, so it is dropped."""
    checks = tuple(Check(**{**check, "message": clean(check["message"])}) for check in record["checks"])
    proof = Validation(
        checks, tuple(map(clean, record["warnings"])), record["isolation"], record["sha256"], claimed=True
    )
    if proof.sha256 == item.source.sha256:
        item.remember(proof)
