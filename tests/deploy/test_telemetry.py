"""Grades as evaluation events of OpenTelemetry."""

import json
import subprocess
import sys

import pytest

import workbench as wb
from workbench.cli import main
from workbench.core.errors import ReportError

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")

#: In a process of its own, since the provider of a process is set once.
PROGRAM = """
import json, sys
from opentelemetry import _logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

exporter = InMemoryLogRecordExporter()
provider = LoggerProvider()
provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
_logs.set_logger_provider(provider)
from workbench.cli import main

code = main(sys.argv[1:])
found = [one.log_record for one in exporter.get_finished_logs()]
print(json.dumps([[one.event_name, dict(one.attributes), f"{one.trace_id or 0:x}", f"{one.span_id or 0:x}"] for one in found]), file=sys.stderr)
sys.exit(code)
"""
SOURCE = """import workbench as wb


async def grade(thread):
    if thread.completion() == "bad":
        return 1 / 0
    if thread.completion() == "skip":
        raise wb.Skip
    return wb.Grade(0.5, passed=True, reasoning="half")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.py").write_text(SOURCE, "utf-8")
    rows = [
        {"id": "a", "prompt": "1", "completion": "x", "trace_id": "0" * 31 + "a", "span_id": "0" * 15 + "b"},
        {"id": "b", "prompt": "2", "completion": "bad", "trace_id": "no id"},
        {"id": "c", "prompt": "3", "completion": "skip"},
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tmp_path


@pytest.mark.parametrize("command", ["run", "check"])
def test_each_grade_is_an_event(folder, command):
    """Score, verdict and reason; a failure has its kind, a skipped row no event; the span of the row is linked."""
    words = [sys.executable, "-c", PROGRAM, command, "g.py", "r.jsonl", "--telemetry"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "sent 2 evaluation events" in done.stderr, done.stderr
    first, second = json.loads(done.stderr.splitlines()[-1])
    assert first == [
        "gen_ai.evaluation.result",
        {
            "gen_ai.evaluation.name": "grade", "workbench.row": "a", "gen_ai.evaluation.score.value": 0.5,
            "gen_ai.evaluation.score.label": "pass", "gen_ai.evaluation.explanation": "half",
        },
        "a", "b",
    ]  # fmt: skip
    assert second[1] == {"gen_ai.evaluation.name": "grade", "workbench.row": "b", "error.type": "runtime"}
    assert second[2] == "0"


def test_events_that_would_be_lost_are_refused(folder, capsys):
    """Without an exporter nothing is graded, and the way is named."""
    assert main(["run", "g.py", "r.jsonl", "--telemetry"]) == 3
    said = capsys.readouterr()
    assert "opentelemetry-instrument" in said.err
    assert said.out == ""


def test_without_the_package_the_extra_is_named(monkeypatch):
    """The API is imported only if it is used."""
    from workbench.deploy import telemetry

    monkeypatch.setitem(sys.modules, "opentelemetry._logs", None)
    report = wb.Length(3).run([{"prompt": "p", "completion": "c"}], progress=False)
    with pytest.raises(ReportError, match="telemetry"):
        telemetry.emit_evaluations(report)
