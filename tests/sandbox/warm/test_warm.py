"""Jobs in forks of a zygote: nothing passes from one job to the next, and everything is as in a cold run.

Each map here uses one worker, so that a job and the next one share their zygote; the seed of string hashes, the one
thing that they may share, shows that they do.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from suites import RIGHT, environment_with, run_suites, suite_job

from flyteplugins_codegen.judging.suites.run import SUITE_MODULES
from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS
from flyteplugins_codegen.sandbox import ALL, Execution, Job, Limits, Sandbox, bwrap_options, open_sandbox, opening
from flyteplugins_codegen.sandbox.python_files import find_interpreter
from flyteplugins_codegen.sandbox.warm import pool as warm_zygotes

PRELUDE = "import os, sys, time, signal, pathlib, socket, subprocess\n"
LIBC = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    return getattr(libc, name)(*arguments)
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("bubblewrap") as opened:
        yield opened


def job(code: str, **settings: Any) -> Job:
    program = {"main.py": (PRELUDE + code).encode(), **settings.pop("program", {})}
    return Job(command=("python", "/app/main.py", *settings.pop("arguments", ())), program=program, **settings)


def run_in_turn(sandbox: Sandbox, *jobs: Job) -> list[Execution]:
    executions = sandbox.map(jobs, workers=1)
    assert all("warm" in execution.isolation for execution in executions), executions
    return executions


def reported(execution: Execution) -> dict[str, Any]:
    """The fields of a job's result, without what is measured and without the paths of its outputs."""
    fields = ("status", "exit_code", "signal", "stdout", "stderr", "stdout_cut", "stderr_cut", "message")
    values = {name: getattr(execution, name) for name in fields}
    outputs = {name: output.read_bytes(100) for name, output in execution.outputs.items() if not output.is_directory}
    return {**values, "outputs": outputs, "missing": execution.missing_outputs, "refused": execution.refused_outputs}


# --- from one job to the next -----------------------------------------------------------------------------------------

LEFT = {
    "a file in /tmp": ("open('/tmp/x', 'w')", "print('LEAK' * bool(os.listdir('/tmp')))"),
    "a file in /dev/shm": ("open('/dev/shm/x', 'w')", "print('LEAK' * bool(os.listdir('/dev/shm')))"),
    "an output": ("open('/var/outputs/x', 'w')", "print('LEAK' * bool(os.listdir('/var/outputs')))"),
    "a terminal": (
        "a, b = os.openpty(); os.write(a, b'x'); time.sleep(0.1)",
        "print('LEAK' * (set(os.listdir('/dev/pts')) != {'ptmx'}))",
    ),
    "shared memory": (
        f"{LIBC}\nassert call('shmget', 4711, 4096, 0o1666) >= 0",
        f"{LIBC}\nprint('LEAK' * (call('shmget', 4711, 4096, 0o666) >= 0))",
    ),
    "a semaphore": (
        f"{LIBC}\nassert call('semget', 4711, 1, 0o1666) >= 0",
        f"{LIBC}\nprint('LEAK' * (call('semget', 4711, 1, 0o666) >= 0))",
    ),
    "a message": (
        f"{LIBC}\nq = call('msgget', 4711, 0o1666); assert call('msgsnd', q, b'1234567812345678', 8, 0) == 0",
        f"{LIBC}\nprint('LEAK' * (call('msgget', 4711, 0o666) >= 0))",
    ),
    "a process": (
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)\ntime.sleep(0.1)",
        "print('LEAK' * (len(list(pathlib.Path('/proc').glob('[0-9]*'))) > 2))",
    ),
    "an abstract socket": (
        "s = socket.socket(socket.AF_UNIX); s.bind('\\0x'); s.listen()\nif os.fork() == 0: time.sleep(60)",
        "s = socket.socket(socket.AF_UNIX)\ntry: s.connect('\\0x'); print('LEAK')\nexcept OSError: pass",
    ),
    "a listening port": (
        "s = socket.create_server(('127.0.0.1', 4711))\nif os.fork() == 0: time.sleep(60)",
        "try: socket.create_connection(('127.0.0.1', 4711)); print('LEAK')\nexcept OSError: pass",
    ),
    "an environment variable": ("os.environ['X'] = 'x'; os.putenv('Y', 'y')", "print('LEAK' * ('X' in os.environ))"),
    "a changed module": (
        "import builtins, json; builtins.len = os.getpid = json.x = lambda *_: 99",
        "import json; print('LEAK' * (len([]) == 99 or os.getpid() == 99 or hasattr(json, 'x')))",
    ),
    "an imported module": (
        "import helper",
        "try: import helper; print('LEAK')\nexcept ImportError: pass",
    ),
    "a name of its own": ("leak = 1", "print('LEAK' * ('leak' in globals()))"),
    "a descriptor": (
        "os.dup2(1, 50); os.set_inheritable(50, True)",
        "print('LEAK' * (sorted(os.listdir('/proc/self/fd')) != ['0', '1', '2', '3']))",
    ),
    "a limit": (
        "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (7, 7))",
        "import resource as r; print('LEAK' * (r.getrlimit(r.RLIMIT_NOFILE)[1] == 7))",
    ),
    "an exit handler": ("import atexit; atexit.register(print, 'done'); time.sleep(0.01)", "print()"),
    "a signal handler": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pthread_sigmask(0, {signal.SIGTERM})",
        "print('LEAK' * (signal.getsignal(15) != signal.SIG_DFL or bool(signal.pthread_sigmask(0, ()))))",
    ),
    "a nice value": (
        "os.nice(5)",
        f"print('LEAK' * (os.getpriority(os.PRIO_PROCESS, 0) > {os.getpriority(os.PRIO_PROCESS, 0)}))",
    ),
    "a working directory": ("os.chdir('/')", "print('LEAK' * (os.getcwd() != '/app'))"),
    "a mask for new files": ("os.umask(0o077)", "print('LEAK' * (os.umask(0) != 0o022))"),
}


