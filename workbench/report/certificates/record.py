"""`Certificate`: evidence about graders, as plain data with digests that identify the part that is no longer valid."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from workbench.core.display import bundle
from workbench.core.display_text import one_line
from workbench.core.errors import FormatError
from workbench.core.files import write_atomically
from workbench.core.higher_level import higher_level
from workbench.report.certificates.card import as_html
from workbench.report.certificates.digests import SUITE, digest, entries_of, fingerprints_of
from workbench.report.certificates.parts import Certified, LabelCounts, seals
from workbench.report.certificates.text import as_markdown, as_text

__all__ = ["VERSION", "Certificate", "schema"]

VERSION = 1


@dataclass(frozen=True, repr=False)
class Certificate:
    """Evidence about graders: checks, the data they ran on, error rates, probes. Made by `workbench.certificate`.

    Its digests detect later changes, accidental or deliberate. They are not a signature: the author of a false
    certificate can compute them, too. So a loaded certificate is only a claim, and graders are validated again.

    Attributes:
        version: Of this record.
        made: Date and time in UTC, such as "2026-11-22T10:00:00Z".
        workbench: Release that made it.
        rows: Rows of the data.
        data_sha256: Digest of all that graders saw of them, in order; see `workbench.report.certificates.digests`.
        labels: The labels; None if there were none.
        suite: A digest by the name of each setting of the suite itself.
        graders: The certified data of each.
        digests: A digest of each field above.
        sha256: Over all fields, those of the graders included.
        claimed: Read from a file: not verified here.
    """

    version: int
    made: str
    workbench: str
    rows: int
    data_sha256: str
    labels: LabelCounts | None
    suite: Mapping[str, str]
    graders: tuple[Certified, ...]
    digests: Mapping[str, str] = field(default_factory=dict)
    sha256: str = ""
    claimed: bool = field(default=False, compare=False)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def sealed(self) -> Self:
        """The same with digests of its current fields."""
        graders = tuple(replace(grader, digests=seals(grader)) for grader in self.graders)
        certificate = replace(self, graders=graders)
        return replace(certificate, digests=seals(certificate), sha256=certificate._content_digest())  # noqa: SLF001 (its own class)

    def spec(self) -> dict[str, Any]:
        """The certificate as a plain dict, for JSON."""
        values = json.loads(json.dumps(asdict(self)))
        del values["claimed"]
        return dict(values)

    @classmethod
    def build(cls, spec: Any, where: str = "certificate") -> Self:
        """The certificate that a spec claims. `check` tests whether it is valid.

        Raises:
            FormatError: It is not a certificate; names the path.
        """
        _check_schema(spec, where)
        names = [grader["name"] for grader in spec["graders"]]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise FormatError(
                "duplicate grader in the certificate", where=where, found=one_line(repr(twice), 80)
            )
        labels = spec["labels"] and LabelCounts(**spec["labels"])
        graders = tuple(map(Certified.build, spec["graders"]))
        return cls(**{**spec, "labels": labels, "graders": graders, "claimed": True})

    def check(self, graders: Any) -> tuple[str, ...]:
        """What is no longer valid, one sentence per part; empty if everything is valid.

        Args:
            graders: A suite, a grader, or a list of graders: the alleged subject of the certificate.
        """
        altered = {(name, part): sentence for name, part, sentence in self._altered()}
        differences = [
            sentence
            for name, part, sentence in self._differences(graders)
            if (name, part)
            not in altered  # the record itself was changed there, so the comparison means nothing
        ]
        return (*altered.values(), *differences)

    def __getitem__(self, name: str) -> Certified:
        """The certified data of the grader with this name.

        Raises:
            KeyError: Unknown name.
        """
        found = {grader.name: grader for grader in self.graders}
        if name not in found:
            raise KeyError(f"no grader {name!r} is certified; there are {', '.join(found)}")
        return found[name]

    def _altered(self) -> Iterator[tuple[str, str, str]]:
        """Fields that differ from their digests: grader (or SUITE), field and sentence."""
        is_content = self._content_digest() == self.sha256
        wrong = [(SUITE, name) for name in _unlike(self)]
        wrong += [(grader.name, name) for grader in self.graders for name in _unlike(grader)]
        for grader, name in wrong:
            owner = f" of {one_line(repr(grader), 80)}" if grader else ""
            yield grader, name, f"the {'digest of the ' if is_content else ''}field {name}{owner} was changed"
        if not is_content and not wrong:
            yield SUITE, "sha256", "the field sha256 was changed, or another field together with its digest"

    def _differences(self, graders: Any) -> Iterator[tuple[str, str, str]]:
        """Graders that are not the certified ones: grader, field of the record and sentence."""
        here = [entry.name for entry in entries_of(graders)]
        current = fingerprints_of(graders)
        certified = {SUITE: self.suite, **{grader.name: grader.settings for grader in self.graders}}
        for name in dict.fromkeys([*here, *current]):
            if name not in certified:
                yield name, "graders", f"the grader {one_line(repr(name), 80)} is not certified"
        for name, settings in certified.items():
            if name not in current:
                yield name, "graders", f"the grader {one_line(repr(name), 80)} is missing"
                continue
            field_name = "settings" if name else "suite"
            for setting in changed_settings(settings, current[name]):
                yield name, field_name, f"{setting_phrase(setting, name)} has changed since"

    def _content_digest(self) -> str:
        """SHA-256 over all fields, without its digests."""
        values = asdict(self)
        for part in (values, *values["graders"]):
            del part["digests"]
        return digest({name: value for name, value in values.items() if name not in {"sha256", "claimed"}})

    @property
    def markdown(self) -> str:
        """The certificate as Markdown, for a model card or a pull request."""
        return as_markdown(self)

    def to_markdown(self, path: str | Path) -> Path:
        """Write the certificate as a Markdown file.

        Raises:
            FormatError: The file cannot be written.
        """
        return write_atomically(path, self.markdown)

    def to_html(self, path: str | Path) -> Path:
        """Write the certificate as one self-contained HTML page.

        Raises:
            FormatError: The file cannot be written.
        """
        written: Path = higher_level("write_certificate")(self, path)
        return written

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        names = ", ".join(one_line(repr(grader.name), 80) for grader in self.graders[:5])
        more = f" and {len(self.graders) - 5} more" if len(self.graders) > 5 else ""
        return f"Certificate({names}{more}, {self.rows:,} rows, {self.made[:10]})"

    def _repr_html_(self) -> str:
        return as_html(self)

    def _repr_markdown_(self) -> str:
        return self.markdown

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return bundle(self)


def changed_settings(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Names of settings whose digests differ, in order; the source first."""
    names = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
    return sorted(names, key=lambda name: name != "source")


def setting_phrase(setting: str, name: str) -> str:
    """Such as "the source of 'exact'" and "the setting 'ignore_case' of 'exact'"."""
    owner = one_line(repr(name), 80) if name else "the suite"
    return (
        f"the source of {owner}"
        if setting == "source"
        else f"the setting {one_line(repr(setting), 80)} of {owner}"
    )


def _unlike(part: Certificate | Certified) -> list[str]:
    """Fields that differ from the stored digests."""
    return [name for name, value in seals(part).items() if part.digests.get(name) != value]


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of a certificate (draft 2020-12)."""
    text = files("workbench.report.certificates").joinpath("certificate.schema.json").read_text("utf-8")
    return dict(json.loads(text))


def _check_schema(spec: Any, where: str) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    try:
        error = best_match(Draft202012Validator(schema()).iter_errors(spec))
        found = "" if error is None else error.message[:300]
    except RecursionError:
        raise FormatError("the certificate is nested too deeply", where=where) from None
    if error is not None:
        place = f"{where}{error.json_path.removeprefix('$')}"
        raise FormatError("the certificate does not match its schema", where=place, found=found)
