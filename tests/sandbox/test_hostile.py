"""Programs that try to get out of bubblewrap, or at what is not theirs.

Each prints LEAK where it succeeds. As a control, those of HOSTILE also run as plain processes, where they must
succeed, so that a program that fails for another reason is noticed. Those of HARMFUL would do harm there, or
need rights that an ordinary process has not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from flyteplugins_codegen.models.environment import InstalledEnvironment
from flyteplugins_codegen.sandbox import ALL, Execution, Job, Limits, Sandbox, open_sandbox
from flyteplugins_codegen.sandbox.antechamber import UNPRIVILEGED_UID
from flyteplugins_codegen.sandbox.interpreter import find_interpreter
from flyteplugins_codegen.sandbox.unisolated import Unisolated

SYSCALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    return getattr(libc, name)(*arguments)
"""


@dataclass(frozen=True)
class Host:
    """What there is on this machine to be got at."""

    secret: Path
    writable: Path
    port: int
    abstract: str
    packages: Path

    def variables(self) -> dict[str, str]:
        return {
            "SECRET_FILE": str(self.secret),
            "WRITABLE": str(self.writable),
            "PORT": str(self.port),
            "ABSTRACT": self.abstract,
            "PACKAGES": str(self.packages),
            "HOST_PID": str(os.getpid()),
        }


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    (folder / "secret").write_text("LEAK")
    (folder / "packages").mkdir()
    (folder / "packages" / "package.py").write_text("VALUE = 1\n")
    abstract = f"codegen-test-{os.getpid()}"
    bystander = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 600", "CODEGEN-TEST-ARGUMENT"],
        env={"CODEGEN_TEST_SECRET": "LEAK"},
        start_new_session=True,
    )
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{abstract}")
        listening.listen()
        yield Host(folder / "secret", folder, server.getsockname()[1], abstract, folder / "packages")
    os.killpg(bystander.pid, signal.SIGKILL)
    bystander.wait()


@pytest.fixture(scope="module")
def sandbox(host: Host) -> Iterator[Sandbox]:
    python = str(find_interpreter(None).executable)
    environment = InstalledEnvironment(python=python, site_packages=(str(host.packages),), digest="d")
    with open_sandbox("bubblewrap", environment=environment) as opened:
        yield opened


def attempt(sandbox: Sandbox, host: Host, code: str, limits: Limits | None = None) -> Execution:
    code = f"import os, sys, socket, signal, pathlib, time, subprocess\nE = os.environ\n{code}"
    inputs = {"data": b"data"}
    command = ("python", "/app/main.py")
    limits = limits or Limits(wall_s=20)
    return sandbox.run(
        Job(command=command, program={"main.py": code.encode()}, inputs=inputs, env=host.variables(), limits=limits)
    )


HOSTILE = {
    # files of the host
    "reads a file of the host": "print(open(E['SECRET_FILE']).read())",
    "finds folders of the host": "print('LEAK' * any(map(os.path.exists, ('/home', '/srv', '/opt', '/boot'))))",
    "reads the host's users": "print('LEAK' * ('daemon' in open('/etc/passwd').read()))",
    "reads the kernel's logs and devices": "print('LEAK' * os.path.exists('/sys/kernel'))",
    "reads through the root of its parent": "print(open(f'/proc/{os.getppid()}/root' + E['SECRET_FILE']).read())",
    "writes a file that stays": "open(E['WRITABLE'] + '/left', 'w').write('x'); print('LEAK')",
    # secrets of the environment
    "reads the variables of every process": (
        "for p in pathlib.Path('/proc').glob('[0-9]*/environ'):\n"
        "    try: print('LEAK' * (b'CODEGEN_TEST_SECRET' in p.read_bytes()))\n"
        "    except OSError: pass"
    ),
    "reads the command lines of the host": (
        "for p in pathlib.Path('/proc').glob('[0-9]*/cmdline'):\n"
        "    try: print('LEAK' * (b'CODEGEN-TEST-ARGUMENT' in p.read_bytes()))\n"
        "    except OSError: pass"
    ),
    # processes of the host
    "sees a process of the host": "print('LEAK' * (len(list(pathlib.Path('/proc').glob('[0-9]*'))) > 3))",
    # the network
    "connects to a server of the host": "socket.create_connection(('127.0.0.1', int(E['PORT'])), 2); print('LEAK')",
    "connects to an abstract socket of the host": (
        "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + E['ABSTRACT']); print('LEAK')"
    ),
    "sees a network interface": "print('LEAK' * (len(socket.if_nameindex()) > 1))",
    # what is mounted
    "changes its program": "open('main.py', 'a').write('#'); print('LEAK')",
    "leaves something beside its program": "open('new', 'w'); print('LEAK')",
    # the machine
    "learns the host's name": f"print('LEAK' * (socket.gethostname() == {socket.gethostname()!r}))",
}

