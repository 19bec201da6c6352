"""What a program must not use up. Bombs are small: what they say LEAK at is some times their limit."""

from __future__ import annotations

from flyteplugins_codegen.sandbox import Limits
from hostile import ROOT, STAYS, SYSCALL, Program

_SMALL = Limits(wall_s=20, memory_mib=96, processes=64, output_mib=8, file_mib=4)
_SHORT = Limits(wall_s=0.4)
_ENDED = ("exited", "signaled", "out_of_memory", "output_limit")
_HARM = "it would use up this machine"

# Holds some MiB in as many processes; LEAK where all of them have them at once.
_TOGETHER = """
import time
reading, writing = os.pipe()
os.set_blocking(reading, False)
def hold(mib):
    {how}
    os.write(writing, b"x")
    time.sleep(20)
children = []
for _ in range({count}):
    children.append(os.fork())
    if children[-1] == 0:
        with suppress(MemoryError, OSError):
            hold({mib})
        os._exit(1)
held = ended = 0
while held + ended < {count}:
    with suppress(BlockingIOError):
        held += len(os.read(reading, 64))
    ended += os.waitpid(-1, os.WNOHANG)[0] > 0
    time.sleep(0.01)
time.sleep(0.5)  # where memory is only measured, that takes a moment
leak(held == {count}, held, "processes hold {mib} MiB each")
for child in children:
    with suppress(ProcessLookupError): os.kill(child, 9)
"""

_FILL = """
import errno
held = 0
try:
    while held < 32:
        with open(f"{folder}/filled-{{RUN}}-{{held}}", "wb", 0) as file:
            for _ in range(2):
                file.write(bytes(1 << 20))
                held += 1
except OSError as error:
    refused(error)
leak(held >= 32, held, "MiB")
for number in range(0, 33):
    with suppress(OSError): os.unlink(f"{folder}/filled-{{RUN}}-{{number}}")
"""

_MANY_FILES = """
os.mkdir("{folder}/many")
made = 0
try:
    for made in range(300_000):
        os.close(os.open(f"{folder}/many/{{made}}", os.O_CREAT | os.O_WRONLY))
except OSError as error:
    refused(error)
leak(made > 250_000, made, "files")
"""

