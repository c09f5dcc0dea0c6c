"""A report, or a certificate, as one self-contained HTML file: no script, no request, every text escaped."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.analysis.finding import joint_line
from workbench.analysis.finding_groups import finding_groups
from workbench.core.discovery import higher_level
from workbench.core.display import DisplayBlock, Folded, TableBlock, html_of
from workbench.core.display_html import STYLE
from workbench.core.display_text import number, shown, visible
from workbench.core.errors import ReportError
from workbench.core.files import write_atomically
from workbench.report.certificate import NO_SIGNATURE, facts, facts_of, heading, title
from workbench.report.finding_blocks import group_blocks, met_blocks, ordered
from workbench.report.report_blocks import (
    grader_lines,
    grader_table,
    histogram_html,
    zero_variance_cells,
)
from workbench.report.settings import unused_labels

if TYPE_CHECKING:
    from workbench.analysis.finding import Finding
    from workbench.report import Report
    from workbench.report.certificate import Certificate


_MAX_ROWS, _MAX_ROWS_IN_ALL = 10, 60  # rows shown with one finding, and approximate total
_MAX_COMPLETION, _MAX_OTHER_TEXT = 2_000, 500  # characters of a completion, and of any other text
_UNCUT = 1_000_000  # characters of a cell, which is cut before; code points make it longer
_HEADS = ("row", "sample", "prompt", "completion", "reference", "score", "reasoning or error")
_MAX_SOURCE = 64 * 1024  # characters of a grader's source: the limit of what can be captured


def write_html(
    report: Report,
    path: str | Path,
    *,
    title: str = "Grader report",
    generated: str | None = None,
    versions: Mapping[str, str] | None = None,
    interactive: bool = False,
    certifications: Sequence[Any] = (),
) -> Path:
    """Write `report` as one self-contained file, completely or not at all.

    It contains the summary, the distributions, the findings with up to 10 rows each (completions cut at
    2,000 characters, other texts at 500), the graders' source if the report has it, the isolation
    label, versions and date. A content policy in the page forbids every request; without `interactive`
    it also forbids scripts.

    Args:
        report: The report to write.
        path: The file; an existing one is replaced, and unchanged if anything fails.
        title: Heading of the page.
        generated: Date and time to print; now (UTC) by default.
        versions: Names and versions to print; workbench, Python, numpy and pandas by default.
        interactive: Add every figure that fits the report, with plotly's script from the installed package: about 5 MB
            instead of under 300 kB.
        certifications: Of judges of the report, as `wb.certify` returns them; they are shown before the findings.

    Returns:
        The path written.

    Raises:
        FormatError: The file cannot be written.
        ReportError: A certification of a judge that is not in the report.
    """
    text = render_html(
        report, title=title, generated=generated, versions=versions, interactive=interactive, certifications=certifications
    )  # fmt: skip
    return write_atomically(path, text)


def render_html(
    report: Report,
    *,
    title: str = "Grader report",
    generated: str | None = None,
    versions: Mapping[str, str] | None = None,
    interactive: bool = False,
    certifications: Sequence[Any] = (),
) -> str:
    """The page as text; see `write_html`."""
    for one in certifications:
        if one.judge not in report.graders:
            raise ReportError(
                "the certification is of a judge that is not in the report", found=repr(one.judge)[:80],
                expected=", ".join(report.graders), hint="leave it out, or run the judge of this name",
            )  # fmt: skip
    groups = finding_groups(ordered(report.findings))
    page = template("report.html").render(
        title=title,
        generated=generated or f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        versions=_versions() if versions is None else dict(versions),
        rows=len(report),
        isolation=report.isolation,
        gate="" if report.gate is None else str(report.gate),
        facts=[*filter(None, [unused_labels(report.samples, report.labels)]), *report.facts],
        notes=report.samples.notes,
        graders=[_grader(report, name) for name in report.graders],
        lines=_safe(html_of(grader_table(lambda: grader_lines(report)))),
        findings=[
            _safe(html_of([one]))
            for one in group_blocks(report, groups, lambda finding, _: _evidence(report, finding))
        ],
        met=_safe(html_of(met_blocks(report))),
        certifications=[_safe(html_of(one.blocks)) for one in certifications],
        joint=joint_line(report.findings),
        sources=_sources(report),
        figures=_figures(report) if interactive else [],
    )
    # A lone surrogate in a text that did not pass through `visible`, such as the title, must not fail the write.
    return str(page).encode("utf-8", "backslashreplace").decode()


def template(name: str) -> Any:
    """A template of this folder, with autoescaping."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("workbench.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(shown=shown, number=number)
    environment.globals.update(style=_safe(STYLE))
    return environment.get_template(name)