HARMFUL = {
    "connects to another machine": "socket.create_connection(('192.0.2.1', 80), 2); print('LEAK')",
    "sends a packet": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 9)); print('LEAK')",
    "opens a raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('LEAK')",
    "changes an input": "open('/var/inputs/data', 'w'); print('LEAK')",
    "replaces an input": "os.remove('/var/inputs/data'); print('LEAK')",
    "changes its mode to change it": "os.chmod('/var/inputs/data', 0o777); print('LEAK')",
    "leaves something beside its inputs": "open('/var/inputs/new', 'w'); print('LEAK')",
    "changes a package": "import package; open(package.__file__, 'a').write('#'); print('LEAK')",
    "leaves a package": "open('/environment/packages/0/other.py', 'w'); print('LEAK')",
    "changes the reaper": "open('/environment/reaper.py', 'a'); print('LEAK')",
    "changes the interpreter": "import json; open(json.__file__, 'a'); print('LEAK')",
    "writes to the system": "open('/usr/bin/x', 'w'); print('LEAK')",
    "writes to /etc": "open('/etc/x', 'w'); print('LEAK')",
    "writes to the root": "open('/x', 'w'); print('LEAK')",
    "writes to /var": "open('/var/x', 'w'); print('LEAK')",
    "adds a device file": "open('/dev/x', 'w'); print('LEAK')",
    "makes a device": "os.mknod('/tmp/disk', 0o60600, os.makedev(254, 0)); open('/tmp/disk'); print('LEAK')",
    "writes to the kernel's settings": "pathlib.Path('/proc/sys/kernel/hostname').write_text('x'); print('LEAK')",
    "triggers a system request": "open('/proc/sysrq-trigger', 'w'); print('LEAK')",
    "hides from the memory killer": "pathlib.Path('/proc/1/oom_score_adj').write_text('-999'); print('LEAK')",
    "kills a process of the host": "os.kill(int(E['HOST_PID']), 0); print('LEAK')",
    "kills its reaper": "os.kill(1, 9); time.sleep(0.5); print('DONE')",
    "interrupts its reaper": "[(os.kill(1, n), time.sleep(0.01)) for n in (1, 2, 3, 15) * 5]; print('DONE')",
    "becomes root": "os.setuid(0); print('LEAK')",
    "has a capability": (
        "s = open('/proc/self/status').read()\n"
        "print('LEAK' * any(int(l.split()[1], 16) for l in s.splitlines() if l.startswith('Cap')))"
    ),
    "may gain privileges": "print('LEAK' * ('NoNewPrivs:\\t1' not in open('/proc/self/status').read()))",
    "belongs to a group of the host": "print('LEAK' * (set(os.getgroups()) > {1000}))",
    "runs a set-id program as root": (
        "r = subprocess.run(['su', '-c', 'id -u'], input='', capture_output=True, text=True)\n"
        "print('LEAK' * (r.stdout.strip() == '0'))"
    ),
    "makes a user namespace": f"{SYSCALL}\nprint('LEAK' * (call('unshare', 0x10000000) == 0))",
    "makes a mount namespace": f"{SYSCALL}\nprint('LEAK' * (call('unshare', 0x20000) == 0))",
    "makes a user namespace by a program": (
        "print('LEAK' * (subprocess.run(['unshare', '--user', 'true'], capture_output=True).returncode == 0))"
    ),
    "joins a namespace": f"{SYSCALL}\nprint('LEAK' * (call('setns', os.open('/proc/1/ns/mnt', 0), 0) == 0))",
    "mounts": f"{SYSCALL}\nprint('LEAK' * (call('mount', b'x', b'/tmp', b'tmpfs', 0, None) == 0))",
    "makes its program writable": (
        f"{SYSCALL}\nfor p in (b'/', b'/app', b'/usr/bin', b'/dev', b'/etc', b'/environment'):\n"
        "    print('LEAK' * (call('mount', b'x', p, None, 0x1020, None) == 0))"
    ),
    "unmounts what hides something": (
        f"{SYSCALL}\nfor p in (b'/tmp', b'/proc/kallsyms', b'/etc', b'/proc'):\n"
        "    print('LEAK' * (call('umount2', p, 2) == 0))"
    ),
    "changes its root": f"{SYSCALL}\nprint('LEAK' * (call('chroot', b'/tmp') == 0))",
    "inherits a descriptor": "print('LEAK' * (len(os.listdir('/proc/self/fd')) > 4))",
    "opens a folder of the host by its reaper's descriptors": (
        "for n in os.listdir('/proc/1/fd'):\n    print('LEAK' * os.path.isdir(f'/proc/1/fd/{n}'))"
    ),
    "types into a terminal": "import fcntl; fcntl.ioctl(0, 0x5412, b'x'); print('LEAK')",
    "opens the controlling terminal": "open('/dev/tty'); print('LEAK')",
    "makes itself more important": "os.nice(-5); print('LEAK')",
    "raises a limit": "import resource as r; r.setrlimit(r.RLIMIT_NPROC, (10**4, 10**4)); print('LEAK')",
    "reads the kernel's addresses": "print('LEAK' * bool(open('/proc/kallsyms').read(100)))",
}


