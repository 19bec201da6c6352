"""A zygote: an interpreter that waits with modules imported, and becomes each job in a fork (the name is Android's).

It runs inside bubblewrap as `sitecustomize.py`, which an interpreter imports when it is set up and has not yet looked
at the program that it was started for. There it stops and waits. A job's process *returns* from that import, so the
interpreter itself goes on to run the job's program: `__main__`, tracebacks, exit codes, threads, `atexit` and the
shutdown are the interpreter's own, not an imitation.

    zygote        reads one byte and one descriptor per job, forks, closes it; holds and parses nothing of any job
    `- init       process 1 of the job's namespaces: reads the request, prepares the root, gives up all rights, waits
       `- job     the program: in this process if its interpreter was started for it, else by exec

Init answers over the job's own socket (sequenced packets): `ready` with descriptors of the job's own folders, then,
when the job has ended, `STATUS CPU_SECONDS PEAK_KIB` as `sandbox.init` does; or `unstartable`, or the reason of a
failure. The settings of a zygote are marshalled data on its stdin, a job's request is a file in memory: the supervisor
writes both. Nothing that an earlier job wrote is ever read by an ancestor of a later job's process.
"""

from __future__ import annotations

import atexit
import gc
import marshal
import os
import sys

TYPE_CHECKING = False  # type checkers take it for typing's; importing typing would leave more behind in every job
if TYPE_CHECKING:
    import _socket
    from collections.abc import Iterable, Mapping
    from typing import Any, NoReturn, TypeAlias

    Contents: TypeAlias = Mapping[str, tuple[int, bytes]]  # name to mode and content

STANDARD_PATH = [folder for folder in sys.path if folder != os.path.dirname(__file__)]  # noqa: PTH120  -- no pathlib
UID = 1000
APP, INPUTS, OUTPUTS = "/app", "/var/inputs", "/var/outputs"
PRIVATE = (OUTPUTS, "/tmp", "/dev/shm")  # noqa: S108  -- in the job's own root
OF_JOBS = (APP, "/var/", "/tmp", "/dev/shm")  # noqa: S108  -- paths with other files in each job
CLONE_NUMBERS = {"x86_64": 56, "aarch64": 220}
# CLONE_NEWUSER, NEWNS, NEWPID, NEWIPC, NEWUTS, NEWNET, NEWCGROUP, and SIGCHLD at the end
USER_NAMESPACE, ALL_NAMESPACES = 0x10000000, 0x7E020000 | 17
NOSUID, NODEV, NOEXEC, READ_ONLY, REMOUNT, BIND = 2, 4, 8, 1, 32, 4096
SET_DUMPABLE, SET_SECCOMP, DROP_BOUND, SET_NO_NEW_PRIVILEGES = 4, 22, 24, 38  # prctl(2)
FILTER_MODE = 2
CAPABILITIES_V3 = 0x20080522
SET_INTERFACE_FLAGS, INTERFACE_UP = 0x8914, 1
SIGINT, SIGPIPE, SIGXFSZ = 2, 13, 25
ANCILLARY_BYTES = 256
FAILED = 126  # the exit code of a process that could not do its work


class Kernel:
    """Calls of the kernel, `sandbox.init`, and the modules that both need.

    A job finds these modules in `sys.modules` only if a preloaded module has imported them.
    """

    def __init__(self, init_source: str) -> None:
        import _signal  # type: ignore[import-not-found]  # part of every Python; `signal` would take 3 ms

        loaded, path = set(sys.modules), sys.path[:]
        sys.path[:] = STANDARD_PATH
        import _socket
        import ctypes
        import fcntl

        self.init = type(sys)("init")
        exec(compile(init_source, "init.py", "exec", dont_inherit=True), vars(self.init))  # noqa: S102  -- our own

        sys.path[:] = path
        for name in set(sys.modules) - loaded:
            del sys.modules[name]
        self.socket, self.fcntl, self.signal = _socket, fcntl, _signal
        self._ctypes, self._libc = ctypes, ctypes.PyDLL(None, use_errno=True)
        self._clone = CLONE_NUMBERS[os.uname().machine]

    def call(self, name: str, *arguments: int | str | bytes | None) -> int:
        """Call a function of the C library. Raises OSError with its name if it fails."""
        long = self._ctypes.c_long
        converted = [
            long(value) if isinstance(value, int) else value.encode() if isinstance(value, str) else value
            for value in arguments
        ]
        result: int = getattr(self._libc, name)(*converted)
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
        """Fork into new namespaces; -1 if the system refuses. The new process still has to call Python's own fork."""
        try:
            return self.call("syscall", self._clone, ALL_NAMESPACES, 0, 0, 0, 0)
        except OSError:
            return -1

    def leak(self, value: Any) -> None:
        """Keep an object as long as the process lives."""
        self._ctypes.pythonapi.Py_IncRef(self._ctypes.py_object(value))


