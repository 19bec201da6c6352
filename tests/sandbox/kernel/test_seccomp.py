"""The filter of system calls: simulated for both machines, and installed in this machine's kernel."""

from __future__ import annotations

import errno
import os
import signal
import struct
import subprocess
import sys

import pytest

from flyteplugins_codegen.sandbox.kernel.seccomp import seccomp_program
from flyteplugins_codegen.sandbox.kernel.syscalls import ARCHITECTURES, NEWEST, NUMBERS

MACHINES = sorted(ARCHITECTURES)
ALLOWED, KILLED = 0x7FFF0000, 0x80000000
MASK = 0xFFFFFFFF
ERRORS = {0x50000 | number: name for number, name in errno.errorcode.items()}


def simulate(program: bytes, number: int, arguments: tuple[int, ...] = (), architecture: int = 0) -> str:
    """What the kernel would do with one call, by the rules of classic BPF."""
    values = [argument & (2**64 - 1) for argument in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("=IIQ6Q", number & MASK, architecture, 0, *values)
    lines = list(struct.iter_unpack("=HBBI", program))
    accumulator, position = 0, 0
    while True:
        code, if_true, if_false, constant = lines[position]
        position += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, constant)
        elif code == 0x54:
            accumulator &= constant
        elif code == 0x05:
            position += constant
        elif code in {0x15, 0x35}:
            holds = accumulator == constant if code == 0x15 else accumulator >= constant
            position += if_true if holds else if_false
        else:
            assert code == 0x06
            return {ALLOWED: "allowed", KILLED: "killed"}.get(constant) or ERRORS[constant]


def outcome(machine: str, name: str, *arguments: int) -> str:
    program = seccomp_program(machine)
    assert program is not None
    return simulate(program, NUMBERS[machine][name], arguments, ARCHITECTURES[machine])


CONDITIONAL = {
    *("clone", "personality", "prctl", "ioctl", "socket", "socketpair", "setsockopt", "mknod", "mknodat", "chmod"),
    *("fchmod", "fchmodat", "fchmodat2", "creat", "open", "openat", "prlimit64"),
}
KEEP_MEMORY = {"memfd_create", "shmget", "msgget", "semget"}
ABSENT = {"clone3", "openat2", "statmount", "listmount", "io_uring_setup", "io_uring_enter", "io_uring_register"}
REFUSED = sorted(set(NUMBERS["x86_64"]) - CONDITIONAL - ABSENT - KEEP_MEMORY)

S_IFCHR, S_IFBLK, S_IFREG, S_IFIFO = 0o020000, 0o060000, 0o100000, 0o010000
O_CREAT, O_TMPFILE, O_RDWR = 0o100, 0o20200000, 2
AT_FDCWD = -100

