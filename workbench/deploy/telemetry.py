"""Grades as evaluation events of OpenTelemetry: `gen_ai.evaluation.result`, one per row and grader.

Only the package's API is used, so that users choose the exporter: their SDK, or `opentelemetry-instrument`.

Source: the semantic conventions for generative AI (`gen_ai.evaluation.*`), opentelemetry-api 1.45.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from workbench.core.errors import ReportError
from workbench.core.grade import Grade, Status

EVENT = "gen_ai.evaluation.result"
_TRACE = ("trace_id", "context.trace_id", "traceId")
_SPAN = ("span_id", "context.span_id", "spanId")
"""Columns of a row that name the span of its completion."""
_RESPONSE = ("response_id", "gen_ai.response.id")
_EXTRA = "pip install 'grader-workbench[telemetry]'"
_NO_EXPORTER = "configure one: opentelemetry-instrument --logs_exporter otlp workbench ..., or opentelemetry.sdk in Python"


def event_logger() -> Any:
    """The logger that events are sent to.

    Raises:
        ReportError: The package is not installed, or no exporter is configured: events would be lost.
    """
    try:
        logs = importlib.import_module("opentelemetry._logs")
    except ImportError as error:
        raise ReportError("evaluation events need the package opentelemetry-api", hint=_EXTRA) from error
    provider = logs.get_logger_provider()
    if type(provider).__name__ in {"ProxyLoggerProvider", "NoOpLoggerProvider"}:
        raise ReportError(
            "no exporter of OpenTelemetry is configured", found=type(provider).__name__, hint=_NO_EXPORTER
        )
    return logs.get_logger("grader-workbench")


def emit_evaluations(report: Any) -> int:
    """Send an event for each grade of a report, failed ones with `error.type`; skipped rows have no event.

    A row with the columns `trace_id` and `span_id`, as traces have them, is linked to that span.

    Args:
        report: The report.

    Returns:
        The number of events.

    Raises:
        ReportError: As `event_logger`.
    """
    logger = event_logger()
    record = importlib.import_module("opentelemetry._logs").LogRecord
    count = 0
    for row, (thread, name) in enumerate(zip(report.samples.threads, report.samples.ids, strict=True)):
        columns = thread.metadata if isinstance(thread.metadata, Mapping) else {}
        context = _context(columns)
        for grader, grades in report.grades.items():
            grade = grades[row]
            if grade.status is not Status.SKIPPED:
                attributes = _attributes(grader, grade, str(name), columns)
                logger.emit(record(event_name=EVENT, attributes=attributes, context=context))
                count += 1
    flush = getattr(importlib.import_module("opentelemetry._logs").get_logger_provider(), "force_flush", None)
    if flush is not None:
        flush()
    return count


def _attributes(grader: str, grade: Grade, row: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"gen_ai.evaluation.name": grader, "workbench.row": row}
    if grade.score is not None:
        found["gen_ai.evaluation.score.value"] = float(grade.score)
    if grade.passed is not None:
        found["gen_ai.evaluation.score.label"] = "pass" if grade.passed else "fail"
    if grade.reasoning:
        found["gen_ai.evaluation.explanation"] = grade.reasoning
    if grade.error is not None:
        found["error.type"] = str(grade.error.kind)
    response = next((columns[name] for name in _RESPONSE if isinstance(columns.get(name), str)), None)
    return {**found, "gen_ai.response.id": response} if response else found


def _context(columns: Mapping[str, Any]) -> Any:
    """The context of the row's span; None without its ids."""
    trace, span = (
        next((columns[name] for name in names if columns.get(name)), None) for names in (_TRACE, _SPAN)
    )
    numbers = _number(trace, 32), _number(span, 16)
    if None in numbers:
        return None
    api = importlib.import_module("opentelemetry.trace")
    context = api.SpanContext(*numbers, is_remote=True, trace_flags=api.TraceFlags(api.TraceFlags.SAMPLED))
    return api.set_span_in_context(api.NonRecordingSpan(context))


def _number(text: Any, digits: int) -> int | None:
    """An id of hexadecimal digits as a number; None for any other value."""
    if not isinstance(text, str):
        return None
    text = text.removeprefix("0x")
    try:
        return (int(text, 16) or None) if len(text) == digits else None
    except ValueError:
        return None