# --- the zygote -------------------------------------------------------------------------------------------------------


def serve() -> None:
    """Import, then fork one child per message. Returns in a job's process, and nowhere else."""
    settings = read_all(0)
    gc.disable()
    shared: dict[str, Any] = {}
    atexit.register(leave_apart, sys.modules, shared)  # registered first, so that it is called last
    import typing  # noqa: F401  -- most programs import it, which takes longer than many of them run

    import_ahead(settings["modules"])
    set_path(settings["path"])
    preload(settings["preload"])
    kernel = Kernel(settings["init"])
    require_nothing_shared()
    kernel.leak(shared)
    shared.update((name, sys.modules[name]) for name in set(sys.modules) - {"__main__", "builtins", "sys"})
    channel = kernel.socket.socket(fileno=settings["channel"])
    gc.freeze()  # and no collection before: each job would write into the gaps that it leaves, and so copy their pages
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
    """Raise RuntimeError if a module has made memory that forks would share, or a thread, which no fork keeps."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123  -- no pathlib
        shared = [line for line in maps if line.split(" ")[1][1::2] == "ws"]
    if shared:
        raise RuntimeError(f"a preloaded module made memory in which each job could write to the next: {shared[0]}")
    if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208  -- as above
        raise RuntimeError("a preloaded module started a thread, which may hold a lock when a job is forked")


def import_ahead(modules: Iterable[tuple[str, bytes]]) -> None:
    """Import the modules of our own programs from their sources, each after those that it imports."""
    for name, source in modules:
        sys.modules[name] = module = type(sys)(name)
        module.__file__ = f"{APP}/{name}.py"
        exec(compile(source, module.__file__, "exec", dont_inherit=True), vars(module))  # noqa: S102  -- our own


def preload(names: Iterable[str]) -> None:
    """Import what jobs will import; a job finds out by itself that a module is missing."""
    for name in names:
        try:
            __import__(name)
        except ImportError:  # noqa: PERF203  -- each import may fail
            continue
    for path in list(sys.path_importer_cache):
        if path.startswith(OF_JOBS):
            del sys.path_importer_cache[path]
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def set_path(folders: list[str]) -> None:
    """Make `sys.path` what it would be if the interpreter had been started with these folders as its PYTHONPATH.

    It was started with this file's folder alone, so that only the requested modules of the environment run here.
    """
    absolute = [os.path.abspath(folder) for folder in folders]  # noqa: PTH100  -- as above
    sys.path[:] = dict.fromkeys([*absolute, *STANDARD_PATH])


def next_job(channel: _socket.socket) -> int:
    """The descriptor that comes with the next message. After the last message, end this process."""
    message, ancillary, _, _ = channel.recvmsg(1, ANCILLARY_BYTES)
    if not message:
        os._exit(0)  # the kernel then ends everything else in these namespaces
    return descriptors(ancillary)[0]


def descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    """The descriptors in the ancillary data of a message (SCM_RIGHTS)."""
    return [
        int.from_bytes(data[start : start + 4], sys.byteorder)
        for _, _, data in ancillary
        for start in range(0, len(data), 4)
    ]


def reap() -> None:
    """Reap the children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


# --- process 1 of a job -----------------------------------------------------------------------------------------------


