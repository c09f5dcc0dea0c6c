"""What this process may not have is named: the limit, its value, and what is needed."""

import errno
import json
import subprocess
import sys

import pytest

from workbench.core import system_limits
from workbench.core.errors import SandboxError

HANGS = 600
"""Seconds after which a process that should have ended is taken for hanging, on a busy machine too."""
linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits are set as Linux has them")

# Asks for one thing of the sandbox under a limit, and prints the error's kind and parts.
UNDER = """
import json, resource, sys
import workbench as wb
from workbench.core.errors import WorkbenchError

grader = wb.FunctionGrader.from_source("async def grade(thread):\\n    return 1.0\\n", name="g")
samples = wb.Samples([{"prompt": "a", "completion": str(i)} for i in range(500)])
samples.packed, grader.run  # what is imported late
thread = wb.StringThread([("user", "a"), ("assistant", "b")])
import workbench.sandbox.host.worker_pool, workbench.run.part_run, workbench.report
sys.dont_write_bytecode = True  # it would be cut off by a limit on the size of files
number = getattr(resource, sys.argv[1])
resource.setrlimit(number, (int(sys.argv[2]), resource.getrlimit(number)[1]))
try:
    if sys.argv[3] == "validate":
        grader.validate()
    elif sys.argv[3] == "run":
        wb.Suite([grader]).run(samples)
    else:
        error = grader(thread).error
        print(json.dumps([error.kind.value, error.message, "", ""]))
        sys.exit()
except WorkbenchError as error:
    print(json.dumps([type(error).__name__, error.found, error.expected, error.hint]))
"""


def under(limit, value, action):
    words = [sys.executable, "-c", UNDER, limit, str(value), action]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@linux
@pytest.mark.parametrize("files", [20, 65])
def test_too_few_open_files_are_named(files):
    """Instead of a worker that did not start."""
    kind, found, expected, hint = under("RLIMIT_NOFILE", files, "validate")
    assert kind == "StartError"
    assert "RLIMIT_NOFILE" in found
    assert str(files) in found
    assert str(system_limits.OPEN_FILES) in expected
    assert f"ulimit -n {system_limits.OPEN_FILES}" in hint


@linux
def test_a_single_call_names_the_limit_too():
    """A call fails with the same words."""
    kind, message, _, _ = under("RLIMIT_NOFILE", 65, "call")
    assert kind == "sandbox"
    assert "RLIMIT_NOFILE" in message
    assert "65" in message


@linux
@pytest.mark.parametrize("action", ["validate", "run"])
def test_a_limit_on_the_size_of_files_is_named(action):
    """Memory that is shared with workers counts as a file."""
    kind, found, expected, _ = under("RLIMIT_FSIZE", 4096, action)
    assert kind in {"StartError", "SandboxError"}
    assert "RLIMIT_FSIZE" in found
    assert "4,096" in found
    assert f"{system_limits.FILE_BYTES:,}" in expected


@pytest.mark.parametrize(
    ("number", "name"), [(errno.EMFILE, "RLIMIT_NOFILE"), (errno.EFBIG, "RLIMIT_FSIZE"), (errno.EAGAIN, "RLIMIT_NPROC"),
                         (errno.ENOMEM, "RLIMIT_AS")],
)  # fmt: skip
def test_each_refusal_names_its_limit(number, name, monkeypatch):
    """Where the process has such a limit; elsewhere the system's own words stand."""
    monkeypatch.setattr(system_limits._Limit, "value", 7)
    error = system_limits.refusal(OSError(number, "no"), SandboxError, "it cannot be done")
    assert name in error.found
    assert "7" in error.found
    monkeypatch.setattr(system_limits._Limit, "value", None)
    error = system_limits.refusal(OSError(number, "no"), SandboxError, "it cannot be done")
    assert error.found
    assert name not in error.found


def test_other_errors_are_not_touched():
    """Only what the system refuses is translated."""
    with pytest.raises(ValueError, match="x"), system_limits.limited(SandboxError, "it cannot be done"):
        raise ValueError("x")
    with pytest.raises(SandboxError) as caught, system_limits.limited(SandboxError, "it cannot be done"):
        raise OSError(errno.EIO, "no")
    assert caught.value.found == "Input/output error"
