"""The filter's tables and the label's rule, for both machines, without running them."""

import re
import struct
from pathlib import Path

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


CLOCK_CALLS = {"x86_64": (228, 229, 230), "aarch64": (113, 114, 115)}
CPU_CLOCK_OF_1234 = (~1234 << 3) | 2


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("upper", [0, 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_clocks_of_other_processes_are_refused(machine, upper):
    """A clock is named by 32 bits with a sign: small numbers pass, and none that means a process, a thread or a device."""
    own = {0, 1, 2, 3, 4, 5, 6, 7, 11}
    tried = {
        *range(-16, 24),
        *range(-70, 300, 9),
        CPU_CLOCK_OF_1234,
        CPU_CLOCK_OF_1234 | 4,
        -(2**31),
        2**31 - 1,
        2**30 + 1,
    }
    for number in CLOCK_CALLS[machine]:
        passed = {
            clock
            for clock in tried
            if verdict(machine, number, (upper << 32 | clock & 0xFFFFFFFF, 0, 0)) == ALLOW
        }
        assert passed == own


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


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def numbers(machine):
    """The kernel's own names and numbers of one machine."""
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed here")
    text = HEADERS[machine].read_text()
    return {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text)}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_numbers_are_the_kernels(machine):
    """Every call of the table has the number that the kernel's headers give it."""
    known = numbers(machine)
    _, plain, special = confine._MACHINES[machine]
    assert {name: known.get(name) for name in (*plain, *special)} == {**plain, **special}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_no_other_call_of_the_headers_passes(machine):
    """Whatever else the kernel knows is refused, with arguments that would pass for those that are looked at."""
    _, plain, special = confine._MACHINES[machine]
    refused = {
        name: n for name, n in numbers(machine).items() if n not in {*plain.values(), *special.values()}
    }
    assert len(refused) > 250
    assert {
        name for name, n in refused.items() for fd in (3, 4) if verdict(machine, n, (fd, 0, 0)) != EPERM
    } == set()


# What CPython 3.11 for aarch64 called in workers of ours behind their locks, seen with `qemu-aarch64 -strace`.
AARCH64_WORKER = {
    "brk": 214, "clock_getres": 114, "clock_gettime": 113, "clock_nanosleep": 115, "exit_group": 94, "getpid": 172,
    "munmap": 215, "rt_sigaction": 134, "rt_sigreturn": 139, "setitimer": 103,
}  # fmt: skip


def test_what_a_worker_on_aarch64_calls_is_allowed():
    """The filter leaves a worker on aarch64 what it needs to grade, to sleep, to be timed and to answer."""
    assert {name for name, number in AARCH64_WORKER.items() if verdict("aarch64", number) != ALLOW} == set()
    assert verdict("aarch64", READ["aarch64"], (3, 0, 1 << 20)) == ALLOW
    assert verdict("aarch64", WRITE["aarch64"], (4, 0, 500)) == ALLOW
    assert verdict("aarch64", MMAP["aarch64"], (0, 1 << 20, 3)) == ALLOW


def test_unknown_machine_has_no_filter():
    """A machine without a table gets no filter rather than a wrong one."""
    with pytest.raises(KeyError):
        confine.seccomp_filter("riscv64", read_fd=3, write_fd=4)


@pytest.mark.parametrize(
    ("installed", "leaks", "level"),
    [
        (["seccomp", "landlock", "rlimits"], [], "kernel"),
        (["seccomp", "rlimits"], [], "kernel"),
        (["seccomp", "landlock"], [], "partial"),
        (["seccomp", "rlimits"], ["user id 0"], "partial"),
        (["seccomp", "rlimits"], ["ambient capabilities"], "partial"),
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
