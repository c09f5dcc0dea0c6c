"""The workbench's file format: JSON with a published schema, stable key order and an exact round trip.

```
{"format": "grader-workbench", "version": 1,
 "graders": [{"kind": "function", "name": ..., "source": {"text": ..., "sha256": ...}, "validation": {...}}]}
```

Reading executes nothing. The schema is `native.schema.json` in this folder; the hash of every source
is checked, and a validation record counts only for the exact text it was made for. A `certificate` names by digests
what it was made for; parts that are no longer valid are reported. It is not a validation record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any, TypeVar

from workbench.core.discovery import import_jsonschema
from workbench.core.errors import FormatError
from workbench.formats.shared import Document, Format, Losses, Reading, register, require_all_validated
from workbench.formats.shared.parsing import parse_json, to_json
from workbench.graders import Grader
from workbench.graders.combine import CombiningRule, Entry, Gate
from workbench.graders.serialization import from_record, parts, record_of
from workbench.judges import Judge
from workbench.report.certificate import Certificate
from workbench.run.suite import Suite

FORMAT, VERSION = "grader-workbench", 1


@cache
def schema() -> dict[str, Any]:
    """The published JSON Schema of the format (draft 2020-12)."""
    text = files("workbench.formats.platforms.native").joinpath("native.schema.json").read_text("utf-8")
    return dict(json.loads(text))


def write(
    graders: Grader | Entry | Iterable[Grader | Entry] | Suite,
    *,
    allow_unvalidated: bool = False,
    certificate: Certificate | None = None,
) -> str:
    """The graders in the format, deterministic.

    Raises:
        NotValidatedError: A grader is not validated and `allow_unvalidated` is not set.
        FormatError: No graders, duplicate names, a value JSON cannot represent, or an invalid certificate.
    """
    suite = as_suite(graders)
    if not allow_unvalidated:
        require_all_validated(suite)
    return _text(suite, certificate_for(suite, certificate))


def _text(suite: Suite, certificate: Certificate | None) -> str:
    records = [record_of(grader) for grader in suite.graders]
    document = {"format": FORMAT, "version": VERSION, "graders": records}
    if not suite.plain:
        document["suite"] = _suite_record(suite)
    if certificate is not None:
        document["certificate"] = certificate.spec()
    return to_json(document)


def certificate_for(suite: Suite, certificate: Certificate | None) -> Certificate | None:
    """The certificate to write with a suite: the given one, or the suite's as long as all of it is valid.

    Raises:
        FormatError: The given one is not valid for these graders.
    """
    if certificate is None:
        came = suite.certificate
        return came if came is not None and not came.check(suite) else None
    if broken := certificate.check(suite):
        more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
        raise FormatError(
            "the certificate is not valid for these graders", where=repr(certificate),
            found="; ".join(broken[:3]) + more, hint="make a new one: wb.certificate(graders, report)",
        )  # fmt: skip
    return certificate


def as_suite(graders: Grader | Entry | Iterable[Grader | Entry] | Suite) -> Suite:
    """The given graders as a suite.

    Raises:
        TypeError: Something that is not a grader.
        FormatError: No graders, or duplicate names.
    """
    if isinstance(graders, Suite):
        return graders
    given: Any = graders
    if not isinstance(given, Grader | Entry | Iterable):
        found = "a function without @wb.grader above it" if callable(given) else type(given).__name__
        raise TypeError(f"expected a grader, an entry, a list of them or a Suite, not {found}")
    items = [graders] if isinstance(graders, Grader | Entry) else list(graders)
    for item in items:
        if not isinstance(item, Grader | Entry):
            raise TypeError(f"only graders can be saved, not {type(item).__name__}")
    if not items:
        raise FormatError("there are no graders to write")
    try:
        return Suite(items)
    except ValueError as error:
        raise FormatError(str(error)) from None


def _suite_record(suite: Suite) -> dict[str, Any]:
    """The suite with its graders as indices of the list above."""
    spec = suite.spec()
    # By index, so that a source, its hash and its validation record are in the file only once.
    spec["entries"] = [{**entry, "grader": at} for at, entry in enumerate(spec["entries"])]
    return spec


def read(text: str, *, where: str = "text", trust: bool = False) -> Suite:
    """The graders in a text of the format. See `load`.

    Raises:
        FormatError: With the place in the file, what was found and what was expected.
    """
    document = parse_json(text, where)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(
            "not a grader workbench file", where=where, found=_found_format(document),
            expected=f'a JSON object with "format": "{FORMAT}"',
        )  # fmt: skip
    if document.get("version") != VERSION:
        raise FormatError(
            "the file has another version of the format", where=where, found=repr(document.get("version"))[:40],
            expected=str(VERSION), hint="upgrade the workbench, or save the graders again with this one",
        )  # fmt: skip
    _check_schema(document, where)
    graders = [
        _grader(record, f"{where}, graders[{i}]", trust=trust) for i, record in enumerate(document["graders"])
    ]
    claim = document.get("certificate")
    certificate = None if claim is None else Certificate.build(claim, f"{where}, certificate")
    record = document.get("suite") or {"entries": [{"grader": at} for at in range(len(graders))]}
    return _made(lambda: _suite(record, graders, where, certificate), f"{where}, suite")


T = TypeVar("T")


def _made(make: Callable[[], T], where: str) -> T:
    """The result of `make`; its errors are re-raised with their path."""
    try:
        return make()
    except FormatError as error:
        place = error.where if error.where.startswith(where.partition(",")[0]) else where
        raise FormatError(
            error.what, where=place, found=error.found, expected=error.expected, hint=error.hint
        ) from None
    except (ValueError, TypeError, ArithmeticError) as error:
        raise FormatError("cannot create this part", where=where, found=str(error)[:300]) from None


def _suite(
    record: Mapping[str, Any], graders: list[Grader], where: str, certificate: Certificate | None
) -> Suite:
    for at, entry in enumerate(record["entries"]):
        if entry["grader"] >= len(graders):
            raise FormatError("an entry names an unknown grader", where=f"{where}, suite.entries[{at}]")
    entries = [{**entry, "grader": graders[entry["grader"]]} for entry in record["entries"]]
    rule, gate = record.get("combine"), record.get("gate")
    return Suite(
        [
            _made(partial(Entry.build, entry), f"{where}, suite.entries[{at}]")
            for at, entry in enumerate(entries)
        ],
        combine=None if rule is None else _made(lambda: CombiningRule.build(rule), f"{where}, suite.combine"),
        gate=None if gate is None else _made(lambda: Gate.build(gate), f"{where}, suite.gate"),
        name=record.get("name", ""),
        description=record.get("description", ""),
        certificate=certificate,
    )


def _found_format(document: Any) -> str:
    if not isinstance(document, dict):
        return f"a JSON {type(document).__name__}"
    name = document.get("format")
    return (
        f'"format": {name!r}'[:80] if name is not None else f"keys {', '.join(map(repr, list(document)[:8]))}"
    )


def _check_schema(document: Any, where: str) -> None:
    jsonschema = import_jsonschema()

    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema()).iter_errors(document))
    if error is not None:
        raise FormatError(
            "the file does not match the format's schema",
            where=f"{where}, {error.json_path}",
            found=error.message[:300],
        )


def _grader(record: dict[str, Any], where: str, *, trust: bool) -> Grader:
    return _made(lambda: from_record(record, trust=trust), where)


def _note_models(suite: Suite, losses: Losses) -> None:
    """Note judges without a model: a user of the file has to set which one is called."""
    for entry in suite.entries:
        for part in parts(entry.grader):
            if isinstance(part, Judge) and not part.model:
                losses.note(entry.name, "model", "the judge has none: set WORKBENCH_MODEL to choose it")


def _write(suite: Suite, losses: Losses) -> Document:
    _note_models(suite, losses)
    return Document(_text(suite, losses.certificate))


def _read(reading: Reading) -> Suite:
    return read(reading.text, where=reading.where, trust=reading.trust)


def _detect(document: Any, text: str) -> int:  # noqa: ARG001
    return 2 if isinstance(document, dict) and document.get("format") == FORMAT else 0


register(
    Format(
        "native",
        "grader workbench's own JSON",
        ".json",
        _read,
        _write,
        _detect,
        takes_certificate=True,
        label="native JSON",
    )
)
