"""A Python that waits, with modules imported, and becomes each job in a forked child (the name is Android's).

It runs inside bubblewrap, put in as `sitecustomize.py`, which an interpreter imports when it is all set up and has not
yet looked at the program that it was started for. There it stops and waits. A job's process *returns* from that import,
so the interpreter itself goes on to run the program that the job brings: `__main__`, tracebacks, exit codes, threads,
`atexit` and the end are the interpreter's own, not an imitation.

    zygote        sees one byte and one descriptor per job, forks, closes it; holds and parses nothing of any job
    `- init       process 1 of the job's namespaces: reads the request, furnishes the root, gives up all rights, waits
       `- job     the program: in process where its interpreter was started so, else by exec

Init answers over the job's own socket (sequenced packets): `ready` with descriptors of the job's own folders, then,
when the job has ended, `STATUS CPU_SECONDS PEAK_KIB` as our reaper does; or `unstartable`, or why it failed. What a
zygote is to be comes as marshalled data on its stdin, what a job is in a file in memory: both are the supervisor's own
words. Nothing that an earlier job wrote is ever read by a process from which a later one stems.
"""

from __future__ import annotations

import atexit
import gc
import marshal
import os
import sys

TYPE_CHECKING = False  # as typing has it; importing typing would leave more behind in every job
if TYPE_CHECKING:
    import _socket
    from collections.abc import Iterable, Mapping
    from typing import Any, NoReturn, TypeAlias

    Contents: TypeAlias = Mapping[str, tuple[int, bytes]]  # name to mode and content

STANDARD_PATH = [folder for folder in sys.path if folder != os.path.dirname(__file__)]  # noqa: PTH120  -- no pathlib
UID = 1000
APP, INPUTS, OUTPUTS = "/app", "/var/inputs", "/var/outputs"
PRIVATE = (OUTPUTS, "/tmp", "/dev/shm")  # noqa: S108  -- of the job's own root
OF_JOBS = (APP, "/var/", "/tmp", "/dev/shm")  # noqa: S108  -- what lies here is another in each job
CLONE_NUMBERS = {"x86_64": 56, "aarch64": 220}
# CLONE_NEWUSER, NEWNS, NEWPID, NEWIPC, NEWUTS, NEWNET, NEWCGROUP, and SIGCHLD at the end
USER_NAMESPACE, ALL_NAMESPACES = 0x10000000, 0x7E020000 | 17
NOSUID, NODEV, NOEXEC, READ_ONLY, REMOUNT, BIND = 2, 4, 8, 1, 32, 4096
SET_DUMPABLE, SET_SECCOMP, DROP_BOUND, SET_NO_NEW_PRIVILEGES = 4, 22, 24, 38  # prctl(2)
FILTER_MODE = 2
CAPABILITIES_V3 = 0x20080522
SET_INTERFACE_FLAGS, INTERFACE_UP = 0x8914, 1
SIGINT, SIGPIPE, SIGXFSZ = 2, 13, 25
CANNOT_EXECUTE = 126  # as shells do
ANCILLARY_BYTES = 256