@pytest.mark.parametrize("title", LEFT)
def test_the_next_job_does_not_find(sandbox, title):
    leaves, looks = LEFT[title]
    seed = "\nprint(hash('seed'), flush=True)"
    first, second = run_in_turn(sandbox, job(leaves + seed, program={"helper.py": b""}), job(looks + seed))
    assert (first.status, first.exit_code, second.exit_code) == ("exited", 0, 0), (first, second)
    assert b"LEAK" not in second.stdout
    assert first.stdout.splitlines()[0] == second.stdout.splitlines()[-1], "they did not share a zygote"


LOOK_FOR = """
def count(first, second):
    found = 0
    with open('/proc/self/mem', 'rb', 0) as memory:
        for line in open('/proc/self/maps'):
            area, rights = line.split()[:2]
            start, end = (int(number, 16) for number in area.split('-'))
            if 'r' not in rights or '[v' in line: continue
            memory.seek(start)
            parts = memory.read(end - start).split(first)[1:]
            found += sum(part.startswith(second) for part in parts)
            del parts
    return found
print('found', count(sys.argv[1].encode(), sys.argv[2].encode()))
"""


def test_memory_holds_nothing_of_an_earlier_job(sandbox):
    halves = f"kept-{os.getpid()}", f"-{time.monotonic_ns()}"
    secret = "".join(halves)
    holds = f"held = {secret!r}; held += sys.stdin.read() + open('/var/inputs/i').read()\n"
    holder = job(holds + LOOK_FOR, inputs={"i": secret.encode()}, stdin=secret.encode(), arguments=halves)
    first, second = run_in_turn(sandbox, holder, job(LOOK_FOR, arguments=halves))
    assert int(first.stdout.split()[1]) > 0, first
    assert second.stdout == b"found 0\n", second


