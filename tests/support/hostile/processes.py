"""Whom a program must not kill, watch or outlive, and what it must not become."""

from __future__ import annotations

from flyteplugins_codegen.sandbox import Limits
from hostile import HOST, NAMESPACES, ROOT, STAYS, SYSCALL, WRITING, Program

_HARM = "it would end what runs here"
_BUFFERS = """
import ctypes
class Piece(ctypes.Structure):
    _fields_ = [("place", ctypes.c_void_p), ("size", ctypes.c_size_t)]
data = ctypes.create_string_buffer(8)
piece = Piece(ctypes.addressof(data), 8)
"""
_FLAGS = (
    "{'user': 0x10000000, 'mount': 0x20000, 'uts': 0x4000000, 'ipc': 0x8000000, 'pid': 0x20000000,"
    " 'net': 0x40000000, 'cgroup': 0x2000000, 'time': 0x80}"
)

PROGRAMS = (
    # --- others
    Program("signals a process of the host", "attempt(os.kill, int(E['HOST_PID']), 0)", ("ESRCH",)),
    Program("signals a session of the host", "attempt(os.killpg, int(E['HOST_PID']), 0)", ("ESRCH",)),
    Program("takes hold of a process of the host", "attempt(os.pidfd_open, int(E['HOST_PID']))", ("ESRCH",)),
    Program(
        "kills all that it can",
        """
import signal, time
child = os.fork()
if child == 0:
    time.sleep(30)
    os._exit(0)
os.kill(-1, signal.SIGKILL)
say("KILLED", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        control=_HARM,
        is_alone=True,
    ),
    Program(
        "makes a process of the host less important",
        "attempt(os.setpriority, os.PRIO_PROCESS, int(E['HOST_PID']), 19)",
        ("ESRCH",),
    ),
    Program(
        "asks how important a process of the host is",
        "leak(os.getpriority(os.PRIO_PROCESS, int(E['HOST_PID'])) is not None)",
        ("ESRCH",),
    ),
    Program(
        "limits a process of the host",
        "attempt(call, 'prlimit64', int(E['HOST_PID']), 7, None, None)",
        (*SYSCALL, "ESRCH"),
        missing=("EPERM",),
    ),
    Program("watches a process of the host", "reach('ptrace', 0x4206, int(E['HOST_PID']), None, None)", SYSCALL, ROOT),
    # --- the process that started it
    Program("asks to be watched", "leak(in_child(lambda: attempt(call, 'ptrace', 0, 0, None, None)))", SYSCALL),
    Program("watches the process that started it", "reach('ptrace', 0x4206, os.getppid(), None, None)", SYSCALL, ROOT),
    Program(
        "reads the memory of the process that started it",
        _BUFFERS + "reach('process_vm_readv', os.getppid(), ctypes.byref(piece), 1, ctypes.byref(piece), 1, 0)",
        SYSCALL,
        ROOT,
    ),
    Program(
        "writes into the memory of the process that started it",
        _BUFFERS + "reach('process_vm_writev', os.getppid(), ctypes.byref(piece), 0, ctypes.byref(piece), 0, 0)",
        SYSCALL,
        ROOT,
    ),
    Program(
        "opens the memory of a process of the host",
        "attempt(os.open, f\"/proc/{E['HOST_PID']}/mem\", os.O_RDWR)",
        ("ENOENT",),
        ROOT,
    ),
    Program(
        "takes a descriptor of the process that started it",
        "reach('pidfd_getfd', os.pidfd_open(os.getppid()), 0, 0)",
        SYSCALL,
        ROOT,
    ),
    Program(
        "compares what two processes hold",
        "reach('kcmp', os.getpid(), os.getpid(), 1, 0, 0)",
        SYSCALL,
        missing=("ENOSYS",),
    ),
    Program(
        "advises another process on its memory",
        "reach('process_madvise', os.pidfd_open(os.getppid()), None, 0, 4, 0)",
        SYSCALL,
        missing=("ENOSYS",),
    ),
    # --- what outlives it
    Program(
        "leaves a daemon",
        "daemon(stay)",
        control=STAYS,
    ),
    Program(
        "leaves a daemon that no signal ends",
        """
import signal
def refuse():
    for number in set(signal.Signals) - {9, 19}:
        signal.signal(number, signal.SIG_IGN)
    stay()
daemon(refuse)
""",
        control=STAYS,
    ),
    Program(
        "leaves a stopped process",
        """
import signal
def stop():
    os.kill(os.getpid(), signal.SIGSTOP)
    stay()
daemon(stop)
""",
        control=STAYS,
    ),
    Program(
        "leaves a daemon that makes itself anew",
        """
import time
def flee():
    for _ in range(600):
        if os.fork():
            os._exit(0)
        time.sleep(0.05)
daemon(flee)
""",
        control=STAYS,
    ),
    Program(
        "leaves a process beside itself, not below",
        """
CLONE_PARENT, SIGCHLD = 0x8000, 17
if call("clone", CLONE_PARENT | SIGCHLD, None, None, None, None) == 0:
    stay()
""",
        control=STAYS,
        is_alone=True,
    ),
    Program(
        "leaves a process that holds its streams",
        """
import time
if os.fork() == 0:
    time.sleep(30)
""",
        control=STAYS,
        is_alone=True,
    ),
    Program(
        "leaves a process under another name",
        """
def rename():
    os.execve("/bin/sh", ["[kworker/0:1]", "-c", "exec sleep 30"], {"RUN": RUN})
daemon(rename)
""",
        control=STAYS,
    ),
    Program(
        "kills the first process",
        """
import time
os.kill(1, 9)
time.sleep(0.2)
""",
        control=_HARM,
        is_alone=True,
    ),
    Program(
        "sends every signal to the first process",
        """
import time
for number in range(1, 65):
    with suppress(OSError):
        os.kill(1, number)
time.sleep(0.2)
""",
        control=_HARM,
        is_alone=True,
    ),
    Program(
        "kills the process that started it",
        """
import time
os.kill(os.getppid(), 9)
time.sleep(0.2)
""",
        control=_HARM,
        is_alone=True,
    ),
    Program(
        "kills its own group",
        """
import signal
signal.signal(15, signal.SIG_IGN)
os.kill(0, 15)
""",
        control=_HARM,
        is_alone=True,
    ),
    # --- namespaces
    Program("makes a namespace", f"for name, flag in {_FLAGS}.items(): reach('unshare', flag)", SYSCALL),
    Program(
        "starts a process in a namespace of its own",
        f"""
for name, flag in {_FLAGS}.items():
    if name != "time":
        in_child(reach, "clone", flag | 17, None, None, None, None)
""",
        SYSCALL,
    ),
    Program(
        "starts a process in a namespace of its own, by the new call",
        """
import struct
for flag in (0x10000000, 0x20000, 0x40000000):
    in_child(reach, "clone3", struct.pack("8Q", flag, 0, 0, 0, 17, 0, 0, 0), 64)
""",
        SYSCALL,
    ),
    Program(
        "enters every namespace of the first process",
        """
for name in os.listdir("/proc/1/ns"):
    with suppress(PermissionError, FileNotFoundError):
        reach("setns", os.open(f"/proc/1/ns/{name}", os.O_RDONLY), 0)
reach("setns", os.pidfd_open(1), 0x20000)
""",
        (*SYSCALL, "EACCES"),
        NAMESPACES,
    ),
    Program(
        "makes a namespace by a program",
        """
import subprocess
leak(subprocess.run(['unshare', '--user', 'true'], stderr=subprocess.DEVNULL).returncode == 0)
""",
    ),
    Program(
        "enters a namespace by a program",
        """
import subprocess
leak(subprocess.run(['nsenter', '-t', '1', '--mount', 'true'], stderr=subprocess.DEVNULL).returncode == 0)
""",
        control=NAMESPACES,
    ),
    Program(
        "says who it is outside",
        """
for name in ('uid_map', 'gid_map', 'setgroups', 'projid_map'):
    attempt(write, f'/proc/self/{name}', b'0 0 1')
""",
        WRITING,
        control="a map is written once",
    ),
    # --- who it is
    Program(
        "becomes root",
        """
for action in (os.setuid, os.setgid, os.seteuid, os.setegid): attempt(action, 0)
attempt(os.setresuid, 0, 0, 0)
""",
        (*SYSCALL, "EINVAL"),
        ROOT,
    ),
    Program("joins a group", "attempt(os.setgroups, [0])", (*SYSCALL, "EINVAL"), ROOT),
    Program(
        "belongs to a group of the host",
        "leak(set(os.getgroups()) - {os.getgid(), 65534}, os.getgroups())",
        control="a process need not be in a second group",
    ),
    Program("is root", "leak(0 in os.getresuid() + os.getresgid())", control=ROOT),
    Program(
        "has a capability",
        """
for line in read("/proc/self/status").decode().splitlines():
    leak(line.startswith("Cap") and int(line.split()[1], 16), line)
""",
        control=NAMESPACES,
    ),
    Program(
        "takes a capability",
        """
import ctypes, struct
attempt(call, "capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", 1 << 21, 1 << 21, 0, 0, 0, 0))
""",
        ("EPERM",),
        NAMESPACES,
    ),
    Program(
        "keeps a capability for what it starts",
        "attempt(call, 'prctl', 24, 21, 0, 0, 0)",
        ("EPERM", "EINVAL"),
        NAMESPACES,
    ),
    Program("may gain privileges", "leak(b'NoNewPrivs:\\t1' not in read('/proc/self/status'))"),
    Program("may gain privileges again", "attempt(call, 'prctl', 38, 0, 0, 0, 0)", ("EINVAL",), "no process may"),
    Program("runs without a filter of its calls", "leak(b'Seccomp:\\t2' not in read('/proc/self/status'))"),
    Program(
        "takes its filter off",
        "for mode in (0, 1): attempt(call, 'prctl', 22, mode, 0, 0, 0)",
        ("EINVAL", "EPERM"),
        "no process may",
    ),
    Program(
        "becomes root by a program",
        """
import subprocess
for command in (["su", "-c", "id -u"], ["sudo", "-n", "id", "-u"], ["doas", "id", "-u"], ["pkexec", "id", "-u"]):
    with suppress(OSError):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
        leak(done.stdout.strip() == b"0", command)
""",
        control=ROOT,
    ),
    Program("becomes another kind of machine", "attempt(call, 'personality', 0x0040000)", SYSCALL, HOST),
    Program("becomes a 32-bit machine", "attempt(call, 'personality', 0x0008 | 0x0400000)", SYSCALL, HOST),
    # --- what it may use
    Program("makes itself more important", "attempt(os.nice, -5)", ("EPERM", "EACCES"), ROOT),
    Program(
        "runs before all others",
        """
attempt(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
attempt(call, "ioprio_set", 1, 0, 1 << 13)
""",
        ("EPERM",),
        ROOT,
    ),
    Program(
        "raises a limit",
        """
import resource
for name in ("NPROC", "NOFILE", "FSIZE", "CORE"):
    limit = getattr(resource, f"RLIMIT_{name}")
    soft, hard = resource.getrlimit(limit)
    try:
        resource.setrlimit(limit, (hard + 1, hard + 1) if hard != resource.RLIM_INFINITY else (1 << 40, 1 << 40))
        say("LEAK", name)
    except ValueError:
        say("REFUSED EPERM")
""",
        ("EPERM",),
    ),
    Program(
        "hides from the killer of what uses too much memory",
        """
for process in ('1', 'self', str(os.getppid())):
    attempt(write, f'/proc/{process}/oom_score_adj', b'-999')
""",
        (*WRITING, "ENOENT"),
        "it takes a privilege that root may lack",
    ),
    Program(
        "runs past the end of its sandbox",
        """
import time
call('prctl', 1, 0, 0, 0, 0)
os.setsid() if os.getpid() != os.getsid(0) else None
time.sleep(30)
""",
        control=STAYS,
        ends=("timed_out",),
        limits=Limits(wall_s=0.4),
    ),
)