def _versions() -> dict[str, str]:
    names = {"workbench": "grader-workbench", "numpy": "numpy", "pandas": "pandas"}
    versions = {"Python": platform.python_version()}
    for name, package in names.items():
        with suppress(PackageNotFoundError):
            versions[name] = version(package)
    return versions


def _grader(report: Report, name: str) -> dict[str, Any]:
    histogram = report.histograms[name]
    drawing = _safe(histogram_html(report, name, width=300, height=72))
    ends = f"{histogram.edges[0]:g}", f"{histogram.edges[-1]:g}"
    measures = {str(column): value for column, value in report.summary.loc[name].items()}
    zero_variance = (zero_variance_cells(report.summary.iloc[[report.graders.index(name)]]) or ["-"])[0]
    return {**measures, "zero_variance": zero_variance, "name": name, "bars": drawing, "ends": ends}


def _evidence(report: Report, finding: Finding) -> DisplayBlock | None:
    """Rows of a finding, with their texts; None for none."""
    limit = min(_MAX_ROWS, max(2, _MAX_ROWS_IN_ALL // len(report.findings)))
    frame = report.rows(finding.grader, finding, limit=limit)
    rows = [_row(row, record) for row, record in zip(frame.index, frame.to_dict("records"), strict=True)]
    table = TableBlock(_HEADS, rows, numbers={0, 5}, limit=_UNCUT)
    return Folded(f"{len(rows)} of {len(finding.rows):,} rows of evidence", [table]) if rows else None


def _row(row: int, record: Mapping[Any, Any]) -> list[str]:
    names = ("sample", "prompt", "completion", "reference", "reasoning", "error")
    limits = {"completion": _MAX_COMPLETION}
    texts = {name: shown(_without_nan(record.get(name)), limits.get(name, _MAX_OTHER_TEXT)) for name in names}
    score = number(float(record["score"]))
    return [str(row), *(texts[name] for name in names[:4]), score, texts["error"] or texts["reasoning"]]


def _safe(html: str) -> Any:
    """HTML in which every text is already escaped."""
    from markupsafe import Markup

    return Markup(html)  # noqa: S704


def _without_nan(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124 (NaN is not itself)


def _sources(report: Report) -> Sequence[tuple[str, str]]:
    named = [(name, report.sources[name]) for name in report.graders if name in report.sources]
    return [(name, visible(text[:_MAX_SOURCE])) for name, text in named]


def _figures(report: Report) -> list[tuple[str, Any]]:
    """Title and drawing of every registered figure of the whole report that fits."""
    kinds = higher_level("figures_for")(report) if report.graders else []
    return [
        (kind.title, _drawing(kind.draw(report, None), has_script=at == 0)) for at, kind in enumerate(kinds)
    ]


def _drawing(figure: Any, *, has_script: bool) -> Any:
    # plotly writes the characters < > and / of the figure's JSON as \u escapes, so no text ends the script.
    text = figure.to_html(
        full_html=False, include_plotlyjs=has_script, include_mathjax=False, config={"displaylogo": False}
    )
    return _safe(text)


def write_certificate(certificate: Certificate, path: str | Path) -> Path:
    """Write the page, completely or not at all.

    Raises:
        FormatError: The file cannot be written.
    """
    return write_atomically(path, render_certificate(certificate))


def render_certificate(certificate: Certificate) -> str:
    """The page as text."""
    page = template("certificate.html").render(
        title=title(certificate),
        facts=facts(certificate),
        graders=[(heading(grader), facts_of(grader)) for grader in certificate.graders],
        remark=NO_SIGNATURE,
    )
    return str(page)
