"""A certificate as text: pairs of name and value for a terminal, a comment, Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbench.analysis.diagnostics.finding import percent
from workbench.core.display import markdown_table, markdown_text
from workbench.core.display_text import counted, one_line
from workbench.report.certificates.parts import CertificateLike, Certified, Probed, Rate
from workbench.sandbox.host.limits import CHECKS

__all__ = [
    "NO_SIGNATURE",
    "Facts",
    "as_markdown",
    "as_text",
    "comment_lines",
    "facts",
    "facts_of",
    "heading",
    "title",
]

Facts = list[tuple[str, str]]
"""Pairs of name and value, plain text of one line each; not escaped for HTML or Markdown."""

NO_SIGNATURE = "The digests detect later changes. They are not a signature: graders are validated again when they are loaded."

_CLAIMED = "read from a file; not verified here"


def title(certificate: CertificateLike) -> str:
    """Such as "Certificate of exact and short"."""
    names = [one_line(grader.name, 80) for grader in certificate.graders]
    listed = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"Certificate of {listed}"


def heading(grader: Certified) -> str:
    """Such as "exact (function)"."""
    return f"{one_line(grader.name, 120)} ({one_line(grader.kind, 120)})"


def facts(certificate: CertificateLike) -> Facts:
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
    if not probe.holes:
        return f"{tried}, no hole found" if probe.texts else "nothing could be tried"
    holes = ", ".join(one_line(hole, 40) for hole in probe.holes[:5])
    more = f" and {len(probe.holes) - 5} more" if len(probe.holes) > 5 else ""
    return f"{tried}, {counted(len(probe.holes), 'hole')} found: {holes}{more}"


def as_text(certificate: CertificateLike) -> str:
    """The certificate for a terminal."""
    sections = [(heading(grader), facts_of(grader)) for grader in certificate.graders]
    lines = [title(certificate), *_aligned(facts(certificate))]
    for head, pairs in sections:
        lines += [head, *_aligned(pairs)]
    return "\n".join([*lines, "Intervals are at 95 %.", NO_SIGNATURE])


def _aligned(pairs: Facts) -> list[str]:
    width = max(len(name) for name, _ in pairs)
    return [f"  {name.ljust(width)}  {text}" for name, text in pairs]


def comment_lines(certificate: CertificateLike, graders: Sequence[str] | None = None) -> list[str]:
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


def as_markdown(certificate: CertificateLike) -> str:
    """The certificate for a model card or a pull request."""
    sections = [("", facts(certificate))]
    sections += [
        (f"## {markdown_text(heading(grader), 600)}\n\n", facts_of(grader)) for grader in certificate.graders
    ]
    tables = [f"{head}{_table(pairs)}" for head, pairs in sections]
    return (
        "\n\n".join(
            [f"# {markdown_text(title(certificate), 600)}", *tables, f"Intervals are at 95 %. {NO_SIGNATURE}"]
        )
        + "\n"
    )


def _table(pairs: Facts) -> str:
    return markdown_table(["", ""], pairs, limit=600)
