"""`Certificate`: evidence about graders as plain data, with digests that identify what is no longer valid, and its views."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from workbench.analysis.finding import percent
from workbench.core.discovery import higher_level, import_jsonschema
from workbench.core.display import DisplayBlock, Displayed, Heading, Only, Paragraph, TableBlock
from workbench.core.display_text import counted, one_line
from workbench.core.errors import FormatError
from workbench.core.files import write_atomically
from workbench.report.certified import Certified, LabelCounts, Probed, Rate, seals
from workbench.report.digests import SUITE, digest, entries_of, fingerprints_of
from workbench.sandbox.host.program import CHECKS

Facts = list[tuple[str, str]]
"""Pairs of name and value, plain text of one line each; not escaped for HTML or Markdown."""

NO_SIGNATURE = "The digests detect later changes. They are not a signature: graders are validated again when they are loaded."

_CLAIMED = "read from a file; not verified here"


VERSION = 1


@dataclass(frozen=True, repr=False)
class Certificate(Displayed):
    """Evidence about graders: checks, the data they ran on, error rates, probes. Made by `workbench.certificate`.

    Its digests detect later changes, accidental or deliberate. They are not a signature: the author of a false
    certificate can compute them, too. So a loaded certificate is only a claim, and graders are validated again.

    Attributes:
        version: Of this record.
        made: Date and time in UTC, such as "2026-11-22T10:00:00Z".
        workbench: Release that made it.
        rows: Rows of the data.
        data_sha256: Digest of all that graders saw of them, in order; see `workbench.report.digests`.
        labels: The labels; None if there were none.
        suite: A digest by the name of each setting of the suite itself.
        graders: The certified data of each.
        digests: A digest of each field above.
        sha256: Over all fields, those of the graders included.
        claimed: Read from a file: not verified here.
    """

    _label = "Certificate"

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
        return self._repr_markdown_()

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

    def __repr__(self) -> str:
        names = ", ".join(one_line(repr(grader.name), 80) for grader in self.graders[:5])
        more = f" and {len(self.graders) - 5} more" if len(self.graders) > 5 else ""
        return f"Certificate({names}{more}, {self.rows:,} rows, {self.made[:10]})"

    def _blocks(self) -> Iterator[DisplayBlock]:
        shown = self.graders[:_MAX_GRADERS]
        yield Heading(title(self))
        yield from _fact_tables(facts(self))
        for grader in shown:
            yield from _grader_blocks(grader)
        if hidden := self.graders[_MAX_GRADERS:]:
            yield Only("html", [Paragraph(f"and {len(hidden):,} more in .graders", "quiet")])
            yield Only("text markdown", (block for grader in hidden for block in _grader_blocks(grader)))
        yield Only("html markdown", [Paragraph(f"Intervals are at 95 %. {NO_SIGNATURE}", "quiet")])
        yield Only("text", map(Paragraph, ("Intervals are at 95 %.", NO_SIGNATURE)))


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
    text = files("workbench.report").joinpath("certificate.schema.json").read_text("utf-8")
    return dict(json.loads(text))


def _check_schema(spec: Any, where: str) -> None:
    jsonschema = import_jsonschema()

    try:
        error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema()).iter_errors(spec))
        found = "" if error is None else error.message[:300]
    except RecursionError:
        raise FormatError("the certificate is nested too deeply", where=where) from None
    if error is not None:
        place = f"{where}{error.json_path.removeprefix('$')}"
        raise FormatError("the certificate does not match its schema", where=place, found=found)


def title(certificate: Certificate) -> str:
    """Such as "Certificate of exact and short"."""
    names = [one_line(grader.name, 80) for grader in certificate.graders]
    listed = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"Certificate of {listed}"


def heading(grader: Certified) -> str:
    """Such as "exact (function)"."""
    return f"{one_line(grader.name, 120)} ({one_line(grader.kind, 120)})"


def facts(certificate: Certificate) -> Facts:
    """The facts about the whole: date, data, labels, digest."""
    labels = certificate.labels
    made = certificate.made.replace("T", " ").replace("Z", " UTC")
    lines = [
        ("made", f"{made}, by grader workbench {certificate.workbench}"),
        ("data", f"{counted(certificate.rows, 'row')}, sha256 {certificate.data_sha256}"),
        ("labels", f"{labels.good:,} good, {labels.bad:,} bad, sha256 {labels.sha256}" if labels else "none"),
        ("digest", f"sha256 {certificate.sha256}"),
        *([("origin", _CLAIMED)] if certificate.claimed else []),
    ]
    return [(name, one_line(text)) for name, text in lines]


def facts_of(grader: Certified) -> Facts:
    """The facts about one grader."""
    lines = [
        ("source" if "source" in grader.settings else "settings", f"sha256 {grader.sha256}"),
        *(("model", model) for model in grader.models[:5]),
        *_check_lines(grader),
        ("scored", _counts(grader)),
        ("isolation", grader.isolation),
        *_rate_lines(grader),
        ("probe", _probe(grader.probe)),
    ]
    return [(name, one_line(text)) for name, text in lines]


def _check_lines(grader: Certified) -> Iterator[tuple[str, str]]:
    if not grader.validations:
        yield "checks", "none needed: it has no user source"
    for validation in grader.validations:
        passed = [name for name in CHECKS if validation.checks.get(name)]
        count = f"all {len(CHECKS)}" if len(passed) == len(CHECKS) else f"{len(passed)} of {len(CHECKS)}"
        whose = "" if validation.name == grader.name else f" by {one_line(validation.name, 80)}"
        yield (
            "checks",
            f"{count} passed{whose} ({', '.join(passed)}); sandbox: {validation.isolation or 'none'}",
        )


def _counts(grader: Certified) -> str:
    rows = grader.scored + grader.failed + grader.skipped
    share = f" ({percent(grader.scored / rows)})" if rows else ""
    return f"{grader.scored:,} of {counted(rows, 'row')}{share}, {grader.failed:,} failed, {grader.skipped:,} skipped"


def _rate_lines(grader: Certified) -> Iterator[tuple[str, str]]:
    if not grader.has_rates:
        yield "error rates", "unknown: the rows have no labels"
        return
    yield "accepts", f"a score of at least {grader.pass_threshold:g}, unless it returns a verdict itself"
    yield "true positive rate (TPR)", _rate(grader.true_positive_rate, "good rows accepted")
    yield "true negative rate (TNR)", _rate(grader.true_negative_rate, "bad rows rejected")
    yield "false positive rate (rho_0)", _rate(grader.false_positive_rate, "bad rows accepted")
    yield "false negative rate (rho_1)", _rate(grader.false_negative_rate, "good rows rejected")
    yield "J = TPR + TNR - 1", _rate(grader.youden_j, "")


def _rate(rate: Rate | None, what: str) -> str:
    """Such as "0.950 (0.910 to 0.976), 247 of 260 good rows accepted"."""
    if rate is None or rate.value is None:
        kind = what.partition(" ")[0]
        return f"unknown: no {kind} row has a score" if kind else "unknown: needs good and bad rows"
    known = rate.low is not None and rate.high is not None
    interval = f"{rate.low:.3f} to {rate.high:.3f}" if known else "too few rows for an interval"
    rows = f", {rate.count:,} of {rate.of:,} {what}" if rate.count is not None else ""
    return f"{rate.value:.3f} ({interval}){rows}"


def _probe(probe: Probed | None) -> str:
    if probe is None:
        return "none"
    tried = f"{counted(probe.texts, 'text')} tried on {counted(probe.rows, 'row')}"
    if probe.allowed:
        tried += f", {', '.join(one_line(kind, 40) for kind in probe.allowed[:5])} allowed"
    if not probe.holes:
        return f"{tried}, no hole found" if probe.texts else "nothing could be tried"
    holes = ", ".join(one_line(hole, 40) for hole in probe.holes[:5])
    more = f" and {len(probe.holes) - 5} more" if len(probe.holes) > 5 else ""
    return f"{tried}, {counted(len(probe.holes), 'hole')} found: {holes}{more}"


_MAX_GRADERS = 12  # shown in a notebook
_DIGEST = re.compile(r"\b([0-9a-f]{16})[0-9a-f]{48}\b")


def _grader_blocks(grader: Certified) -> Iterator[DisplayBlock]:
    yield Heading(heading(grader), 2)
    yield from _fact_tables(facts_of(grader))


def _fact_tables(pairs: Facts) -> Iterator[DisplayBlock]:
    """In HTML with the first half of each digest only."""
    short = [(name, _DIGEST.sub(r"\1…", text)) for name, text in pairs]
    yield Only("html", [TableBlock(["", ""], short, limit=600)])
    yield Only("text markdown", [TableBlock(["", ""], pairs, limit=600)])


def _aligned(pairs: Facts) -> list[str]:
    width = max(len(name) for name, _ in pairs)
    return [f"  {name.ljust(width)}  {text}" for name, text in pairs]


def comment_lines(certificate: Certificate, graders: Sequence[str] | None = None) -> list[str]:
    """The certificate as lines for a block of `#` comments at the head of a module.

    Each is one line of visible text: no line end, control or bidi character, nothing that ends a comment of Python or
    JavaScript, and no mark that Python reads as the module's encoding.

    Args:
        certificate: The certificate.
        graders: Names of the graders that the module contains; None for all.

    Raises:
        KeyError: A grader that is not certified.
    """
    chosen = certificate.graders if graders is None else [certificate[name] for name in graders]
    lines = ["Certificate: a claim of the exporter, not a signature", *_aligned(facts(certificate))]
    for grader in chosen:
        lines += [heading(grader), *_aligned(facts_of(grader))]
    return [_in_comment(line) for line in lines]


def _in_comment(line: str) -> str:
    # "coding:" in the first two lines would set the module's encoding (PEP 263), "*/" would end JavaScript's comment.
    return re.sub(r"coding(?=[:=])", "coding ", one_line(line, 500)).replace("*/", "* /")
