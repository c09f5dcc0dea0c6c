"""The self-test's probes against what a worker can really do, as an unprivileged user would be."""

import errno
import json
import subprocess
import sys

import pytest

from workbench.sandbox.host.pool import Pool

HANGS = 600
"""Seconds after which a process that should have ended is taken for hanging, on a busy machine too."""

linux = pytest.mark.skipif(sys.platform != "linux", reason="the calls are Linux's")

# A host with a canary in its memory, and a worker of the same ordinary user that is locked with some layers.
STAGE = """
import ctypes, encodings.ascii, json, os, socket, sys  # all that is needed later: another user may not read it
from workbench.sandbox.child import confine, probes

libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(54321, 54321, 54321)
    os.setresuid(54321, 54321, 54321)
libc.prctl(4, 1, 0, 0, 0)  # a change of user takes PR_SET_DUMPABLE away, which an ordinary user's process has
canary = ctypes.create_string_buffer(b"whole", 6)
forged = ctypes.create_string_buffer(b"wound", 6)
write = libc.process_vm_writev
write.argtypes = (ctypes.c_int, *(ctypes.c_void_p, ctypes.c_ulong) * 2, ctypes.c_ulong)
ours = (ctypes.c_size_t * 2)(ctypes.addressof(forged), 5)
theirs = (ctypes.c_size_t * 2)(ctypes.addressof(canary), 5)
host, layers = os.getpid(), tuple(sys.argv[1:])
probes.note_processes()
confine.note_address_space()
read, answer = os.pipe()
if os.fork() == 0:
    installed = confine.lock_down(layers, 1 << 30, read_fd=read, write_fd=answer)
    leaks = probes.self_test()
    write(host, ours, 1, theirs, 1, 0)
    os.write(answer, json.dumps([confine.level(installed, leaks), leaks]).encode())
    os._exit(0)
os.close(answer)
told = os.read(read, 65536)
os.wait()
level, leaks = json.loads(told)
print(json.dumps({"level": level, "leaks": leaks, "written": canary.value == b"wound"}))
"""


def staged(*layers):
    """The label, the probes that got through, and whether the worker wrote its host's memory."""
    done = subprocess.run(
        [sys.executable, "-c", STAGE, *layers], capture_output=True, text=True, timeout=HANGS
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@linux
@pytest.mark.parametrize("layers", [("rlimits",), ("rlimits", "audit"), ("rlimits", "landlock")])
def test_partial_is_said_only_where_the_hosts_memory_is_safe(layers):
    """A worker that can write its host's memory is only another process, whatever else its locks hold."""
    found = staged(*layers)
    assert found["level"] == ("process" if found["written"] else "partial")
    assert ("process_vm_writev" in found["leaks"]) == found["written"]
    assert ("process_vm_readv" in found["leaks"]) == found["written"]


@linux
def test_the_filter_keeps_the_hosts_memory():
    """Under the filter nothing of another process is read, written or traced."""
    found = staged("rlimits", "seccomp")
    assert found == {"level": "kernel", "leaks": [], "written": False}


@linux
def test_memory_can_be_written_where_nothing_forbids_it():
    """The canary is alive: this machine lets a process write another's memory, or says why it does not."""
    found = staged("rlimits")
    if not found["written"]:
        pytest.skip("this machine forbids one process the memory of another (Yama, or a container's filter)")
    assert {"ptrace", "process_vm_readv", "process_vm_writev"} <= set(found["leaks"])


@linux
def test_being_probed_leaves_the_zygote_in_order():
    """A zygote that was attached to and let go goes on making workers."""
    weak = Pool(("rlimits",))
    zygotes = set()
    for _ in range(5):
        weak.probe()
        zygotes.add(weak._zygote._process.pid)
    assert len(zygotes) == 1
    weak.close()


# A process under the resource limits alone: what is open stays usable, nothing more can be had.
LIMITED = """
import json, os, resource, sys, tempfile
from workbench.sandbox.child import confine

def refused(call, *words):
    try:
        call(*words)
    except OSError as error:
        return error.errno
    return 0

read, answer = os.pipe()
kept = tempfile.TemporaryFile("wb", buffering=0)
installed = confine.lock_down(("rlimits",), 1 << 30, read_fd=read, write_fd=answer)
limits = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in sys.argv[1:]}
found = {"open": refused(os.open, os.devnull, os.O_RDONLY), "grow": refused(kept.write, b"x"), "pipe": refused(os.pipe)}
print(json.dumps({"installed": installed, "limits": limits, "errors": found}))
"""


@linux
def test_the_resource_limits_hold_by_themselves():
    """Without another layer: no new descriptor, not a byte more in an open file, no process, no core, no queue."""
    names = ["CORE", "FSIZE", "MSGQUEUE", "MEMLOCK", "NPROC", "NOFILE"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *names], capture_output=True, text=True, timeout=HANGS
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["installed"] == ["rlimits"]
    assert found["limits"] == {name: [0, 0] for name in names}
    assert found["errors"] == {"open": errno.EMFILE, "grow": errno.EFBIG, "pipe": errno.EMFILE}
