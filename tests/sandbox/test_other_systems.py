"""The paths that macOS takes, on this machine: what macOS has not is taken away, in the host and in the sandbox's process.

This shows that the code holds without it and that the label says so. It is no test of macOS and its kernel.
"""

import json
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="takes away what Linux has")

LIKE_MACOS = """
import os, resource, sys
import ctypes, numpy, socket, subprocess, mmap, select  # loaded as what they are here
for module, names in (
    (os, ("memfd_create", "sched_getaffinity", "setresuid", "setresgid", "pidfd_open", "eventfd", "O_PATH")),
    (resource, ("RLIMIT_MSGQUEUE", "RLIMIT_NICE", "RLIMIT_RTPRIO", "RLIMIT_SIGPENDING", "RLIMIT_OFILE", "prlimit")),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "darwin"
"""
DRIVER = (
    LIKE_MACOS.replace("numpy, ", "")
    + """
import ctypes.util, runpy
class NoProc(FileNotFoundError):
    pass
real = open
def opened(path, *words, **named):
    if str(path).startswith("/proc"):
        raise NoProc(path)
    return real(path, *words, **named)
import builtins
builtins.open = opened
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
)
HOST = (
    LIKE_MACOS
    + """
import json
from pathlib import Path
real = Path.is_dir
Path.is_dir = lambda self: not str(self).startswith("/proc") and real(self)
from workbench.core.errors import IsolationError
from workbench.data.packed import pack
from workbench.sandbox.host.program import Limits, Program
from workbench.sandbox.host.pool import Pool
from workbench.core.thread import StringThread

sys.executable = sys.argv[1]
pool, limits = Pool(), Limits(row_seconds=2, load_seconds=20)
rows = pack(StringThread([("assistant", str(i))], {"i": i}) for i in range(2000))
def run(body, **settings):
    program = Program("import os\\nasync def grade(thread):\\n    " + body, limits, **settings)
    grades = pool.run(program, rows, workers=2).grades
    return [grades.n_scored, sorted({f"{e.kind}: {e.message}"[:60] for e in grades.errors.values()})]
found = {"probe": pool.probe(), "rows": run("return float(thread.completion())")}
found["crash"] = run("return 1.0 if thread.metadata['i'] != 700 else os._exit(1)")
found["open"] = run("return float(len(open('/etc/hostname').read()))")
found["root"] = run("return 1.0 / (os.geteuid() != 0)")
try:
    run("return 1.0", kernel_only=True)
except IsolationError as error:
    found["imported"] = error.what
pool.close()
print(json.dumps(found))
"""
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What a host without the things of Linux says of its sandbox."""
    folder = tmp_path_factory.mktemp("macos")
    (folder / "driver.py").write_text(DRIVER)
    python = folder / "python"
    python.write_text(
        textwrap.dedent(f"""\
            #!/bin/sh
            while true; do case "$1" in -*) shift;; *) break;; esac; done
            exec {sys.executable} -s -S -P -B {folder / "driver.py"} "$@"
            """)
    )
    python.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", HOST, str(python)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_label_is_no_more_than_the_trials_allow(found):
    """No filter and no Landlock: limits and hook alone are never called the kernel's."""
    assert found["probe"]["layers"] == ["rlimits", "audit"]
    assert found["probe"]["level"] in {"partial", "process"}


def test_rows_are_graded_and_a_crash_costs_its_row(found):
    """Rows and scores go through files without a name where there is no memory file."""
    assert found["rows"] == [2000, []]
    assert found["crash"][0] == 1999
    assert found["crash"][1][0].startswith("crash")


def test_files_stay_shut_and_root_is_given_up(found):
    """The limit on descriptors holds, and a host that is root has workers that are not."""
    assert found["open"][0] == 0
    assert found["root"][0] == 2000


def test_source_from_elsewhere_is_refused(found):
    """What is imported wants the kernel's label."""
    assert found["imported"]