ARGUMENTS = [
    ("clone", (0x3D0F00,), "allowed"),  # a thread of glibc's
    ("clone", (0x1200011,), "allowed"),  # a fork of glibc's
    *[("clone", (1 << bit | 17,), "EPERM") for bit in (17, 25, 26, 27, 28, 29, 30)],
    ("clone", (1 << 28 | 1 << 40,), "EPERM"),
    ("personality", (0,), "allowed"),
    ("personality", (0xFFFFFFFF,), "allowed"),
    ("personality", (-1,), "allowed"),
    ("personality", (0x0040000,), "EPERM"),
    ("personality", (1 << 32 | 0x0400000,), "EPERM"),
    ("prctl", (15,), "allowed"),
    ("prctl", (22, 2), "EPERM"),
    ("prlimit64", (0, 7), "allowed"),  # what the C library's setrlimit is
    *[("prlimit64", (pid, 7), "EPERM") for pid in (1, 4242, 1 << 32 | 1)],
    ("ioctl", (0, 0x5401), "allowed"),
    *[("ioctl", (0, code), "EPERM") for code in (0x5412, 0x541C, 0x541D, 0x5423, 1 << 32 | 0x5412)],
    *[
        ("socket", (family, kind | flags, 0), "allowed")
        for family in (1, 2, 10)
        for kind in (1, 2)
        for flags in (0, 0x80800)
    ],
    ("socket", (1, 5, 0), "allowed"),
    ("socket", (2, 1, 6), "allowed"),
    ("socket", (10, 2, 17), "allowed"),
    ("socket", (16, 3 | 0x80000, 0), "allowed"),
    ("socket", (16, 3, 9), "EPERM"),  # NETLINK_AUDIT
    ("socket", (16, 3, 12), "EPERM"),  # NETLINK_NETFILTER
    *[("socket", (family, 3, 1), "EPERM") for family in (2, 10)],
    *[("socket", (family, 3 | 0x80000, 0), "EPERM") for family in (2, 10)],
    ("socket", (2, 10, 0), "EPERM"),  # SOCK_PACKET
    ("socket", (2, 2, 1), "EPERM"),  # an ICMP socket
    ("socket", (2, 1, 262), "EPERM"),  # MPTCP
    ("socket", (2, 5, 132), "EPERM"),  # SCTP
    *[("socket", (family, 1, 0), "EAFNOSUPPORT") for family in (*range(3, 10), *range(11, 16), *range(17, 50), 0)],
    ("socket", (1 << 32 | 40, 1, 0), "EAFNOSUPPORT"),
    ("socketpair", (1, 1, 0), "allowed"),
    ("socketpair", (30, 1, 0), "EAFNOSUPPORT"),  # TIPC
    ("setsockopt", (3, 1, 2), "allowed"),
    ("setsockopt", (3, 6, 26), "allowed"),
    *[("setsockopt", (3, 1, option), "EPERM") for option in (26, 50, 51, 52)],
    *[("mknodat", (AT_FDCWD, 0, kind | 0o600), "EPERM") for kind in (S_IFCHR, S_IFBLK)],
    *[("mknodat", (AT_FDCWD, 0, kind | 0o600), "allowed") for kind in (S_IFREG, S_IFIFO, 0)],
    ("mknodat", (AT_FDCWD, 0, S_IFREG | 0o4755), "EPERM"),
    *[("fchmod", (3, mode), "EPERM") for mode in (0o4755, 0o2755, 0o6000)],
    *[("fchmod", (3, mode), "allowed") for mode in (0o755, 0o1777, 0)],
    ("fchmodat", (AT_FDCWD, 0, 0o4755), "EPERM"),
    ("fchmodat", (AT_FDCWD, 0, 0o644), "allowed"),
    ("fchmodat2", (AT_FDCWD, 0, 0o2755, 0), "EPERM"),
    ("openat", (AT_FDCWD, 0, O_RDWR, 0o6000), "allowed"),  # without O_CREAT the mode is ignored
    ("openat", (AT_FDCWD, 0, O_CREAT, 0o644), "allowed"),
    ("openat", (AT_FDCWD, 0, O_CREAT | O_RDWR, 0o4755), "EPERM"),
    ("openat", (AT_FDCWD, 0, O_TMPFILE | O_RDWR, 0o2755), "EPERM"),
]
ONLY_X86_64 = [
    ("open", (0, O_CREAT, 0o4755), "EPERM"),
    ("open", (0, O_CREAT, 0o755), "allowed"),
    ("open", (0, O_RDWR, 0o4755), "allowed"),
    ("creat", (0, 0o4755), "EPERM"),
    ("creat", (0, 0o644), "allowed"),
    ("chmod", (0, 0o4755), "EPERM"),
    ("chmod", (0, 0o600), "allowed"),
    ("mknod", (0, S_IFBLK | 0o600), "EPERM"),
    ("mknod", (0, S_IFIFO | 0o600), "allowed"),
]


# --- simulated --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_that_no_job_needs_is_refused_whatever_its_arguments(machine):
    for arguments in ((0,) * 6, (-1,) * 6):
        outcomes = {name: outcome(machine, name, *arguments) for name in NUMBERS[machine]}
        assert {name for name in outcomes if outcomes[name] == "ENOSYS"} == ABSENT
        assert {name for name in REFUSED if name in outcomes} <= {
            name for name in outcomes if outcomes[name] == "EPERM"
        }


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_outside_of_processes_and_folders_can_be_kept_only_where_it_is_counted(machine):
    uncounted = seccomp_program(machine, memory_is_counted=False)
    for name, number in NUMBERS[machine].items():
        outcomes = simulate(uncounted, number, (-1,) * 6, ARCHITECTURES[machine])
        assert outcomes == ("ENOSYS" if name in KEEP_MEMORY else outcome(machine, name, *(-1,) * 6))
    assert {outcome(machine, name) for name in KEEP_MEMORY} == {"allowed"}


@pytest.mark.parametrize(("name", "arguments", "expected"), ARGUMENTS)
@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_is_judged_by_its_arguments(machine, name, arguments, expected):
    assert outcome(machine, name, *arguments) == expected