def become_init(kernel: Kernel, control: _socket.socket) -> None:
    """Prepare the namespaces, wait for the release, start the job, wait for its end. Returns only in the job."""
    try:
        skip, request, entries = receive(control)
        prepare_root(kernel, request)
        enter(entries)
        folders = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in PRIVATE]
        give_up_rights(kernel)
        kernel.init.apply_limits(request["limits"])
        kernel.close_system_calls(request["filter"])
    except Exception as error:  # noqa: BLE001  -- whatever it is, the supervisor is told
        fail(control, str(error))
    if not kernel.init.can_start(request["command"][0], request["env"]["PATH"]):
        fail(control, "unstartable")
    rights = b"".join(folder.to_bytes(4, sys.byteorder) for folder in folders)
    control.sendmsg([b"ready"], [(1, 1, rights)])  # SOL_SOCKET, SCM_RIGHTS
    for folder in folders:
        os.close(folder)
    if not control.recv(1):  # the supervisor is gone
        os._exit(kernel.init.CANNOT_EXECUTE)
    kernel.call("prctl", SET_DUMPABLE, 0, 0, 0, 0)  # the job runs as the same user, and must not read this process
    kernel.signal.signal(SIGINT, kernel.signal.SIG_DFL)  # from the job, process 1 receives only signals that it handles
    job = start_job(kernel, control, request["command"][0])
    if job:
        wait(kernel, control, job)
    become_job(kernel, skip, request)


def start_job(kernel: Kernel, control: _socket.socket, name: str) -> int:
    """Fork; if the job's limits do not allow that, it ends as a command that cannot be executed."""
    try:
        return os.fork()
    except OSError as error:
        os.write(2, f"{name}: {error.strerror}\n".encode(errors="replace"))
        control.send(f"{kernel.init.CANNOT_EXECUTE << 8} 0 0".encode())
        os._exit(kernel.init.CANNOT_EXECUTE)


def fail(control: _socket.socket, message: str) -> NoReturn:
    """Send the reason of a failure, and end."""
    control.send(message.encode(errors="replace")[:4096])
    os._exit(FAILED)


def receive(control: _socket.socket) -> tuple[int, dict[str, Any], list[int]]:
    """How many words of the job's command this interpreter was started with, its request, its control groups' entries.

    Its standard streams become those of this process.
    """
    skip, ancillary, _, _ = control.recvmsg(1, ANCILLARY_BYTES)
    request, stdin, stdout, stderr, *entries = descriptors(ancillary)
    for number, stream in enumerate((stdin, stdout, stderr)):
        os.dup2(stream, number)
        os.close(stream)
    contents = read_all(request)
    os.close(request)
    return int(skip), contents, entries


def read_all(descriptor: int) -> dict[str, Any]:
    """The data that our supervisor put into a file in memory."""
    return dict(marshal.loads(os.pread(descriptor, os.fstat(descriptor).st_size, 0)))  # noqa: S302  -- written by the supervisor


