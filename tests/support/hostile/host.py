"""This machine as a program may find it: what is there to be read, changed, reached and killed."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from flyteplugins_codegen.sandbox.staging import UNPRIVILEGED_UID
from flyteplugins_codegen.sandbox.temporary import temporary_root
from hostile import attack

_ARGUMENT = "CODEGEN-TEST-ARGUMENT"
_VARIABLE = "CODEGEN_TEST_SECRET"


@dataclass(frozen=True)
class Host:
    """What is there. All of it is open to everybody, so that only a sandbox keeps it."""

    folder: Path
    facts: dict[str, str]

    @property
    def packages(self) -> Path:
        """A folder of packages, with one in it."""
        return self.folder / "packages"

    @property
    def files(self) -> dict[str, Path | bytes]:
        """What a hostile job gets: bytes, and a file that anybody may change where it lies."""
        return {"data": b"data", "file": self.folder / "file"}

    @property
    def inputs(self) -> dict[str, Path | bytes]:
        """The same and a folder, with which no job runs warm."""
        return {**self.files, "tree": self.folder / "tree"}

    def fingerprint(self) -> dict[str, tuple[object, ...]]:
        """Every file with all that a program could change of it."""
        return {str(path): _look_at(path) for path in (self.folder, *self.folder.rglob("*"))}

    def is_alive(self) -> bool:
        """Whether the process that only stands by still does."""
        return Path(f"/proc/{self.facts['HOST_PID']}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def _look_at(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content = path.read_bytes() if path.is_file() else b""
    return status.st_mode, status.st_uid, status.st_nlink, status.st_mtime_ns, os.listxattr(path), content


@contextmanager
def open_host() -> Iterator[Host]:
    """Lay it all out, for as long as the block lasts."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="hostile-", dir=temporary_root()))
        stack.callback(shutil.rmtree, folder)
        _fill(folder)
        secret = f"codegen-secret-{token_hex(8)}"
        kept_open = os.open(folder, os.O_RDONLY)
        stack.callback(os.close, kept_open)
        bystander = _stand_by(stack, folder, secret, kept_open)
        with _variable(secret):
            yield Host(folder, {**_facts(folder, secret, bystander), **_listen(stack, folder), **_key(secret)})


def _fill(folder: Path) -> None:
    folder.chmod(0o755)
    for path in ("packages", "tree", "people/.ssh"):
        (folder / path).mkdir(parents=True)
    for path in ("secret", "file", "tree/file", "people/.ssh/id_ed25519"):
        (folder / path).write_text("LEAK")
    (folder / "packages/package.py").write_text("VALUE = 1\n")
    for path in folder.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
        if os.geteuid() == 0:
            os.chown(
                path, UNPRIVILEGED_UID, UNPRIVILEGED_UID
            )  # the user that jobs run as: it may do with it as it likes


def _stand_by(stack: ExitStack, folder: Path, secret: str, kept_open: int) -> int:
    """A process of the user that jobs run as, which knows a secret and stands in a folder that it also holds open."""
    bystander = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 3600; :", _ARGUMENT],
        env={_VARIABLE: secret},
        cwd=folder,
        pass_fds=(kept_open,),
        start_new_session=True,
        user=UNPRIVILEGED_UID if os.geteuid() == 0 else None,
    )
    stack.callback(bystander.wait)
    stack.callback(os.killpg, bystander.pid, signal.SIGKILL)
    return bystander.pid


@contextmanager
def _variable(secret: str) -> Iterator[None]:
    os.environ[_VARIABLE] = secret
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


def _facts(folder: Path, secret: str, bystander: int) -> dict[str, str]:
    return {
        "SECRET_FILE": str(folder / "secret"),
        "KEY_FILE": str(folder / "people/.ssh/id_ed25519"),
        "HOST_FOLDER": str(folder),
        "HOST_PID": str(bystander),
        "HOST_NAME": socket.gethostname(),
        "SHIFTED_SECRET": attack.shift(secret).decode(),
    }


def _listen(stack: ExitStack, folder: Path) -> dict[str, str]:
    """Servers of every kind, as facts about where they are."""
    tcp, udp, path = (stack.enter_context(socket.socket(*kind)) for kind in _KINDS)
    abstract, datagrams = (stack.enter_context(socket.socket(socket.AF_UNIX, kind)) for kind in (1, 2))
    tcp.bind(("", 0))
    udp.bind(("127.0.0.1", 0))
    path.bind(str(folder / "socket"))
    (folder / "socket").chmod(0o777)
    name = f"codegen-test-{os.getpid()}"
    abstract.bind(f"\0{name}")
    datagrams.bind(f"\0{name}-datagrams")
    for server in (tcp, path, abstract):
        server.listen()
    threading.Thread(target=_answer, args=(udp,), daemon=True).start()
    return {
        "PORT": str(tcp.getsockname()[1]),
        "PORT6": str(_listen_by_ipv6(stack)),
        "UDP_PORT": str(udp.getsockname()[1]),
        "HOST_ADDRESS": _address(),
        "SOCKET_FILE": str(folder / "socket"),
        "ABSTRACT": name,
        "ABSTRACT_DATAGRAMS": f"{name}-datagrams",
    }


_KINDS = (
    (socket.AF_INET, socket.SOCK_STREAM),
    (socket.AF_INET, socket.SOCK_DGRAM),
    (socket.AF_UNIX, socket.SOCK_STREAM),
)


def _answer(udp: socket.socket) -> None:
    with suppress(OSError):  # closed at the end
        while True:
            udp.sendto(b"!", udp.recvfrom(9)[1])


def _listen_by_ipv6(stack: ExitStack) -> int:
    try:
        server = stack.enter_context(socket.create_server(("::1", 0), family=socket.AF_INET6))
    except OSError:  # a machine without IPv6: nobody reaches this port
        return 1
    return int(server.getsockname()[1])


def _address() -> str:
    """An address of this machine that is not loopback, where it has one. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.2"
        return str(asking.getsockname()[0])


def _key(secret: str) -> dict[str, str]:
    name = f"codegen-test-{os.getpid()}"
    with suppress(OSError):  # a machine that is itself without keyrings
        attack.call("add_key", b"user", name.encode(), secret.encode(), ctypes.c_long(len(secret)), -3)
    return {"KEY_NAME": name}