@pytest.mark.parametrize(("name", "arguments", "expected"), ONLY_X86_64)
def test_an_old_call_is_judged_by_its_arguments(name, arguments, expected):
    assert outcome("x86_64", name, *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_every_other_call_is_allowed_and_what_is_newer_does_not_exist(machine):
    program = seccomp_program(machine)
    outcomes = {number: simulate(program, number, (0,) * 6, ARCHITECTURES[machine]) for number in range(2048)}
    known = set(NUMBERS[machine].values())
    assert {number for number in outcomes if outcomes[number] == "allowed"} >= set(range(NEWEST + 1)) - known
    assert {outcomes[number] for number in outcomes if number > NEWEST} == {"ENOSYS"}
    assert {simulate(program, 1 << 30 | n, (), ARCHITECTURES[machine]) for n in (0, 41, 520, MASK)} == {"ENOSYS"}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("architecture", [0x40000003, 0x40000028, 0xC00000F3, 0])
def test_a_call_through_another_entry_ends_the_process(machine, architecture):
    assert {simulate(seccomp_program(machine), number, (), architecture) for number in (0, 20, 165)} == {"killed"}


def test_no_program_is_given_for_an_unknown_machine():
    assert seccomp_program("riscv64") is None


@pytest.mark.parametrize("machine", MACHINES)
def test_the_kernel_would_take_it(machine):
    lines = list(struct.iter_unpack("=HBBI", seccomp_program(machine)))
    assert len(lines) <= 4096
    assert lines[-1][0] == 0x06
    for position, (code, if_true, if_false, constant) in enumerate(lines):
        furthest = constant if code == 0x05 else max(if_true, if_false)
        assert position + 1 + furthest < len(lines) or code == 0x06


# --- installed in this machine's kernel ------------------------------------------------------------------------------

APPLY = """
import ctypes, errno, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*map(ctypes.c_long, (number, *arguments)))
    return "allowed" if result >= 0 else errno.errorcode[ctypes.get_errno()]
def apply(program):
    lines = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(lines))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, header, 0, 0) == 0
apply(bytes.fromhex(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def machine() -> str:
    return os.uname().machine


def run_filtered(machine: str, code: str) -> subprocess.CompletedProcess[str]:
    program = seccomp_program(machine)
    assert program is not None, "this suite is for x86-64 and 64-bit Arm"
    command = [sys.executable, "-I", "-S", "-c", APPLY + code, program.hex()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_kernel_refuses_by_number(machine):
    """Each call has wrong arguments, so that nothing would happen if it were allowed."""
    numbers = {name: NUMBERS[machine][name] for name in (*REFUSED, *ABSENT) if name in NUMBERS[machine]}
    done = run_filtered(machine, f"print({{name: call(n, *[-1] * 6) for name, n in {numbers}.items()}})")
    assert done.stderr == ""
    assert eval(done.stdout) == {name: "ENOSYS" if name in ABSENT else "EPERM" for name in numbers}  # noqa: S307 - ours


ZEROS, NONE_OPEN = "0, 0, 0, 0, 0", "-1, 0, 0, 0, 0, 0"
BY_NAME = {
    **dict.fromkeys(("mount", "umount2", "chroot", "setns", "ptrace", "quotactl", "swapon", "swapoff", "acct"), ZEROS),
    **dict.fromkeys(("adjtimex", "delete_module", "init_module", "reboot"), ZEROS),
    **dict.fromkeys(("process_vm_readv", "process_vm_writev", "name_to_handle_at", "fanotify_init"), NONE_OPEN),
    **dict.fromkeys(("setgroups", "setuid", "setresgid", "sethostname"), NONE_OPEN),
    "unshare": "0x10000000",
    "klogctl": "-1, 0, 0",
    "personality": "0x40000",
    "prctl": "22, 0, 0, 0, 0",
    "prlimit": "1, 7, 0, 0",
    "chmod": "b'/nowhere', 0o4755",
    "mknod": "b'/nowhere/x', 0o60600, 0",
    "ioctl": "0, 0x5412, b'x'",
}


def test_the_kernel_refuses_by_the_names_that_the_c_library_knows(machine):
    calls = ", ".join(
        f"{name!r}: (libc.{name}({arguments}), ctypes.get_errno())" for name, arguments in BY_NAME.items()
    )
    done = run_filtered(machine, f"print({{{calls}}})")
    assert done.stderr == ""
    assert eval(done.stdout) == dict.fromkeys(BY_NAME, (-1, errno.EPERM))  # noqa: S307 - ours


def test_ordinary_programs_do_not_notice(machine):
    code = """
import subprocess, threading, multiprocessing, tempfile, json, asyncio, mmap, selectors
print(socket.getaddrinfo("localhost", 80)[0][4][0] in ("127.0.0.1", "::1"), len(socket.if_nameindex()) > 0)
print(subprocess.run(["sh", "-c", "echo $((1 + 1)) | cat"], capture_output=True, text=True).stdout.strip())
threads = [threading.Thread(target=print, args=("t",)) for _ in range(2)]
[t.start() for t in threads], [t.join() for t in threads]
with tempfile.TemporaryDirectory() as folder:
    os.mkfifo(folder + "/fifo"); os.chmod(folder, 0o1700); open(folder + "/f", "w").close()
    os.chmod(folder + "/f", 0o755)
a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))
server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname()).close()
asyncio.run(asyncio.sleep(0))
print(multiprocessing.get_context("fork").Pool(1).map(abs, [-3]))
"""
    done = run_filtered(machine, code)
    assert done.stdout.split() == ["True", "True", "2", "t", "t", "b'x'", "[3]"], done.stderr


def test_a_call_of_x32_does_not_exist(machine):
    done = run_filtered(machine, "print(call(0x40000000 | 39))")
    assert done.stdout == "ENOSYS\n"


if os.uname().machine == "x86_64":  # only there has a 64-bit program this entry

    def test_the_entry_of_32_bit_programs_ends_the_process(machine):
        getpid = "b8 14 00 00 00 cd 80 c3"  # mov eax, 20; int 0x80; ret
        code = f"""
import mmap
page = mmap.mmap(-1, 4096, prot=7); page.write(bytes.fromhex({getpid!r}))
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
"""
        done = run_filtered(machine, code)
        assert (done.returncode, done.stdout) == (-signal.SIGSYS, "")