def prepare_root(kernel: Kernel, request: Mapping[str, Any]) -> None:
    """Set up the job's own folders, network and /proc in the namespaces that this process was cloned into."""
    os.setsid()
    os.umask(0o022)
    map_user(0, UID)  # for the terminals: their file system requires a user 0
    options = f"mode=755,size={request['size']},nr_inodes={request['inodes']}"
    for path in (*PRIVATE, APP, INPUTS):
        kernel.call("mount", "tmpfs", path, "tmpfs", NOSUID | NODEV, options if path in PRIVATE else "mode=755")
    for folder, contents in ((APP, request["program"]), (INPUTS, request["inputs"])):
        write_files(folder, contents)
        kernel.call("mount", None, folder, None, REMOUNT | BIND | READ_ONLY | NOSUID | NODEV, None)
    kernel.call("mount", "proc", "/proc", "proc", NOSUID | NODEV | NOEXEC, None)
    kernel.call("mount", "devpts", "/dev/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    bring_up_loopback(kernel)
    write("/proc/sys/user/max_user_namespaces", "1")  # the one in give_up_rights
    cover(kernel)
    os.chdir(APP)


def cover(kernel: Kernel) -> None:
    """Cover what describes the kernel in /proc, and make the settings of the job's namespaces read-only."""
    for path in ("/proc/kallsyms", "/proc/keys"):
        if os.path.exists(path):  # noqa: PTH110  -- as above
            kernel.call("mount", "/dev/null", path, None, BIND, None)
    kernel.call("mount", "/proc/sys", "/proc/sys", None, BIND, None)
    kernel.call("mount", None, "/proc/sys", None, REMOUNT | BIND | READ_ONLY | NOSUID | NODEV | NOEXEC, None)


def enter(entries: Iterable[int]) -> None:
    """Enter the control groups of the job: a process without threads can do that itself."""
    for entry in entries:
        os.write(entry, b"0")
        os.close(entry)


def map_user(inside: int, outside: int) -> None:
    """Become the user `inside` in the user namespace that this process has just entered."""
    line = f"{inside} {outside} 1"
    for name, text in (("setgroups", "deny"), ("uid_map", line), ("gid_map", line)):
        write(f"/proc/self/{name}", text)


def write(path: str, text: str) -> None:
    """Write a setting of the kernel."""
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def write_files(folder: str, contents: Contents) -> None:
    """Write files below a folder of the job's own."""
    for name, (mode, content) in contents.items():
        if "/" in name:
            os.makedirs(f"{folder}/{name.rpartition('/')[0]}", exist_ok=True)  # noqa: PTH103  -- as above
        descriptor = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        written = 0
        while written < len(content):
            written += os.write(descriptor, content[written:])
        os.close(descriptor)


def bring_up_loopback(kernel: Kernel) -> None:
    """Let the job reach itself over its own loopback interface."""
    name, flags = b"lo".ljust(16, b"\0"), INTERFACE_UP.to_bytes(2, sys.byteorder)
    probe = kernel.socket.socket(kernel.socket.AF_INET, kernel.socket.SOCK_DGRAM)
    kernel.fcntl.ioctl(probe, SET_INTERFACE_FLAGS, name + flags + bytes(22))
    probe.close()


def give_up_rights(kernel: Kernel) -> None:
    """Enter a user namespace below the one that owns all the others, as an ordinary user without any capability."""
    kernel.call("unshare", USER_NAMESPACE)
    map_user(UID, 0)
    for capability in range(64):
        try:
            kernel.call("prctl", DROP_BOUND, capability, 0, 0, 0)
        except OSError:  # noqa: PERF203  -- the kernel knows no more
            break
    kernel.call("capset", CAPABILITIES_V3.to_bytes(4, sys.byteorder) + bytes(4), bytes(24))
    kernel.call("prctl", SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def wait(kernel: Kernel, control: _socket.socket, job: int) -> NoReturn:
    """Wait for the end of the job, report it, and end, which ends everything that the job left running."""
    os.closerange(0, 3)  # else the job could read its stdin again through this process
    sys.modules["resource"] = kernel.init.resource  # wait4 imports it: not one of the job's folders
    control.send(kernel.init.wait_for(job)[1].encode())
    os._exit(0)


# --- the job ----------------------------------------------------------------------------------------------------------


def become_job(kernel: Kernel, skip: int, request: Mapping[str, Any]) -> None:
    """Become what a fresh process would be. Returns if the interpreter can go on with the program that it was given.

    `skip` is how many words of the command name that program; 0 if the job has another one.
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
    """Close everything but the standard streams."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  -- as above
        if int(name) > 2:  # noqa: PLR2004  -- stderr
            try:
                os.close(int(name))
            except OSError:  # it was that of the listing itself
                continue


def execute(kernel: Kernel, command: list[str]) -> NoReturn:
    """Execute the command, as `sandbox.init` would start it."""
    for number in (SIGPIPE, SIGXFSZ):  # Python ignores both, and an ignored signal stays ignored
        kernel.signal.signal(number, kernel.signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606  -- no shell is wanted
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode(errors="replace"))
    os._exit(kernel.init.CANNOT_EXECUTE)


def renew(environment: Mapping[str, str]) -> None:
    """Renew what must not be the same in every process. `random` and `ssl` do so by themselves."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = fresh = type(main)("__main__")  # the names of the old one are frozen, and never collected
    vars(fresh).update(vars(main))
    if "__annotations__" in vars(main):
        fresh.__annotations__ = {}
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "TZ" in environment:
        import time

        time.tzset()


def leave_apart(modules: dict[str, Any], shared: Mapping[str, Any]) -> None:
    """At the very end, keep the interpreter from destroying what all jobs share: that would copy each page of it."""
    for name, module in shared.items():
        if modules.get(name) is module:
            del modules[name]


def main() -> None:
    """Serve. If anything fails in any of the processes, it ends instead of running a program half prepared."""
    try:
        serve()
    except BaseException as error:  # noqa: BLE001  -- see above
        os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="replace"))
        os._exit(FAILED)


if __name__ == "sitecustomize":
    main()
    del sys.modules[__name__]
    # The environment's own; if it has none, `site` ignores this ImportError.
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
