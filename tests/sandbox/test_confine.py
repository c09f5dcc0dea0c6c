"""The filter's tables and the label's rule, for both machines, without running them."""

import struct

import pytest

from workbench.sandbox.child import confine

ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
READ, WRITE, MMAP = {"x86_64": 0, "aarch64": 63}, {"x86_64": 1, "aarch64": 64}, {"x86_64": 9, "aarch64": 222}
FUTEX, OPENAT = {"x86_64": 202, "aarch64": 98}, {"x86_64": 257, "aarch64": 56}
ALLOW, EPERM, KILL = 0x7FFF0000, 0x00050001, 0x80000000


def verdict(machine, number, args=(0, 0, 0), arch=None):
    """Run the program as the kernel would."""
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch or ARCH[machine], 0, *args, 0, 0, 0)
    code = [
        struct.unpack_from("<HBBI", confine.seccomp_filter(machine, read_fd=3, write_fd=4), i)
        for i in range(0, len(confine.seccomp_filter(machine, read_fd=3, write_fd=4)), 8)
    ]
    at, value = 0, 0
    while True:
        op, yes, no, k = code[at]
        if op == 0x06:
            return k
        if op == 0x20:
            value = struct.unpack_from("<I", data, k)[0]
            at += 1
            continue
        hit = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[op]
        at += 1 + (yes if hit else no)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_allow_list(machine):
    """Only listed calls pass; read and write only on their own descriptor, memory never executable."""
    assert verdict(machine, FUTEX[machine]) == ALLOW
    assert verdict(machine, OPENAT[machine]) == EPERM
    assert verdict(machine, READ[machine], (3, 0, 0)) == ALLOW
    assert verdict(machine, READ[machine], (4, 0, 0)) == EPERM
    assert verdict(machine, WRITE[machine], (4, 0, 0)) == ALLOW
    assert verdict(machine, WRITE[machine], (1, 0, 0)) == EPERM
    assert verdict(machine, MMAP[machine], (0, 4096, 3)) == ALLOW
    assert verdict(machine, MMAP[machine], (0, 4096, 7)) == EPERM


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_other_architectures_are_killed(machine):
    """A call through another table ends the process."""
    assert verdict(machine, 1, arch=0x40000003) == KILL
    if machine == "x86_64":
        assert verdict(machine, 0x40000001) == KILL


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_few_calls_are_allowed(machine):
    """The list stays short: of the first 500 numbers at most thirty pass unconditionally."""
    assert sum(verdict(machine, number, (99, 0, 4)) == ALLOW for number in range(500)) <= 30


def test_unknown_machine_has_no_filter():
    """A machine without a table gets no filter rather than a wrong one."""
    with pytest.raises(KeyError):
        confine.seccomp_filter("riscv64", read_fd=3, write_fd=4)


@pytest.mark.parametrize(
    ("installed", "leaks", "level"),
    [
        (["seccomp", "landlock"], [], "kernel"),
        (["seccomp"], [], "kernel"),
        (["seccomp"], ["stat"], "partial"),
        (["rlimits", "landlock"], [], "partial"),
        (["rlimits"], ["mkdir", "kill"], "partial"),
        (["rlimits", "seccomp"], ["open"], "process"),
        ([], ["open", "fork", "socket"], "process"),
    ],
)
def test_self_test_decides_the_label(installed, leaks, level):
    """A lock that is on but leaks counts as what it lets through."""
    assert confine.level(installed, leaks) == level