REFUSED = {
    "reads the memory of process 1": "open('/proc/1/mem', 'rb'); print('LEAK')",
    "reads the variables of process 1": "open('/proc/1/environ', 'rb').read(); print('LEAK')",
    "opens what process 1 has open": "os.listdir('/proc/1/fd'); print('LEAK')",
    "looks into the root of process 1": "os.listdir('/proc/1/root'); print('LEAK')",
    "traces process 1": f"{LIBC}\nprint('LEAK' * (call('ptrace', 16, 1, 0, 0) == 0))",
    "takes a descriptor of process 1": f"{LIBC}\nprint('LEAK' * (call('syscall', 438, os.pidfd_open(1), 3, 0) >= 0))",
    "has a capability": (
        "s = open('/proc/self/status').read()\n"
        "print('LEAK' * any(int(l.split()[1], 16) for l in s.splitlines() if l.startswith('Cap')))"
    ),
    "has no system call filter": "print('LEAK' * ('Seccomp:\\t2' not in open('/proc/self/status').read()))",
    "may gain privileges": "print('LEAK' * ('NoNewPrivs:\\t1' not in open('/proc/self/status').read()))",
    "makes a user namespace": f"{LIBC}\nprint('LEAK' * (call('unshare', 0x10000000) == 0))",
    "mounts": f"{LIBC}\nprint('LEAK' * (call('mount', b'x', b'/tmp', b'tmpfs', 0, None) == 0))",
    "unmounts what is its own, to see what is below": (
        f"{LIBC}\nfor p in (b'/tmp', b'/app', b'/dev/shm', b'/dev/pts', b'/proc', b'/proc/kallsyms', b'/var/inputs'):\n"
        "    print('LEAK' * (call('umount2', p, 2) == 0))"
    ),
    "makes its program writable": (
        f"{LIBC}\nfor p in (b'/', b'/app', b'/var/inputs', b'/dev', b'/etc', b'/usr/bin'):\n"
        "    print('LEAK' * (call('mount', b'x', p, None, 0x1020, None) == 0))"
    ),
    "writes where only its own folders are": (
        "for f in ('/', '/app', '/dev', '/etc', '/var', '/var/inputs', '/usr/bin', '/environment'):\n"
        "    try: open(f + '/x', 'w'); print('LEAK', f)\n"
        "    except OSError: pass"
    ),
    "joins the namespaces of process 1": (
        f"{LIBC}\nprint('LEAK' * (call('setns', os.open('/proc/1/ns/mnt', 0), 0) == 0))"
    ),
    "finds the zygote's program": "print('LEAK' * any('sitecustomize.py' in f for _, _, f in os.walk('/dev')))",
    "finds the zygote among its frames": "print('LEAK' * (sys._getframe().f_back is not None))",
    "finds the zygote's functions": (
        "import gc; print('LEAK' * any(getattr(o, '__name__', '') == 'become_init' for o in gc.get_objects()))"
    ),
    "reads the kernel's addresses": "print('LEAK' * bool(open('/proc/kallsyms').read(100)))",
    "sees a network interface": "print('LEAK' * (len(socket.if_nameindex()) > 1))",
    "sees other processes": "print('LEAK' * (len(list(pathlib.Path('/proc').glob('[0-9]*'))) > 2))",
}


@pytest.mark.parametrize("title", REFUSED)
def test_in_a_warm_child_no_program(sandbox, title):
    (execution,) = run_in_turn(sandbox, job(REFUSED[title]))
    assert execution.status == "exited"
    assert b"LEAK" not in execution.stdout, execution
    assert b"SyntaxError" not in execution.stderr


