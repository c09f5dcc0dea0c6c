"""An Interrupt while the sandbox starts ends in KeyboardInterrupt alone, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.browser.lab import wait_until
from workbench.sandbox.host.pool import Pool
from workbench.sandbox.host.program import Program
from workbench.sandbox.host.worker import Worker
from workbench.sandbox.host.zygote import Zygote, no_interrupts

HANGS = 600
"""Seconds after which a process that should have ended is taken for hanging, on a busy machine too."""
PROGRAM = Program("async def grade(thread):\n    return 1.0\n")


def interrupted(*_, **__):
    raise KeyboardInterrupt


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def own():
    made = Pool()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("kind", "method"), [(Zygote, "_read"), (Zygote, "_ask"), (Worker, "_connect"), (Worker, "await_ready")]
)
def test_an_interrupt_while_a_worker_starts_leaves_nothing(own, monkeypatch, kind, method):
    """No process, no descriptor, and no other exception beside the KeyboardInterrupt."""
    own.check(PROGRAM)  # what is loaded once is there
    own.close()
    before, processes = descriptors(), set(psutil.Process().children(recursive=True))
    with monkeypatch.context() as patched:
        patched.setattr(kind, method, interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            own.check(PROGRAM)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    own.close()
    wait_until(
        lambda: set(psutil.Process().children(recursive=True)) <= processes, what="the end of processes"
    )
    assert descriptors() <= before
    assert own.check(PROGRAM).isolation == "kernel"  # and it starts again


SLOW = """
import sys
from workbench.sandbox.host import worker
from workbench.cli import main

ready = worker.Worker.await_ready
def slow(self, *words):
    print("starting", flush=True)
    import time
    time.sleep(60)
worker.Worker.await_ready = slow
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("command", ["sandbox", "validate"])
def test_the_command_ends_with_a_line(command, tmp_path):
    """Exit code 130 and one line; no traceback, and no process."""
    grader = tmp_path / "grader.py"
    grader.write_text("async def grade(thread):\n    return 1.0\n")
    words = [command, *([str(grader)] if command == "validate" else [])]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "starting\n"
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=HANGS)
    assert process.returncode == 130
    assert text == "workbench: interrupted\n"
    assert psutil.wait_procs(children, timeout=30)[1] == []


def test_no_interrupt_gets_into_what_ends_processes():
    """It is ignored there, and heard again behind it."""
    with no_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