@pytest.mark.parametrize("title", [*HOSTILE, *HARMFUL])
def test_a_program_that(sandbox, host, title):
    execution = attempt(sandbox, host, HOSTILE.get(title) or HARMFUL[title])
    assert execution.status == "exited", execution
    assert b"LEAK" not in execution.stdout
    assert b"SyntaxError" not in execution.stderr
    assert not (host.writable / "left").exists()


@pytest.mark.parametrize("title", HOSTILE)
def test_unsandboxed_succeeds_a_program_that(host, title):
    with closing(Unisolated(find_interpreter(None))) as plain:
        execution = attempt(plain, host, HOSTILE[title])
    assert b"LEAK" in execution.stdout, execution.stderr
    (host.writable / "left").unlink(missing_ok=True)


# --- what it cannot use up --------------------------------------------------------------------------------------------


def test_a_fork_bomb_is_bounded_and_ended(sandbox, host):
    code = """
count = 0
while True:
    try:
        if os.fork() == 0: time.sleep(60); os._exit(0)
    except OSError: break
    count += 1
print(count)
"""
    execution = attempt(sandbox, host, code, Limits(wall_s=20, processes=40))
    assert execution.status == "exited", execution
    assert 20 < int(execution.stdout) <= 40


def test_a_bomb_that_forks_forever_is_ended_at_its_time(sandbox, host):
    execution = attempt(sandbox, host, "while True:\n    try: os.fork()\n    except OSError: pass", Limits(wall_s=1))
    assert execution.status == "timed_out"
    assert attempt(sandbox, host, "print('well')").stdout == b"well\n"


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/var/outputs"])
def test_no_folder_takes_more_than_its_size(sandbox, host, folder):
    code = f"f = open('{folder}/x', 'wb', 0)\nwhile True: f.write(bytes(1 << 20))"
    execution = attempt(sandbox, host, code, Limits(output_mib=8))
    assert b"No space left" in execution.stderr
    assert execution.status == ("output_limit" if folder == "/var/outputs" else "exited")


# --- what it cannot say -----------------------------------------------------------------------------------------------


def test_what_a_program_writes_to_its_reapers_pipe_is_no_failure_of_the_sandbox(sandbox, host):
    code = """
for n in os.listdir('/proc/1/fd'):
    try: os.write(os.open(f'/proc/1/fd/{n}', os.O_WRONLY), b'unstartable\\n0 nonsense\\n')
    except OSError: pass
os._exit(5)
"""
    execution = attempt(sandbox, host, code)
    assert (execution.status, execution.exit_code) == ("exited", 5)


def test_what_a_program_prints_is_never_the_sandboxs_message(sandbox, host):
    execution = attempt(sandbox, host, "os.write(2, b'bwrap: Creating new namespace failed\\n'); os._exit(1)")
    assert (execution.status, execution.exit_code, execution.message) == ("exited", 1, "")


def test_an_output_that_points_out_of_the_sandbox_brings_nothing_home(sandbox, host):
    code = """
os.symlink(E['SECRET_FILE'], '/var/outputs/link'); os.symlink('/', '/var/outputs/root')
os.mkdir('/var/outputs/tree'); os.symlink(E['WRITABLE'], '/var/outputs/tree/out')
"""
    program = {"main.py": f"import os; E = os.environ\n{code}".encode()}
    execution = sandbox.run(Job(command=("python", "main.py"), program=program, env=host.variables(), outputs=ALL))
    assert (dict(execution.outputs), set(execution.refused_outputs)) == ({}, {"link", "root", "tree"})


# --- what is said of it -----------------------------------------------------------------------------------------------


def test_what_holds_is_said(sandbox, host):
    isolation = attempt(sandbox, host, "").isolation
    assert {"user", "mount", "pid", "network", "unprivileged-uid", "seccomp", "no-capabilities"} <= set(isolation)


def test_no_process_of_a_job_is_roots(sandbox):
    marker = f"asleep-{os.getpid()}"
    with ThreadPoolExecutor() as pool:
        running = pool.submit(sandbox.run, Job(command=("python", "-c", "import time; time.sleep(1)", marker)))
        owners: set[int] = set()
        while not running.done():
            owners |= owners_of(marker)
    assert owners == {os.geteuid() or UNPRIVILEGED_UID}


def owners_of(marker: str) -> set[int]:
    """Who runs what has this text among its arguments; `nsenter` has yet to drop root."""
    owners = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            arguments = (path / "cmdline").read_bytes()
            if marker.encode() in arguments and not arguments.startswith(b"nsenter"):
                owners |= {int(uid) for uid in (path / "status").read_text().partition("Uid:")[2].split()[:4]}
    return owners