KILLS = {
    "process 1": "os.kill(1, 9)",
    "process 1 by every signal": "[os.kill(1, n) for n in range(1, 65) if n not in (32, 33)]",
    "its parent": "os.kill(os.getppid(), 9)",
    "its group": "signal.signal(15, signal.SIG_IGN); os.killpg(0, 15); os.killpg(0, 2)",
    "everything": "os.kill(-1, 9)",
    "itself": "os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("title", KILLS)
def test_a_job_that_kills_ends_nothing_but_itself(sandbox, title):
    after = job("print(hash('seed'))")
    before, killer, then = run_in_turn(sandbox, after, job(f"{KILLS[title]}; time.sleep(0.2)"), after)
    assert killer.status in {"exited", "signaled"}
    assert (then.status, then.stdout) == ("exited", before.stdout)


# --- as in a cold run -------------------------------------------------------------------------------------------------

TRACEBACK = """
def fails(depth):
    return fails(depth - 1) if depth else {}["missing"]
try:
    fails(2)
except KeyError as error:
    raise ValueError("wrong") from error
"""

SAME = {
    "prints": "print('out'); print('err', file=sys.stderr)",
    "exits with a number": "sys.exit(3)",
    "exits with a text": "sys.exit('why')",
    "exits at once": "print('lost'); os._exit(137)",
    "raises": TRACEBACK,
    "raises in a thread": "import threading\nthreading.Thread(target=lambda: 1 / 0).start()",
    "has a syntax error": "def f(:\n",
    "recurses without end": "def f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError as e: print(e)",
    "counts its frames": "import traceback; traceback.print_stack(); print(len(traceback.extract_stack()))",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "aborts": "os.abort()",
    "is interrupted": "os.kill(os.getpid(), signal.SIGINT)",
    "writes to a closed pipe": "r, w = os.pipe(); os.close(r); os.write(w, b'x')",
    "ends by SIGPIPE": "signal.signal(signal.SIGPIPE, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGPIPE)",
    "tells what it was started with": "print(sys.argv, sys.orig_argv, sys.flags, sys.executable, __name__, __file__)",
    "tells its path": "print(sys.path, sys.prefix, os.getcwd(), len(sys.path_hooks), sys.meta_path)",
    "tells its variables": "print(sorted(os.environ.items()))",
    "tells who it is": "print(os.getuid(), os.getgid(), os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0))",
    "tells where it is": "print(os.uname().nodename, sorted(os.listdir('/')), sorted(os.listdir('/dev')))",
    "tells its limits": "import resource as r; print([r.getrlimit(n) for n in range(16)])",
    "tells its streams": "print([(s.fileno(), s.encoding, s.errors, s.line_buffering, s.seekable()) for s in "
    "(sys.stdin, sys.stdout, sys.stderr)])",
    "tells its modules' names": (
        "import typing; print(sorted(n for n in sys.modules if n not in ('__future__', 'atexit', 'gc')))"
    ),
    "reads its stdin": "print(sys.stdin.read().upper()); sys.stdin.seek(0); print(sys.stdin.readline())",
    "reads its files": "print(open('/var/inputs/i').read(), open('data/d').read(), os.stat('data/d').st_mode)",
    "imports its own": "import helper; print(helper.VALUE, helper.__file__)",
    "leaves a file unclosed": "f = open('/var/outputs/x', 'w'); f.write('kept')",
    "cleans up at its end": (
        "import atexit, threading\nclass C:\n    def __del__(self): print('deleted')\n"
        "c = C(); c.itself = c; atexit.register(print, 'exit')\n"
        "threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()"
    ),
    "starts itself": (
        "r = subprocess.run([sys.executable, '-c', 'import sys, os; print(sys.path, sorted(os.environ))'], "
        "capture_output=True); print(r.stdout, r.stderr)"
    ),
    "uses processes": (
        "import multiprocessing as m\nif __name__ == '__main__':\n"
        "    with m.get_context('spawn').Pool(1) as p: print(p.map(abs, [-1]))"
    ),
    "opens a terminal": "a, b = os.openpty(); os.write(a, b'x\\n'); print(os.read(b, 10), os.ttyname(b))",
    "talks to itself": (
        "s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname())\n"
        "print(c.getpeername()[0])\n"
        "print(socket.create_server(('::1', 0), family=socket.AF_INET6).getsockname()[0])"
    ),
    "floods stdout": "sys.stdout.write('x' * 300_000)",
    "leaves outputs": "os.symlink('/etc/passwd', '/var/outputs/l'); open('/var/outputs/o', 'w').write('1')",
    "fills its outputs": "open('/var/outputs/x', 'wb').write(bytes(9 << 20))",
    "fills its disk": "open('/tmp/x', 'wb').write(bytes(9 << 20))",
    "waits too long": "time.sleep(60)",
    "computes too long": "while True: pass",
    "opens too many files": "f = [os.dup(1) for _ in range(100)]",
    "starts too many processes": (
        "n = 0\ntry:\n    while os.fork() or time.sleep(9): n += 1\nexcept OSError as e: print(n, e)"
    ),
    "needs too much memory": "x = bytearray(300 << 20); print('there')",
}
LIMITS = Limits(
    wall_s=3, cpu_s=1, memory_mib=200, processes=20, open_files=40, output_mib=8, file_mib=16, stream_kib=64
)


@pytest.mark.parametrize("title", SAME)
def test_it_is_the_same_as_in_a_cold_run_when_a_program(sandbox, title):
    settings = {
        "arguments": ("--flag", "a b", ""),
        "program": {"helper.py": b"VALUE = 1", "data/d": b"data"},
        "inputs": {"i": "grüße".encode()},
        "env": {"GREETING": "grüß dich\nzweimal"},
        "stdin": b"one\ntwo\n",
        "outputs": ALL,
        "limits": replace(LIMITS, wall_s=0.5) if title == "waits too long" else LIMITS,
    }
    a_job = job(SAME[title], **settings)
    cold, (warm,) = sandbox.run(a_job), run_in_turn(sandbox, a_job)
    assert reported(warm) == reported(cold)
    assert set(warm.isolation) == {*cold.isolation, "warm"}


@pytest.mark.parametrize(
    "title", ["needs too much memory", "starts too many processes", "waits too long", "fills its outputs", "prints"]
)
def test_it_is_the_same_without_control_groups_when_a_program(monkeypatch, title):
    monkeypatch.setattr(opening, "find_cgroups", lambda: None)
    a_job = job(SAME[title], limits=LIMITS, outputs=ALL)
    with open_sandbox("bubblewrap") as opened:
        cold, (warm,) = opened.run(a_job), run_in_turn(opened, a_job)
        assert reported(warm) == reported(cold)
    assert set(warm.isolation) == {*cold.isolation, "warm"}
    assert "rlimit-memory" in warm.isolation


def test_a_job_that_may_have_no_process_ends_as_in_a_cold_run(sandbox):
    a_job = job("print('there')", limits=Limits(processes=1))
    cold, (warm,) = sandbox.run(a_job), run_in_turn(sandbox, a_job)
    assert reported(warm) == reported(cold)
    assert (warm.exit_code, warm.stdout) == (126, b"")


COMMANDS = {
    "a script without options": ("python", "/app/main.py", "x"),
    "a script by a relative path": ("python3", "main.py"),
    "a script unbuffered and optimised": ("python", "-u", "-OO", "main.py", "-u"),
    "a module": ("python", "-m", "helper", "x"),
    "a package's program": ("python", "-m", "package", "x"),
    "a folder": ("python", "/app/package", "x"),
    "code": ("python", "-c", "import sys; print(sys.argv, sys.path)", "x"),
    "an isolated script": ("python", "-I", "-S", "/app/main.py"),
    "a shell": ("sh", "-c", "echo $0 $$ $PPID; env | sort; ulimit -a; exit 7"),
    "a shell that ignores nothing": ("sh", "-c", "yes | head -c 1 >/dev/null; kill -PIPE $$; echo ignored"),
    "the interpreter's path": ("/environment/bin/python", "main.py"),
    "a script that is not there": ("python", "missing.py"),
    "a module that is not there": ("python", "-m", "missing"),
    "a program that cannot run": ("/var/inputs/broken",),
    "a program that is not there": ("no-such-program", "x"),
    "an option that is none": ("python", "--no-such-option"),
}


@pytest.mark.parametrize("title", COMMANDS)
def test_every_command_is_the_same_as_in_a_cold_run(sandbox, tmp_path, title):
    tells = b"import sys\nif __name__ == '__main__': print(sys.argv, sys.orig_argv, sys.flags, sys.path, __file__)"
    program = {"main.py": tells, "helper.py": tells, "package/__main__.py": tells, "package/__init__.py": b""}
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF but not really")
    broken.chmod(0o755)
    a_job = Job(command=COMMANDS[title], program=program, inputs={"broken": broken})
    cold, (warm,) = sandbox.run(a_job), sandbox.map([a_job])
    assert reported(warm) == reported(cold)


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "7", "PYTHONUTF8": "0", "LC_ALL": "C"},
        {"PYTHONPATH": "/app/lib:/var/inputs", "PYTHONDONTWRITEBYTECODE": ""},
        {"PYTHONUNBUFFERED": "1", "PYTHONDEVMODE": "1"},
        {"TZ": "Asia/Tokyo", "HOME": "/dev/shm"},
        {"PATH": "/usr/bin:/bin"},
        {"PYTHONHOME": "/nowhere"},
        {"PYTHONIOENCODING": "no-such-encoding"},
    ],
    ids=str,
)
def test_variables_that_count_at_the_start_are_the_same_as_in_a_cold_run(sandbox, env):
    code = (
        "import time, locale; print(hash('seed') if 'PYTHONHASHSEED' in os.environ else '', sys.flags, sys.path)\n"
        "print(time.tzname, locale.getpreferredencoding(), sys.getfilesystemencoding(), sorted(os.environ.items()))"
    )
    a_job = job(code, env=env)
    cold, (warm,) = sandbox.run(a_job), sandbox.map([a_job])
    addresses = re.compile(rb"0x[0-9a-f]+")
    told = [{**reported(each), "stderr": addresses.sub(b"0x", each.stderr)} for each in (cold, warm)]
    assert told[1] == told[0]