class Kernel:
    """The modules that only we use; where the preloaded ones did not bring them, a job does not find them imported."""

    def __init__(self) -> None:
        import _signal  # type: ignore[import-not-found]  # part of every Python; `signal` would take 3 ms

        found, path = set(sys.modules), sys.path[:]
        sys.path[:] = STANDARD_PATH
        import _socket
        import ctypes
        import fcntl
        import resource

        sys.path[:] = path
        for name in set(sys.modules) - found:
            del sys.modules[name]
        self.socket, self.fcntl, self.resource, self.signal = _socket, fcntl, resource, _signal
        self._ctypes, self._libc = ctypes, ctypes.PyDLL(None, use_errno=True)
        self._clone = CLONE_NUMBERS[os.uname().machine]

    def call(self, name: str, *arguments: int | str | bytes | None) -> int:
        """Call a function of the C library. Raises OSError with its name."""
        long = self._ctypes.c_long
        given = [
            long(each) if isinstance(each, int) else each.encode() if isinstance(each, str) else each
            for each in arguments
        ]
        result: int = getattr(self._libc, name)(*given)
        if result < 0:
            code = self._ctypes.get_errno()
            raise OSError(code, f"{name}{arguments!a:.80}: {os.strerror(code)}")
        return result

    def close_system_calls(self, program: bytes) -> None:
        """Install a seccomp filter for this process and all that it starts."""
        code = self._ctypes.create_string_buffer(program)
        words = (len(program) // 8, self._ctypes.addressof(code))  # struct sock_fprog
        head = self._ctypes.create_string_buffer(b"".join(word.to_bytes(8, sys.byteorder) for word in words))
        self.call("prctl", SET_SECCOMP, FILTER_MODE, self._ctypes.addressof(head), 0, 0)

    def clone(self) -> int:
        """Fork into new namespaces; -1 where the system does not. A fork of Python's own follows in the new process."""
        try:
            return self.call("syscall", self._clone, ALL_NAMESPACES, 0, 0, 0, 0)
        except OSError:
            return -1

    def leak(self, value: Any) -> None:
        """Keep an object for as long as the process is there."""
        self._ctypes.pythonapi.Py_IncRef(self._ctypes.py_object(value))


# --- the zygote -------------------------------------------------------------------------------------------------------


def serve() -> None:
    """Import, then fork one child per message. Returns in a job's process, and nowhere else."""
    settings = read_all(0)
    gc.disable()
    shared: dict[str, Any] = {}
    atexit.register(leave_apart, sys.modules, shared)  # before all others, so that it is the last
    import typing  # noqa: F401  -- most programs import it, and would wait longer for it than they run

    import_ahead(settings["modules"])
    set_path(settings["path"])
    preload(settings["preload"])
    kernel = Kernel()
    require_nothing_shared()
    kernel.leak(shared)
    shared.update((name, sys.modules[name]) for name in set(sys.modules) - {"__main__", "builtins", "sys"})
    channel = kernel.socket.socket(fileno=settings["channel"])
    gc.freeze()  # and no collection before it: into the gaps that it leaves each job would write, and copy their pages
    channel.send(b"r")
    while True:
        control = next_job(channel)
        if kernel.clone() == 0:
            channel.close()
            become_init(kernel, kernel.socket.socket(fileno=control))
            return
        os.close(control)
        reap()


def require_nothing_shared() -> None:
    """Refuse to serve where a module has made what a fork does not part, or what does not come through one whole."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123  -- no pathlib
        shared = [line for line in maps if line.split(" ")[1][1::2] == "ws"]
    if shared:
        raise RuntimeError(f"a preloaded module made memory in which each job could write to the next: {shared[0]}")
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208  -- as above
        raise RuntimeError("a preloaded module started a thread, which may hold a lock when a job is forked")


def import_ahead(modules: Iterable[tuple[str, bytes]]) -> None:
    """Have the modules that a program of ours brings along, each after those that it imports."""
    for name, source in modules:
        sys.modules[name] = module = type(sys)(name)
        module.__file__ = f"{APP}/{name}.py"
        exec(compile(source, module.__file__, "exec", dont_inherit=True), vars(module))  # noqa: S102  -- our own


def preload(names: Iterable[str]) -> None:
    """Import what jobs will import; what is not there is the job's to find missing."""
    for name in names:
        try:
            __import__(name)
        except ImportError:  # noqa: PERF203  -- each by itself
            continue
    for path in list(sys.path_importer_cache):
        if path.startswith(OF_JOBS):
            del sys.path_importer_cache[path]
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def set_path(folders: list[str]) -> None:
    """Make the path what it would be, had the interpreter been started with these folders as its PYTHONPATH.

    It was started with this file's alone, so that of the environment nothing runs here but what was asked for.
    """
    absolute = [os.path.abspath(folder) for folder in folders]  # noqa: PTH100  -- as above
    sys.path[:] = dict.fromkeys([*absolute, *STANDARD_PATH])


def next_job(channel: _socket.socket) -> int:
    """The descriptor that comes with the next message. The end of the messages is the end of this process."""
    message, ancillary, _, _ = channel.recvmsg(1, ANCILLARY_BYTES)
    if not message:
        os._exit(0)  # and the kernel ends whatever else is in these namespaces
    return descriptors(ancillary)[0]


def descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    """What came as SCM_RIGHTS."""
    return [
        int.from_bytes(data[start : start + 4], sys.byteorder)
        for _, _, data in ancillary
        for start in range(0, len(data), 4)
    ]


def reap() -> None:
    """Take leave of the children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


# --- process 1 of a job -----------------------------------------------------------------------------------------------


def become_init(kernel: Kernel, control: _socket.socket) -> None:
    """Furnish, wait for the word to go, start the job, wait for its end. Returns in the job's process only."""
    try:
        skip, request, entries = receive(control)
        furnish(kernel, request)
        enter(entries)
        folders = [os.open(place, os.O_RDONLY | os.O_DIRECTORY) for place in PRIVATE]
        give_up_rights(kernel)
        limit(kernel, request["limits"])
        kernel.close_system_calls(request["filter"])
    except Exception as error:  # noqa: BLE001  -- whatever it is, the supervisor is to hear of it
        fail(control, str(error))
    if not can_start(request["command"][0], request["env"]):
        fail(control, "unstartable")
    rights = b"".join(folder.to_bytes(4, sys.byteorder) for folder in folders)
    control.sendmsg([b"ready"], [(1, 1, rights)])  # SOL_SOCKET, SCM_RIGHTS
    for folder in folders:
        os.close(folder)
    if not control.recv(1):  # the supervisor has gone
        os._exit(CANNOT_EXECUTE)
    kernel.call("prctl", SET_DUMPABLE, 0, 0, 0, 0)  # the job runs as the same user, and is not to look into this
    kernel.signal.signal(SIGINT, kernel.signal.SIG_DFL)  # to process 1, of a job's signals only handled ones arrive
    job = start_job(control, request["command"][0])
    if job:
        wait(control, job)
    become_job(kernel, skip, request)


def start_job(control: _socket.socket, name: str) -> int:
    """Fork; where the job's limits do not allow that, it ends as a command that cannot be run."""
    try:
        return os.fork()
    except OSError as error:
        os.write(2, f"{name}: {error.strerror}\n".encode(errors="replace"))
        control.send(f"{CANNOT_EXECUTE << 8} 0 0".encode())
        os._exit(CANNOT_EXECUTE)


def fail(control: _socket.socket, message: str) -> NoReturn:
    """Say why there will be no job."""
    control.send(message.encode(errors="replace")[:4096])
    os._exit(CANNOT_EXECUTE)


def receive(control: _socket.socket) -> tuple[int, dict[str, Any], list[int]]:
    """How many words of the job's command we were started with, its request, and the entries to its control groups.

    Its standard streams become ours.
    """
    skip, ancillary, _, _ = control.recvmsg(1, ANCILLARY_BYTES)
    request, stdin, stdout, stderr, *entries = descriptors(ancillary)
    for number, stream in enumerate((stdin, stdout, stderr)):
        os.dup2(stream, number)
        os.close(stream)
    told = read_all(request)
    os.close(request)
    return int(skip), told, entries


def read_all(descriptor: int) -> dict[str, Any]:
    """What our supervisor put into a file in memory."""
    return dict(marshal.loads(os.pread(descriptor, os.fstat(descriptor).st_size, 0)))  # noqa: S302  -- its own words


def furnish(kernel: Kernel, request: Mapping[str, Any]) -> None:
    """Make the namespaces that this process was cloned into the job's own."""
    os.setsid()
    os.umask(0o022)
    map_user(0, UID)  # for the terminals: their file system wants a user 0
    options = f"mode=755,size={request['size']},nr_inodes={request['inodes']}"
    for place in (*PRIVATE, APP, INPUTS):
        kernel.call("mount", "tmpfs", place, "tmpfs", NOSUID | NODEV, options if place in PRIVATE else "mode=755")
    for place, contents in ((APP, request["program"]), (INPUTS, request["inputs"])):
        write_files(place, contents)
        kernel.call("mount", None, place, None, REMOUNT | BIND | READ_ONLY | NOSUID | NODEV, None)
    kernel.call("mount", "proc", "/proc", "proc", NOSUID | NODEV | NOEXEC, None)
    kernel.call("mount", "devpts", "/dev/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    bring_up_loopback(kernel)
    write("/proc/sys/user/max_user_namespaces", "1")  # the one that follows
    cover(kernel)
    os.chdir(APP)


def cover(kernel: Kernel) -> None:
    """Hide what tells of the kernel, and close the settings of the job's namespaces, which its user could write to."""
    for path in ("/proc/kallsyms", "/proc/keys"):
        if os.path.exists(path):  # noqa: PTH110  -- pathlib is for jobs that ask for it
            kernel.call("mount", "/dev/null", path, None, BIND, None)
    kernel.call("mount", "/proc/sys", "/proc/sys", None, BIND, None)
    kernel.call("mount", None, "/proc/sys", None, REMOUNT | BIND | READ_ONLY | NOSUID | NODEV | NOEXEC, None)


def enter(entries: Iterable[int]) -> None:
    """Go into the control groups of the job, which is for a process without threads to do by itself."""
    for entry in entries:
        os.write(entry, b"0")
        os.close(entry)


def map_user(inside: int, outside: int) -> None:
    """Be the user `inside` in the user namespace that this process has just come into."""
    line = f"{inside} {outside} 1"
    for name, text in (("setgroups", "deny"), ("uid_map", line), ("gid_map", line)):
        write(f"/proc/self/{name}", text)


def write(path: str, text: str) -> None:
    """Write a setting of the kernel's."""
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def write_files(folder: str, contents: Contents) -> None:
    """Lay files out below a folder of the job's own."""
    for name, (mode, content) in contents.items():
        if "/" in name:
            os.makedirs(f"{folder}/{name.rpartition('/')[0]}", exist_ok=True)  # noqa: PTH103  -- as above
        descriptor = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        written = 0
        while written < len(content):
            written += os.write(descriptor, content[written:])
        os.close(descriptor)


def bring_up_loopback(kernel: Kernel) -> None:
    """Give the job a network in which it can reach itself."""
    name, flags = b"lo".ljust(16, b"\0"), INTERFACE_UP.to_bytes(2, sys.byteorder)
    probe = kernel.socket.socket(kernel.socket.AF_INET, kernel.socket.SOCK_DGRAM)
    kernel.fcntl.ioctl(probe, SET_INTERFACE_FLAGS, name + flags + bytes(22))
    probe.close()


def give_up_rights(kernel: Kernel) -> None:
    """Move below the user namespace that owns all the others, as an ordinary user who can never be more."""
    kernel.call("unshare", USER_NAMESPACE)
    map_user(UID, 0)
    for capability in range(64):
        try:
            kernel.call("prctl", DROP_BOUND, capability, 0, 0, 0)
        except OSError:  # noqa: PERF203  -- one more than the kernel knows
            break
    kernel.call("capset", CAPABILITIES_V3.to_bytes(4, sys.byteorder) + bytes(4), bytes(24))
    kernel.call("prctl", SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def can_start(name: str, environment: Mapping[str, str]) -> bool:
    """Whether there is a program of that name."""
    folders = [""] if "/" in name else [f"{folder}/" for folder in environment["PATH"].split(":")]
    return any(os.access(folder + name, os.X_OK) for folder in folders)


def limit(kernel: Kernel, limits: str) -> None:
    """Set the limits of a job, given as our reaper takes them: `NAME=SOFT:HARD,...`."""
    resource = kernel.resource
    for each in limits.split(","):
        name, _, values = each.partition("=")
        kind = getattr(resource, f"RLIMIT_{name}")
        ceiling = resource.getrlimit(kind)[1]
        soft, hard = (int(value) for value in values.split(":"))
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def wait(control: _socket.socket, job: int) -> NoReturn:
    """Reap whatever ends until the job itself does, report on it, and end, which ends all that it left running."""
    os.closerange(0, 3)  # what is told a job once on its stdin is not to be read anew here
    ended = 0
    while ended != job:
        ended, status, usage = os.wait4(-1, 0)
    seconds = usage.ru_utime + usage.ru_stime
    control.send(f"{status} {seconds:.6f} {usage.ru_maxrss}".encode())
    os._exit(0)


# --- the job ----------------------------------------------------------------------------------------------------------


def become_job(kernel: Kernel, skip: int, request: Mapping[str, Any]) -> None:
    """Be what a fresh process would be. Returns when the interpreter is to go on with the program that it was given.

    `skip` is how many words of the command say which program that is; 0 where it is another.
    """
    kernel.call("prctl", SET_DUMPABLE, 1, 0, 0, 0)
    close_descriptors()
    command = list(request["command"])
    os.environ.clear()
    os.environ.update(request["env"])
    if not skip:
        execute(kernel, command)
    kernel.signal.signal(SIGINT, kernel.signal.default_int_handler)
    sys.argv[1:] = command[skip:]
    sys.orig_argv[:] = command
    renew(request["env"])
    gc.enable()


def close_descriptors() -> None:
    """Close whatever is open but the standard streams."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  -- as above
        if int(name) > 2:  # noqa: PLR2004  -- stderr
            try:
                os.close(int(name))
            except OSError:  # it was the listing's own
                continue


def execute(kernel: Kernel, command: list[str]) -> NoReturn:
    """Be the command, as our reaper would start it."""
    for number in (SIGPIPE, SIGXFSZ):  # Python ignores both, and what is ignored stays ignored
        kernel.signal.signal(number, kernel.signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606  -- no shell is wanted
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode(errors="replace"))
    os._exit(CANNOT_EXECUTE)


def renew(environment: Mapping[str, str]) -> None:
    """Make anew what every process has its own of. `random` and `ssl` see to themselves."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = fresh = type(main)("__main__")  # the old one's names are frozen, and never collected
    vars(fresh).update(vars(main))
    if "__annotations__" in vars(main):
        fresh.__annotations__ = {}
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "TZ" in environment:
        import time

        time.tzset()


def leave_apart(modules: dict[str, Any], shared: Mapping[str, Any]) -> None:
    """At the very end, keep the interpreter from taking apart what every job shares: it would copy each page of it."""
    for name, module in shared.items():
        if modules.get(name) is module:
            del modules[name]


def main() -> None:
    """Serve; whatever fails in any of the processes, none of them goes on to run a program half prepared."""
    try:
        serve()
    except BaseException as error:  # noqa: BLE001  -- as it says
        os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
        os._exit(CANNOT_EXECUTE)


if __name__ == "sitecustomize":
    main()
    del sys.modules[__name__]
    # The environment's own; where there is none, `site` takes this ImportError for just that.
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
