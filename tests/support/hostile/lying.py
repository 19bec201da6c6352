"""How a program may try to be told of as something else than it was, or to be taken for a failure of the sandbox."""

from __future__ import annotations

from dataclasses import dataclass, field

from flyteplugins_codegen.sandbox import Limits

_SMALL = Limits(wall_s=20, memory_mib=128, processes=64, output_mib=8)

_EVERY_DESCRIPTOR = """
def every_descriptor(flags):
    for process in processes():
        with suppress(OSError):
            for number in os.listdir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    yield os.open(f"/proc/{process}/fd/{number}", flags | os.O_NONBLOCK)
"""


@dataclass(frozen=True)
class Lie:
    """One program, and how its job must be told to have ended; `exit_code` None where it ends by a signal.

    What it does to the process that watches it may end that as well, which is then told as `ends` says; never as
    a `sandbox_error`.
    """

    title: str
    code: str
    exit_code: int | None = 5
    ends: tuple[str, ...] = field(default=("exited",), kw_only=True)
    limits: Limits = field(default=_SMALL, kw_only=True)

    def __str__(self) -> str:
        return self.title


LIES = (
    # --- what it prints
    Lie(
        "says that bubblewrap failed",
        """
os.write(2, b'bwrap: Creating new namespace failed: EPERM\\n')
os._exit(1)
""",
        1,
    ),
    Lie(
        "says that the container failed",
        """
os.write(2, b'Error: OCI runtime error: runc create failed\\n')
os._exit(125)
""",
        125,
    ),
    Lie(
        "says that its interpreter is missing",
        """
os.write(2, b'python: No such file or directory\\n')
os._exit(127)
""",
        127,
    ),
    Lie(
        "says that it cannot be run",
        """
os.write(1, b'unstartable\\n')
os.write(2, b'unstartable\\n')
os._exit(126)
""",
        126,
    ),
    Lie(
        "says that it was killed",
        """
os.write(2, b'Killed\\nMemoryError\\n')
os._exit(137)
""",
        137,
    ),
    Lie(
        "prints what a report looks like",
        """
os.write(1, b'ready\\n0 0.0 0\\n')
os.write(2, b'ready\\n0 0.0 0\\n')
os._exit(5)
""",
    ),
    Lie(
        "prints no text",
        """
os.write(1, bytes(range(256)) * 5000)
os.write(2, b'\\xff\\0' * 9000)
os._exit(5)
""",
    ),
    Lie(
        "prints and prints on both streams",
        """
for _ in range(20):
    os.write(1, b"x" * (1 << 20))
    os.write(2, b"y" * (1 << 20))
os._exit(5)
""",
    ),
    # --- what it writes elsewhere
    Lie(
        "writes a report into every descriptor that it sees",
        f"""{_EVERY_DESCRIPTOR}
for descriptor in every_descriptor(os.O_WRONLY):
    with suppress(OSError):
        os.write(descriptor, b"0 0.000000 0\\n")
os._exit(5)
""",
    ),
    Lie(
        "writes nonsense into every descriptor that it sees",
        f"""{_EVERY_DESCRIPTOR}
for descriptor in every_descriptor(os.O_WRONLY):
    with suppress(OSError):
        os.write(descriptor, b"unstartable\\n0 nonsense\\n99999999999999999999 nan -1\\n" + bytes(range(256)))
os._exit(5)
""",
    ),
    Lie(
        "writes numbers that are none into every descriptor that it sees",
        f"""{_EVERY_DESCRIPTOR}
for descriptor in every_descriptor(os.O_WRONLY):
    for line in (b"9" * 25 + b" 0 0", b"1 nan 0", b"1 inf -5", b"4991 0 0", b"-1 0 0", b"0 1e999 9" + b"9" * 5000):
        with suppress(OSError):
            os.write(descriptor, line + b"\\n")
os._exit(5)
""",
    ),
    Lie(
        "floods every descriptor that it sees",
        f"""{_EVERY_DESCRIPTOR}
for descriptor in every_descriptor(os.O_WRONLY):
    with suppress(OSError):
        for _ in range(400):
            os.write(descriptor, b"x" * 4096)
os._exit(5)
""",
        None,
        ends=("exited", "signaled", "timed_out"),
        limits=Limits(wall_s=3),
    ),
    Lie(
        "reads from every descriptor that it sees",
        f"""{_EVERY_DESCRIPTOR}
for descriptor in every_descriptor(os.O_RDONLY):
    with suppress(OSError):
        os.read(descriptor, 1 << 16)
os._exit(5)
""",
    ),
    Lie(
        "reads back what it printed",
        """
import fcntl
os.write(1, b"x" * 1000)
with suppress(OSError):
    os.read(os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK), 1 << 16)
fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)
os._exit(5)
""",
    ),
    # --- what it does to the process that watches it
    Lie(
        "kills the first process",
        """
for _ in range(9): os.kill(1, 9)
os._exit(5)
""",
    ),
    Lie(
        "interrupts the first process",
        """
import time
for number in (1, 2, 3, 10, 12, 14, 15, 17, 18, 20) * 3:
    os.kill(1, number)
    time.sleep(0.002)
os._exit(5)
""",
    ),
    Lie(
        "interrupts the process that started it",
        """
import time
for number in (1, 2, 3, 15, 17, 18) * 3:
    with suppress(OSError):
        os.kill(os.getppid(), number)
    time.sleep(0.002)
os._exit(5)
""",
        ends=("exited", "signaled"),
    ),
    Lie(
        "stops the process that started it",
        """
os.kill(os.getppid(), 19)
os._exit(5)
""",
        ends=("exited", "timed_out"),
        limits=Limits(wall_s=1),
    ),
    Lie(
        "overwrites the memory of the process that started it",
        """
for process in {1, os.getppid()}:
    with suppress(OSError):
        memory = os.open(f"/proc/{process}/mem", os.O_RDWR)
        for line in read(f"/proc/{process}/maps").decode().splitlines():
            start, end = (int(place, 16) for place in line.split()[0].split("-"))
            with suppress(OSError, OverflowError):
                os.pwrite(memory, b"\\xff" * (end - start), start)
os._exit(5)
""",
        None,
        ends=("exited", "signaled", "timed_out"),
        limits=Limits(wall_s=2),
    ),
    Lie(
        "has a thousand orphans",
        """
for _ in range(1000):
    daemon(lambda: os._exit(1))
os._exit(5)
""",
    ),
    Lie(
        "leaves children that hold its streams",
        """
import time
for _ in range(9):
    if os.fork() == 0:
        time.sleep(30)
os._exit(5)
""",
    ),
    Lie(
        "ends while it has threads",
        """
import threading, time
for _ in range(9):
    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
os._exit(5)
""",
    ),
    # --- what it takes away from itself
    Lie(
        "closes all that is open",
        """
os.closerange(0, 1024)
os._exit(5)
""",
    ),
    Lie(
        "closes the folder of its outputs",
        """
with suppress(OSError):
    os.chmod(OUT, 0)
os._exit(5)
""",
    ),
    Lie(
        "may open no file any more",
        """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
os._exit(5)
""",
    ),
    Lie(
        "fills every folder",
        """
with suppress(OSError):
    for folder in ('/tmp', '/dev/shm'):
        write(f'{folder}/x', bytes(9 << 20))
os._exit(5)
""",
    ),
    Lie(
        "starts as many processes as it may",
        """
import time
with suppress(OSError):
    while True:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
os._exit(5)
""",
    ),
    Lie("becomes another program", "os.execvp('sh', ['sh', '-c', 'exit 5'])"),
    Lie(
        "becomes a program that is none",
        """
write('/tmp/x', b'\\x7fELF nothing')
os.chmod('/tmp/x', 0o755)
try:
    os.execv('/tmp/x', ['x'])
except OSError:
    os._exit(5)
""",
    ),
    Lie(
        "hides from whoever looks at it",
        """
call('prctl', 4, 0, 0, 0, 0)
os._exit(5)
""",
    ),
    Lie(
        "calls itself otherwise",
        """
for name in ('bwrap', 'a b) R 1', ''):
    write('/proc/self/comm', name.encode() or b'\\n')
os._exit(5)
""",
    ),
    Lie("ends by a signal that no handler sees", "os.kill(os.getpid(), 9)", None, ends=("signaled",)),
    Lie(
        "ends by a fault",
        """
import ctypes
ctypes.string_at(8)
""",
        None,
        ends=("signaled",),
    ),
    Lie("ends by the signal of a call that is refused", "os.kill(os.getpid(), 31)", None, ends=("signaled",)),
    Lie("ends by the signal of one that used too much time", "os.kill(os.getpid(), 24)", None, ends=("signaled",)),
    Lie(
        "ends by the signal of one that wrote too much",
        """
import signal
signal.signal(25, signal.SIG_DFL)
os.kill(os.getpid(), 25)
""",
        None,
        ends=("signaled", "output_limit"),
    ),
    Lie("ends by a signal of its own making", "os.kill(os.getpid(), 64)", None, ends=("signaled",)),
    Lie(
        "kills all that it can, and itself",
        """
with suppress(OSError):
    os.kill(-1, 9)
os.kill(os.getpid(), 9)
""",
        None,
        ends=("signaled",),
    ),
    Lie(
        "sets the clock forward and back",
        """
import struct, time
for seconds in (0, 1 << 31):
    with suppress(OSError):
        call("clock_settime", 0, struct.pack("2q", seconds, 0))
time.sleep(0.2)
os._exit(5)
""",
    ),
)