def test_random_numbers_differ_from_job_to_job(sandbox):
    code = "import random, uuid, tempfile; print(random.random(), uuid.uuid4(), tempfile.mkdtemp())"
    with open_sandbox("bubblewrap", preload=("random", "uuid", "tempfile")) as opened:
        executions = run_in_turn(opened, *[job(code)] * 4)
    told = [execution.stdout.split() for execution in executions]
    assert all(len({words[index] for words in told}) == 4 for index in range(3)), told


# --- what does not run warm -------------------------------------------------------------------------------------------


def test_a_job_with_a_folder_or_a_large_file_runs_cold_among_the_warm(sandbox, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "f").write_text("in a folder")
    (tmp_path / "large").write_bytes(bytes(17 << 20))
    (tmp_path / "small").write_bytes(b"small")
    inputs = [{"i": tmp_path / "folder"}, {"i": tmp_path / "large"}, {"i": tmp_path / "small"}]
    code = "p = pathlib.Path('/var/inputs/i'); print(p.is_dir(), p.stat().st_size > 99)"
    executions = sandbox.map([job(code, inputs=each) for each in inputs])
    assert [execution.stdout for execution in executions][1:] == [b"False True\n", b"False False\n"]
    assert executions[0].stdout.startswith(b"True")
    assert ["warm" in execution.isolation for execution in executions] == [False, False, True]