PROGRAMS = (
    # --- processes
    Program(
        "starts processes without end, and stops at a refusal",
        """
import time
count = 0
try:
    while count < 100:
        child = os.fork()
        if child == 0:
            time.sleep(1)
            os._exit(0)
        count += 1
except OSError as error:
    refused(error)
leak(count >= 100, count)
""",
        ("EAGAIN",),
        limits=_SMALL,
    ),
    Program(
        "starts processes without end, each of which does so too",
        """
while True:
    with suppress(OSError): os.fork()
""",
        control=_HARM,
        ends=("timed_out",),
        limits=Limits(wall_s=0.6, processes=64),
    ),
    Program(
        "starts threads without end",
        """
import _thread, time
count = 0
try:
    while count < 100:
        _thread.start_new_thread(time.sleep, (3,))
        count += 1
except RuntimeError:
    say("REFUSED EAGAIN")
leak(count >= 100, count)
os.write(1, b"DONE\\n")
os._exit(0)
""",
        ("EAGAIN",),
        limits=_SMALL,
    ),
    # --- memory
    Program(
        "takes memory, all at once",
        """
try:
    kept = b'x' * (400 << 20)
    say('LEAK')
except MemoryError:
    say('REFUSED ENOMEM')
""",
        ("ENOMEM",),
        ends=_ENDED,
        limits=_SMALL,
    ),
    Program(
        "takes memory, bit by bit",
        """
kept = []
try:
    while len(kept) < 400:
        kept.append(b"x" * (1 << 20))
except MemoryError:
    kept.pop()
    say("REFUSED ENOMEM")
leak(len(kept) >= 400)
""",
        ("ENOMEM",),
        ends=_ENDED,
        limits=_SMALL,
    ),
    Program(
        "takes memory in many processes",
        _TOGETHER.format(how="kept = b'x' * (mib << 20)", count=10, mib=40),
        ends=_ENDED,
        limits=_SMALL,
    ),
    Program(
        "takes shared memory in many processes",
        _TOGETHER.format(
            how="import mmap; kept = mmap.mmap(-1, mib << 20); kept.write(b'x' * (mib << 20))", count=10, mib=40
        ),
        ends=_ENDED,
        limits=_SMALL,
    ),
    Program(
        "takes memory as files without a place",
        """
kept = []
try:
    while len(kept) < 100:
        kept.append(os.memfd_create("x"))
        os.write(kept[-1], bytes(4 << 20))
except MemoryError:
    say("REFUSED ENOMEM")
leak(len(kept) >= 100, len(kept) * 4, "MiB")
""",
        ("ENOMEM", *SYSCALL),
        ends=_ENDED,
        limits=_SMALL,
    ),
    Program(
        "takes shared memory that no process holds",
        """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
taken = []
try:
    while len(taken) < 10:
        taken.append(call("shmget", 0, 40 << 20, 0o1600))
        place = libc.shmat(taken[-1], None, 0)
        ctypes.memset(place, 1, 40 << 20)
        libc.shmdt(ctypes.c_void_p(place))
    say("LEAK")
finally:
    for each in taken:
        call("shmctl", each, 0, None)
""",
        ("ENOMEM", "ENOSPC", *SYSCALL),
        ends=_ENDED,
        limits=_SMALL,
    ),
    Program(
        "takes memory as stacks of threads",
        """
import ctypes, threading, time
threading.stack_size(64 << 20)
libc = ctypes.CDLL(None)
libc.pthread_self.restype = ctypes.c_ulong
held = []
def fill():
    attributes, place, size = ctypes.create_string_buffer(64), ctypes.c_void_p(), ctypes.c_size_t()
    libc.pthread_getattr_np(ctypes.c_ulong(libc.pthread_self()), attributes)
    libc.pthread_attr_getstack(attributes, ctypes.byref(place), ctypes.byref(size))
    ctypes.memset(place.value + (8 << 20), 1, 40 << 20)
    held.append(1)
    time.sleep(5)
try:
    for number in range(1, 11):
        threading.Thread(target=fill, daemon=True).start()
        while len(held) < number:
            time.sleep(0.01)
    say("LEAK")
except (MemoryError, RuntimeError):
    say("REFUSED ENOMEM")
os.write(1, b"DONE\\n")
os._exit(0)
""",
        ("ENOMEM",),
        ends=_ENDED,
        limits=_SMALL,
    ),
    Program(
        "takes memory as what waits in pipes",
        """
import fcntl
kept = []
while len(kept) < 160:
    pipe = os.pipe2(os.O_NONBLOCK)
    fcntl.fcntl(pipe[1], 1031, 1 << 20)
    os.write(pipe[1], bytes(1 << 20))
    kept.append(pipe)
say("LEAK")
""",
        ("EMFILE", "EPERM", "ENOMEM", "EAGAIN"),
        control=ROOT,
        ends=_ENDED,
        limits=_SMALL,
    ),
    # --- disks
    Program("fills /tmp", _FILL.format(folder="/tmp"), ("ENOSPC", "EDQUOT"), ends=_ENDED, limits=_SMALL),
    Program("fills /dev/shm", _FILL.format(folder="/dev/shm"), ("ENOSPC", "EDQUOT"), ends=_ENDED, limits=_SMALL),
    Program(
        "fills the folder of its outputs",
        _FILL.format(folder="{OUT}"),
        ("ENOSPC", "EDQUOT"),
        ends=_ENDED,
        limits=_SMALL,
    ),
    Program(
        "fills every folder that takes something",
        """
filled = 0
for folder, below, _ in os.walk("/"):
    if folder in ("/proc", "/sys"):
        below.clear()
    with suppress(OSError):
        with open(f"{folder}/filled", "wb", 0) as file:
            while filled < 64:
                file.write(bytes(1 << 20))
                filled += 1
leak(filled >= 64, filled)
""",
        control=_HARM,
        ends=_ENDED,
        limits=_SMALL,
    ),
    Program(
        "writes a file that is too long",
        """
with open('/tmp/' + RUN, 'wb', 0) as file:
    os.unlink(file.name)
    for _ in range(8): file.write(bytes(1 << 20))
say('LEAK')
""",
        ("EFBIG",),
        ends=("output_limit", "exited"),
        limits=_SMALL,
    ),
    Program(
        "makes a file seem too long",
        """
with open('/tmp/' + RUN, 'wb') as file:
    os.unlink(file.name)
    file.truncate(1 << 40)
say('LEAK')
""",
        ("EFBIG",),
        ends=("output_limit", "exited"),
        limits=_SMALL,
    ),
    Program(
        "makes files without end",
        _MANY_FILES.format(folder="/dev/shm"),
        ("ENOSPC", "ENOMEM", "EDQUOT"),
        control=_HARM,
        ends=_ENDED,
        limits=_SMALL,
    ),
    # --- descriptors
    Program(
        "opens files without end",
        """
kept = []
while len(kept) < 600:
    kept.append(os.open("/dev/null", os.O_RDONLY))
say("LEAK")
""",
        ("EMFILE",),
    ),
    # --- time
    Program(
        "uses the processor in many processes",
        """
import resource, time
for _ in range(3):
    if os.fork() == 0:
        while sum(os.times()[:2]) < 0.7: pass
        os._exit(0)
for _ in range(3):
    os.wait()
used = sum(os.times()[:4])
leak(used > 1.8, used)
""",
        ends=("timed_out",),
        limits=Limits(wall_s=20, cpu_s=0.5),
    ),
    Program(
        "sleeps past its time",
        """
import time
time.sleep(30)
""",
        control=STAYS,
        ends=("timed_out",),
        limits=_SHORT,
    ),
    Program(
        "ignores every signal",
        """
import signal, time
for number in set(signal.Signals) - {9, 19}: signal.signal(number, signal.SIG_IGN)
while True: time.sleep(1)
""",
        control=STAYS,
        ends=("timed_out",),
        limits=_SHORT,
    ),
    Program(
        "stops itself",
        """
import signal
os.kill(os.getpid(), signal.SIGSTOP)
""",
        control=STAYS,
        ends=("timed_out",),
        limits=_SHORT,
    ),
    Program(
        "stops all that it can",
        """
import signal
os.fork()
os.kill(-1, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
""",
        control="it would stop what runs here",
        ends=("timed_out",),
        limits=_SHORT,
    ),
    Program(
        "waits for a FIFO that nobody opens",
        """
os.mkfifo(f'{OUT}/fifo')
open(f'{OUT}/fifo')
""",
        control=STAYS,
        ends=("timed_out",),
        limits=_SHORT,
    ),
    Program(
        "waits in many processes that hold its streams",
        """
import time
for _ in range(20):
    if os.fork() == 0: time.sleep(30)
time.sleep(30)
""",
        control=STAYS,
        ends=("timed_out",),
        limits=_SHORT,
    ),
)
