"""Ids and capabilities are given up where that is permitted; where it is not, the label says so."""

import json
import os
import subprocess
import sys

import pytest

HANGS = 600
"""Seconds after which a process that should have ended is taken for hanging, on a busy machine too."""

root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can take rights from itself"
)
SETPCAP, SETGID, SETUID, NET_RAW, PTRACE = 8, 6, 7, 13, 19
ALL = range(64)

# Takes capabilities out of the bounding set: the program that is run next starts without them, as in a container.
WITHOUT = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
for number in sys.argv[1].split(","):
    libc.prctl(24, int(number), 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[2:]])
"""
PROBE = """
import json
import workbench as wb
info = wb.sandbox_info()
print(json.dumps([info.level, info.leaks]))
"""
IMPORTS = """
import encodings.ascii, json, os  # first: another user may not be able to read them
from workbench.sandbox.child import confine
"""
GIVEN_UP = """
before = confine.held(privileged=True)
privileged = confine.give_up()
after = confine.held(privileged=privileged)
print(json.dumps([before, privileged, after, list(os.getresuid()), list(os.getresgid()), os.getgroups()]))
"""
# An ordinary user with groups, and with two capabilities in every set.
AMBIENT = f"""
import ctypes, os, struct
libc = ctypes.CDLL(None)
libc.prctl(8, 1, 0, 0, 0)  # the change of user leaves the permitted set
os.setgroups([0, 54322])
os.setresgid(54321, 54321, 54321)
os.setresuid(54321, 54321, 54321)
bits = 1 << {NET_RAW} | 1 << {PTRACE}
assert libc.capset(struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", bits, bits, bits, 0, 0, 0)) == 0
for number in ({NET_RAW}, {PTRACE}):
    assert libc.prctl(47, 2, number, 0, 0) == 0
"""


def run_without(capabilities, script):
    """What a script prints as JSON that root runs without some capabilities."""
    words = [sys.executable, "-c", WITHOUT, ",".join(map(str, capabilities)), IMPORTS + script]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@root
def test_root_gives_up_every_id_and_capability():
    """Where nothing is forbidden, nothing of root is left."""
    before, privileged, after, users, groups, others = run_without([63], GIVEN_UP)
    assert privileged
    assert {"user id 0", "group id 0", "effective capabilities", "permitted capabilities"} <= set(before)
    assert after == []
    assert (users, groups, others) == ([65534] * 3, [65534] * 3, [])


@root
@pytest.mark.parametrize(
    ("missing", "left"),
    [
        ([SETGID], {"group id 0"}),
        ([SETUID], {"user id 0"}),
        ([SETUID, SETGID], {"user id 0", "group id 0"}),
        ([SETPCAP], {"bounding capabilities"}),
        (ALL, {"user id 0", "group id 0"}),
    ],
    ids=["setgid", "setuid", "both", "setpcap", "all"],
)
def test_what_a_container_does_not_permit_lowers_the_label(missing, left):
    """A worker that keeps an id of root's, or a capability, is not called confined by the kernel."""
    level, leaks = run_without(missing, PROBE)
    assert level == "partial"
    assert set(leaks) - {"groups"} == left


@root
@pytest.mark.parametrize("missing", [[SETGID], [SETUID], [SETUID, SETGID], ALL])
def test_capabilities_go_where_ids_cannot_be_changed(missing):
    """Whatever of the user is left, four sets are empty at once, and the bounding set where that is permitted."""
    after = run_without(missing, GIVEN_UP)[2]
    assert not [name for name in after if name.endswith("capabilities")]


@root
def test_an_ordinary_user_with_capabilities_loses_them_and_keeps_its_groups():
    """Ambient capabilities are emptied; groups and bounding set, which no ordinary user can change, count for nothing."""
    script = AMBIENT + GIVEN_UP
    before, privileged, after, users, groups, others = run_without([63], script)
    assert {"ambient capabilities", "inheritable capabilities", "bounding capabilities"} <= set(before)
    assert (privileged, after) == (False, [])
    assert (users, groups, sorted(others)) == ([54321] * 3, [54321] * 3, [0, 54322])


@root
def test_a_saved_id_of_root_is_given_up():
    """A process that could become root again is privileged, whatever id it has now."""
    script = "os.setresuid(54321, 54321, 0)\n" + GIVEN_UP
    before, privileged, after, users, _, _ = run_without([63], script)
    assert "user id 0" in before
    assert privileged
    assert users == [54321] * 3
    assert "user id 0" not in after


def test_capabilities_that_cannot_be_read_count_as_held(monkeypatch):
    """Nobody can say that there is none."""
    from workbench.sandbox.child import confine

    monkeypatch.setattr(confine, "_read_sets", lambda libc: None)
    assert ("capabilities" in confine.held(privileged=False)) == (sys.platform == "linux")