def test_one_job_by_itself_runs_cold(sandbox):
    assert "warm" not in sandbox.run(job("")).isolation


def test_without_nested_user_namespaces_all_runs_cold(monkeypatch):
    closed = bwrap_options.closed_namespaces()
    for name in ("open_namespaces", "closed_namespaces"):
        monkeypatch.setattr(bwrap_options, name, lambda: closed)
    with open_sandbox("bubblewrap") as opened:
        executions = opened.map([job("print(1)")] * 8)
    assert [execution.stdout for execution in executions] == [b"1\n"] * 8
    assert not any("warm" in execution.isolation for execution in executions)


# --- modules imported before ------------------------------------------------------------------------------------------


def environment_of(folder: Path, **modules: str) -> InstalledEnvironment:
    folder.chmod(0o755)
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
    return InstalledEnvironment(python=str(find_interpreter(None).executable), site_packages=(str(folder),), digest="d")


def test_preloaded_modules_are_there_at_once_and_are_the_environments(tmp_path):
    environment = environment_of(tmp_path, slow="import time; time.sleep(0.5)\nVALUE = 41\n")
    with open_sandbox("bubblewrap", environment=environment, preload=("slow", "no_such_module")) as opened:
        opened.map([job("")])
        code = "t = time.monotonic(); import slow; slow.VALUE += 1; print(slow.VALUE, time.monotonic() - t < 0.4)"
        executions = run_in_turn(opened, job(code), job(code))
    assert [execution.stdout for execution in executions] == [b"42 True\n"] * 2


def test_what_a_suite_needs_is_imported_ahead(tmp_path):
    tmp_path.chmod(0o755)
    environment = environment_with(tmp_path / "packages", *RUNNER_REQUIREMENTS)
    code = f"print([name for name in {SUITE_MODULES} if name not in sys.modules])"
    with open_sandbox("bubblewrap", environment=environment, preload=SUITE_MODULES) as opened:
        (execution,) = run_in_turn(
            opened, Job(command=("python", "m.py"), program={"m.py": f"import sys\n{code}".encode()})
        )
        report = run_suites(opened, [suite_job(RIGHT)])[0]
    assert execution.stdout == b"[]\n"
    assert report.passed
    assert "warm" in report.isolation


def test_nothing_of_the_environment_runs_before_a_job_but_what_was_asked_for(tmp_path):
    tells = "import os\nPID = os.getpid()\n"
    names = ("ctypes", "resource", "sitecustomize", "asked")
    environment = environment_of(tmp_path, **dict.fromkeys(names, tells))
    (tmp_path / "encodings").mkdir(mode=0o755)
    (tmp_path / "encodings" / "__init__.py").write_text("raise SystemExit('hijacked')")
    code = f"print(*[__import__(name).PID for name in {names}])"
    with open_sandbox("bubblewrap", environment=environment, preload=("asked",)) as opened:
        (execution,) = run_in_turn(opened, job(code))
    assert execution.stdout == b"2 2 2 1\n", execution


def test_the_init_process_imports_nothing_of_the_job(sandbox):
    """`os.wait4` imports `resource`, wherever it finds it: a job's own must neither run in process 1 nor break it."""
    program = {"lib/resource.py": b"import os\nopen('/var/outputs/x', 'w').write(str(os.getpid()))\n"}
    a_job = job("print('done')", program=program, env={"PYTHONPATH": "/app/lib"}, outputs=ALL)
    (execution,) = run_in_turn(sandbox, a_job)
    assert (execution.status, execution.exit_code, execution.stdout) == ("exited", 0, b"done\n")
    assert execution.outputs == {}


