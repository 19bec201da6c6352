"""Parts of the kernel that no job of ours needs, and that have been the way out of many a sandbox."""

from __future__ import annotations

from hostile import HOST, NAMESPACES, ROOT, SYSCALL, Program

_NOT_BUILT = ("ENOSYS", "EOPNOTSUPP")
_X86 = ("x86_64",)

# getpid by another entry than the usual one. A child does it, because the kernel may end whoever tries.
_BY_MACHINE_CODE = """
import ctypes, mmap
def enter():
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("{code}"))
    place = ctypes.addressof(ctypes.c_char.from_buffer(page))
    answer = ctypes.CFUNCTYPE(ctypes.c_int)(place)()
    if answer == os.getpid():
        say("LEAK")
    else:
        say("REFUSED", {{-1: "EPERM", -38: "ENOSYS"}}.get(answer, answer))
ended = in_child(enter)
if ended:
    say("REFUSED", "SIGNAL" if ended in (-11, -31) else ended)
"""

PROGRAMS = (
    Program(
        "loads a program into the kernel",
        """
import struct
attempt(call, 'bpf', 0, struct.pack('5I100x', 2, 4, 8, 1, 0), 120)
""",
        SYSCALL,
        ROOT,
        missing=_NOT_BUILT,
    ),
    Program(
        "loads a filter of packets into the kernel",
        """
import struct
attempt(call, 'bpf', 5, struct.pack('2I120x', 1, 0), 128)
""",
        SYSCALL,
        "an empty one is refused to anybody",
    ),
    Program(
        "counts what the processor does",
        """
import struct
attempt(call, 'perf_event_open', struct.pack('IIQQQQQ80x', 1, 128, 1, 0, 0, 0, 0x60), 0, -1, -1, 0)
""",
        SYSCALL,
        ROOT,
        missing=("ENOENT", "EOPNOTSUPP"),
    ),
    Program("handles page faults itself", "attempt(call, 'userfaultfd', 1)", SYSCALL, missing=_NOT_BUILT),
    Program(
        "adds a key to the kernel's keyrings",
        "attempt(call, 'add_key', b'user', RUN.encode(), b'x', 1, -1)",
        SYSCALL,
        missing=("ENOSYS", "EPERM"),
    ),
    Program("asks for a keyring", "attempt(call, 'keyctl', 0, -3, 1)", SYSCALL, missing=("ENOSYS", "EPERM")),
    Program("joins a keyring", "attempt(call, 'keyctl', 1, RUN.encode())", SYSCALL, missing=("ENOSYS", "EPERM")),
    Program("watches every file", "attempt(call, 'fanotify_init', 0, 0)", SYSCALL, ROOT, missing=_NOT_BUILT),
    Program(
        "watches some files in the same way",
        "attempt(call, 'fanotify_init', 0x200, 0)",
        SYSCALL,
        missing=(*_NOT_BUILT, "EINVAL"),
    ),
    Program(
        "learns how the kernel calls a file",
        """
import ctypes, struct
place = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
attempt(call, "name_to_handle_at", -100, IN.encode(), place, ctypes.byref(ctypes.c_int()), 0)
""",
        SYSCALL,
        missing=("EOPNOTSUPP", "EOVERFLOW"),
    ),
    Program(
        "opens the root of a disk by its number",
        """
import struct
for kind, number in ((1, struct.pack("2I", 2, 0)), (1, struct.pack("2I", 64, 0)), (129, struct.pack("QI", 2, 0))):
    reach("open_by_handle_at", os.open(IN, os.O_RDONLY), struct.pack("Ii", len(number), kind) + number, 0)
""",
        SYSCALL,
        ROOT,
    ),
    Program("starts another kernel", "reach('kexec_load', None, 99999, None, -1)", SYSCALL, ROOT, missing=_NOT_BUILT),
    Program(
        "starts another kernel from a file",
        "reach('kexec_file_load', -1, -1, 0, None, -1)",
        SYSCALL,
        ROOT,
        missing=_NOT_BUILT,
    ),
    Program("loads a module", "reach('init_module', None, 0, None)", SYSCALL, ROOT, missing=_NOT_BUILT),
    Program("loads a module from a file", "reach('finit_module', -1, b'', 0)", SYSCALL, ROOT, missing=_NOT_BUILT),
    Program("unloads a module", "reach('delete_module', b'no-such-module', 0x800)", SYSCALL, ROOT, missing=_NOT_BUILT),
    Program(
        "sets quotas", "reach('quotactl', 0x80000200, b'/no/such/disk', 0, None)", SYSCALL, ROOT, missing=_NOT_BUILT
    ),
    Program(
        "sets quotas by a descriptor",
        "reach('quotactl_fd', -1, 0x80000200, 0, None)",
        SYSCALL,
        ROOT,
        missing=_NOT_BUILT,
    ),
    Program("swaps onto a file", "reach('swapon', b'/no/such/file', 0)", SYSCALL, ROOT, missing=_NOT_BUILT),
    Program("ends swapping", "reach('swapoff', b'/no/such/file')", SYSCALL, ROOT, missing=_NOT_BUILT),
    Program("restarts the machine", "reach('reboot', 1, 2, 3, None)", SYSCALL, ROOT),
    Program("keeps books on every process", "reach('acct', b'/no/such/file')", SYSCALL, ROOT, missing=_NOT_BUILT),
    Program("hangs up its terminal", "reach('vhangup')", SYSCALL, "it would end a terminal"),
    Program(
        "reads the kernel's log",
        """
import ctypes
attempt(call, 'syslog', 3, ctypes.create_string_buffer(64), 64)
""",
        SYSCALL,
        ROOT,
    ),
    Program("asks how long the kernel's log is", "attempt(call, 'syslog', 10, None, 0)", SYSCALL, ROOT),
    Program(
        "opens the kernel's log",
        "for path in ('/dev/kmsg', '/proc/kmsg'): attempt(os.open, path, os.O_RDONLY | os.O_NONBLOCK)",
        ("ENOENT", "EACCES", "EPERM"),
        ROOT,
    ),
    Program(
        "opens the machine's memory",
        """
for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore"):
    leak(is_opened(path, os.O_RDONLY), path)
""",
        control="many a kernel is built without",
    ),
    Program(
        "reads the kernel's addresses",
        """
with suppress(OSError):
    leak(any(int(line.split()[0], 16) for line in read("/proc/kallsyms").splitlines()))
""",
        control=ROOT,
    ),
    Program(
        "reads what the kernel says of itself",
        """
for path in ("/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats", "/sys/kernel/debug", "/sys/firmware/dmi"):
    with suppress(OSError):
        leak(os.listdir(path) if os.path.isdir(path) else read(path), path)
""",
        control="many a kernel is built without",
    ),
    Program("takes the processor's ports", "reach('iopl', 9)", SYSCALL, ROOT, missing=_NOT_BUILT, machines=_X86),
    Program(
        "takes some of the processor's ports",
        "reach('ioperm', -1, -1, 1)",
        SYSCALL,
        ROOT,
        missing=_NOT_BUILT,
        machines=_X86,
    ),
    Program(
        "changes the processor's tables",
        """
import ctypes
attempt(call, 'modify_ldt', 0, ctypes.create_string_buffer(16), 16)
""",
        SYSCALL,
        missing=_NOT_BUILT,
        machines=_X86,
    ),
    Program(
        "calls the kernel as 32-bit programs do",
        _BY_MACHINE_CODE.format(code="b814000000cd80c3"),
        (*SYSCALL, "SIGNAL"),
        missing=("SIGNAL",),
        machines=_X86,
    ),
    Program(
        "calls the kernel by the numbers of x32",
        "attempt(call_number, 0x40000000 | 39)",
        SYSCALL,
        missing=("ENOSYS",),
        machines=_X86,
    ),
    Program(
        "makes memory that not even the kernel sees", "attempt(call, 'memfd_secret', 0)", SYSCALL, missing=_NOT_BUILT
    ),
    Program(
        "moves the memory of a process",
        "reach('migrate_pages', os.getppid(), 0, None, None)",
        SYSCALL,
        ROOT,
        missing=_NOT_BUILT,
    ),
    Program("looks up a file by its cookie", "reach('lookup_dcookie', 0, None, 0)", SYSCALL, ROOT, missing=_NOT_BUILT),
    Program(
        "sets the clock",
        """
import struct
reach('clock_settime', 99, struct.pack('2q', 0, 0))
""",
        SYSCALL,
        ROOT,
    ),
    Program(
        "sets the time of day",
        """
import struct
reach('settimeofday', struct.pack('2q', 0, -1), None)
""",
        SYSCALL,
        ROOT,
    ),
    Program(
        "turns the clock",
        """
import ctypes, struct
reach('adjtimex', ctypes.create_string_buffer(struct.pack('I204x', 0x8000), 208))
""",
        SYSCALL,
        ROOT,
    ),
    Program(
        "turns a clock",
        """
import ctypes, struct
reach('clock_adjtime', 99, ctypes.create_string_buffer(struct.pack('I204x', 0x8000), 208))
""",
        SYSCALL,
        ROOT,
    ),
    Program("renames the machine", "attempt(call, 'sethostname', b'other', 5)", SYSCALL, NAMESPACES),
    Program("renames its domain", "attempt(call, 'setdomainname', b'other', 5)", SYSCALL, NAMESPACES),
    Program(
        "types into a terminal",
        """
import fcntl
_, terminal = os.openpty()
os.setsid() if os.getpid() != os.getsid(0) else None
fcntl.ioctl(terminal, 0x540E, 0)
attempt(fcntl.ioctl, terminal, 0x5412, b"x")
""",
        SYSCALL,
        ROOT,
    ),
    Program(
        "pastes into a console",
        """
import fcntl
_, terminal = os.openpty()
try:
    fcntl.ioctl(terminal, 0x541C, b"\\x03")
except OSError as error:
    attempt(fcntl.ioctl, terminal, 0x541C, b"\\x03") if error.errno != 25 else say("LEAK ENOTTY")
""",
        SYSCALL,
        HOST,
    ),
)
