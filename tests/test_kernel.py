"""The cell magic in a real kernel, without a browser."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import workbench

client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")
psutil = pytest.importorskip("psutil")

CHECKS = ("syntax", "structure", "signature", "execution", "test_run")
MAGIC = "%%grader g\nasync def grade(thread):\n    return {score}"


class Kernel:
    """A kernel that returns all messages of a cell."""

    def __init__(self, manager: Any, channel: Any) -> None:
        self.manager, self._channel = manager, channel

    def run(self, code: str) -> list[tuple[str, dict[str, Any]]]:
        """Run a cell; (type, content) of what it put out."""
        found: list[tuple[str, dict[str, Any]]] = []
        self._channel.execute_interactive(
            code,
            timeout=600,
            output_hook=lambda message: found.append((message["msg_type"], message["content"])),
        )
        return [pair for pair in found if pair[0] not in {"status", "execute_input"}]

    def processes(self) -> list[Any]:
        """What the kernel started."""
        return psutil.Process(self.manager.provisioner.pid).children(recursive=True)


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    source = str(Path(workbench.__file__).resolve().parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])]))
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    manager, channel = client.manager.start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    try:
        found = Kernel(manager, channel)
        assert found.run("%load_ext workbench\nimport workbench as wb") == []
        yield found
    finally:
        channel.stop_channels()
        if manager.has_kernel:
            manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def text(outputs: list[tuple[str, dict[str, Any]]]) -> str:
    return "".join(content.get("text", "") for kind, content in outputs if kind == "stream")


def left(processes: list[Any]) -> list[Any]:
    """Those that never end; one that only waits to be collected does not."""

    def alive(process: Any) -> bool:
        try:
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    end = time.monotonic() + 600
    while (still := [process for process in processes if alive(process)]) and time.monotonic() < end:
        time.sleep(0.05)
    return still


def test_magic_shows_the_five_checks_at_once(kernel):
    """One display with all five checks, as HTML and as text, and nothing else: no print, no warning."""
    outputs = kernel.run(MAGIC.format(score="1.0"))
    assert [kind for kind, _ in outputs] == ["display_data"]
    data = outputs[0][1]["data"]
    for check in CHECKS:
        assert check in data["text/html"]
    assert data["text/html"].count("✓") == 5
    assert "<script" not in data["text/html"]


def test_magic_shows_a_cross_without_a_traceback(kernel):
    """A grader that fails a check shows the cross and what to change; the cell itself does not fail."""
    outputs = kernel.run("%%grader g\nasync def grade(thread):\n    return 'high'")
    assert [kind for kind, _ in outputs] == ["display_data"]
    assert "✗" in outputs[0][1]["data"]["text/html"]


def test_rerun_cell_captures_the_new_text(kernel):
    """What is captured is the cell as it stands, also after the third run, by magic and by decorator."""
    for score in ("0.25", "0.5"):
        kernel.run(MAGIC.format(score=score))
        seen = text(kernel.run("print(g.source.text, g(wb.demo_samples()[0]).score)"))
        assert f"return {score}" in seen
        assert seen.strip().endswith(score)
        kernel.run(f"@wb.grader\nasync def h(thread: wb.StringThread) -> float:\n    return {score}")
        assert text(kernel.run("print(h(wb.demo_samples()[0]).score)")).strip() == score


def test_cell_that_cannot_be_captured_says_why_on_one_screen(kernel):
    """A refusal is the message alone: no traceback through the workbench's own files."""
    outputs = kernel.run("%%grader g\nimport pandas\nasync def grade(thread):\n    return pandas.NA")
    shown = text(outputs) + "".join(
        "\n".join(c.get("traceback", [])) for kind, c in outputs if kind == "error"
    )
    shown += "".join(
        content["data"].get("text/plain", "") for kind, content in outputs if kind == "display_data"
    )
    assert "pandas" in shown
    assert "workbench/app/widgets" not in shown


def test_shutdown_leaves_no_process(kernel):
    """When the kernel ends, its zygote and its workers are gone."""
    kernel.run(MAGIC.format(score="1.0"))
    kernel.run("report = g.run(wb.demo_samples(), progress=False)")
    started = kernel.processes()
    assert any(any(part.endswith("zygote.py") for part in process.cmdline()) for process in started)
    kernel.manager.shutdown_kernel()
    assert left(started) == []


def test_killed_kernel_leaves_no_process(kernel):
    """A kernel that is killed outright takes its zygote and workers with it: their pipes close."""
    kernel.run(MAGIC.format(score="1.0"))
    started = kernel.processes()
    assert started
    kernel.manager.shutdown_kernel(now=True)
    assert left(started) == []