def test_the_environments_own_sitecustomize_runs_in_each_job(tmp_path):
    environment = environment_of(tmp_path, sitecustomize="import sys\nsys.customized = True\nprint('customized')\n")
    a_job = job("print(sys.customized, sys.modules['sitecustomize'].__file__)")
    with open_sandbox("bubblewrap", environment=environment) as opened:
        cold, (warm, _) = opened.run(a_job), run_in_turn(opened, a_job, a_job)
    assert reported(warm) == reported(cold)
    assert b"customized\nTrue" in warm.stdout


def test_a_module_that_starts_a_thread_is_not_preloaded(tmp_path):
    starts = "import threading, time\nt = threading.Thread(target=time.sleep, args=(60,), daemon=True)\nt.start()\n"
    with open_sandbox("bubblewrap", environment=environment_of(tmp_path, starts=starts), preload=("starts",)) as opened:
        executions = opened.map([job("import starts; print(starts.t.is_alive())")] * 6)
    assert [execution.stdout for execution in executions] == [b"True\n"] * 6


def test_a_module_that_shares_memory_between_jobs_is_not_preloaded_for_them(tmp_path):
    shares = "import mmap\nmemory = mmap.mmap(-1, 4096)\n"
    with open_sandbox("bubblewrap", environment=environment_of(tmp_path, shares=shares), preload=("shares",)) as opened:
        code = "import shares; print(shares.memory[:1]); shares.memory[:1] = b'L'"
        executions = opened.map([job(code)] * 6, workers=1)
    assert [execution.stdout for execution in executions] == [b"b'\\x00'\n"] * 6


@pytest.mark.parametrize(
    "source", ["import os; os._exit(0)", "raise RuntimeError", "import os; os.kill(1, 9)", "1 / 0"]
)
def test_a_module_that_fails_while_it_is_preloaded_costs_no_result(tmp_path, source):
    with open_sandbox("bubblewrap", environment=environment_of(tmp_path, bad=source), preload=("bad",)) as opened:
        executions = opened.map([job("print('done')")] * 6)
    assert [(execution.status, execution.stdout) for execution in executions] == [("exited", b"done\n")] * 6


def test_a_zygote_is_replaced_after_its_share_of_jobs(monkeypatch):
    monkeypatch.setattr(warm_zygotes, "_JOBS_EACH", 3)
    others = zygotes()
    with open_sandbox("bubblewrap") as opened:
        executions = opened.map([job("print(hash('seed'))")] * 9, workers=1)
        assert len(zygotes() - others) <= 2
    seeds = [execution.stdout for execution in executions]
    assert all("warm" in execution.isolation for execution in executions)
    assert sorted(map(seeds.count, set(seeds))) == [3, 3, 3]


def test_many_kinds_of_jobs_share_a_few_zygotes(monkeypatch):
    monkeypatch.setattr(warm_zygotes, "_MOST_AT_ONCE", 3)
    monkeypatch.setattr(warm_zygotes, "_JOBS_IDLE", 4)
    others = zygotes()
    with open_sandbox("bubblewrap") as opened:
        jobs = [job("print(os.environ['N'])", env={"N": str(number)}) for number in range(12)]
        executions = run_in_turn(opened, *jobs)
        assert len(zygotes() - others) <= 4
    assert [execution.stdout for execution in executions] == [f"{number}\n".encode() for number in range(12)]


# --- what fails -------------------------------------------------------------------------------------------------------


def zygotes() -> set[int]:
    """The process numbers of the zygotes that this process has started."""
    found = [pid for pid in descendants(os.getpid()) if b"PYTHONPATH=/dev/shm" in read(f"/proc/{pid}/environ")]
    return set(found).difference(*map(descendants, found))


def kill(pids: Iterable[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    children = [int(each) for path in Path(f"/proc/{pid}/task").glob("*") for each in read(path / "children").split()]
    return [*children, *(each for child in children for each in descendants(child))]


def read(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:  # it has just ended
        return b""


def test_a_zygote_that_is_killed_between_two_jobs_is_not_noticed():
    others = zygotes()

    def kill_all(index: int, _: Execution) -> None:
        if index == 1:
            kill(zygotes() - others)

    with open_sandbox("bubblewrap") as opened:
        executions = opened.map([job("print(1)")] * 6, workers=1, on_result=kill_all)
    assert [execution.stdout for execution in executions] == [b"1\n"] * 6
    assert "warm" in executions[5].isolation


def test_a_job_whose_zygote_is_killed_is_run_once_more_elsewhere():
    others = zygotes()
    with open_sandbox("bubblewrap") as opened:
        opened.map([job("")])
        killer = Thread(target=lambda: (time.sleep(0.5), kill(zygotes() - others)))
        killer.start()
        executions = opened.map([job("time.sleep(1); print('done')")] * 2)
        killer.join()
        after = opened.map([job("print('after')")])
    assert [(execution.status, execution.stdout) for execution in executions] == [("exited", b"done\n")] * 2
    assert not any("warm" in execution.isolation for execution in executions)
    assert after[0].stdout == b"after\n"


def test_a_job_whose_own_first_process_is_killed_has_been_killed():
    others = zygotes()

    def kill_first() -> None:
        time.sleep(0.5)
        kill(int(pid) for each in zygotes() - others for pid in read(f"/proc/{each}/task/{each}/children").split())

    with open_sandbox("bubblewrap") as opened:
        opened.map([job("")])
        killer = Thread(target=kill_first)
        killer.start()
        (execution,) = opened.map([job("print('begun', flush=True); time.sleep(5)")])
        killer.join()
    assert (execution.status, execution.signal, execution.stdout) == ("signaled", signal.SIGKILL, b"begun\n")
    assert "warm" in execution.isolation


def test_many_jobs_of_all_kinds_at_once_get_each_their_own_result():
    programs = {
        "prints": "print(sys.argv[1])",
        "fails": "print(sys.argv[1]); sys.exit(int(sys.argv[1]) % 7 + 1)",
        "waits": "print(sys.argv[1], flush=True); time.sleep(60)",
        "is killed": "print(sys.argv[1], flush=True); os.kill(os.getpid(), 9)",
    }
    jobs = [
        job(programs[title], arguments=(str(number),), env={"KIND": title}, limits=Limits(wall_s=0.3 + number % 3))
        for number, title in enumerate([*programs] * 12)
    ]
    with open_sandbox("bubblewrap") as opened:
        executions = opened.map(jobs, workers=8)
    assert [execution.stdout for execution in executions] == [f"{number}\n".encode() for number in range(48)]
    endings = {title: {execution.status for execution in executions[at::4]} for at, title in enumerate(programs)}
    assert endings == {"prints": {"exited"}, "fails": {"exited"}, "waits": {"timed_out"}, "is killed": {"signaled"}}
    assert [execution.exit_code for execution in executions[1::4]] == [number % 7 + 1 for number in range(1, 48, 4)]


def test_without_descriptors_no_job_is_lost(sandbox):
    ours = len(list(Path("/proc/self/fd").iterdir()))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    sandbox.map([job("")])
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (ours + 6, limits[1]))
        executions = sandbox.map([job("print(1)")] * 4)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(executions) == 4
    assert {execution.status for execution in executions} <= {"exited", "sandbox_error"}
    assert sandbox.map([job("print(1)")])[0].stdout == b"1\n"


def test_nothing_is_left_when_a_sandbox_is_closed():
    before = set(descendants(os.getpid()))
    with open_sandbox("bubblewrap") as opened:
        opened.map([job("")] * 4)
        assert zygotes() - before
    assert set(descendants(os.getpid())) <= before


def test_zygotes_end_with_the_process_that_started_them():
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    program = f"""
import os, signal, sys, time
from flyteplugins_codegen.sandbox import Job, open_sandbox
with open_sandbox("bubblewrap") as opened:
    opened.map([Job(command=("python", "main.py"), program={{"main.py": b""}}, env={{"MARK": "{mark}"}})])
    print("ready", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        assert marked(mark)
        process.kill()
    deadline = time.monotonic() + 10
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not marked(mark)


def marked(mark: str) -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/environ") if mark.encode() in read(path)]


def test_hundreds_of_jobs_leave_no_memory_and_no_descriptors_behind():
    taken = []

    def jobs() -> Iterator[Job]:
        for number in range(400):
            taken.append(number)
            yield job(f"open('/var/outputs/x', 'w').write('{number}')", outputs=ALL, inputs={"i": bytes(50_000)})

    ahead = []
    with open_sandbox("bubblewrap") as opened:
        opened.map([job("")] * 20)
        begun = memory_kib(), len(list(Path("/proc/self/fd").iterdir()))
        opened.map(jobs(), on_result=lambda *_: ahead.append(len(taken) - len(ahead)))
        assert max(ahead) <= 3, "jobs were drawn before they were needed"
        assert len(list(Path("/proc/self/fd").iterdir())) == begun[1]
        assert memory_kib() - begun[0] < 8 * 1024


def memory_kib() -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1])
