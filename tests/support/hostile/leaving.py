"""What a program may leave among its outputs to fool whoever takes them out."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from flyteplugins_codegen.sandbox import Limits


@dataclass(frozen=True)
class Leaving:
    """One program that leaves something at `/var/outputs/x`.

    `refused` is in the reason that `x` is not taken, or `taken` is what is taken, file by file; either may be where it
    `varies` with who comes first. A careless reader takes home the secret of the host where it `fools`; where it does
    not, that reader would hang, fill this machine or be told an error, which is no control to run.
    """

    title: str
    code: str
    refused: str = ""
    taken: dict[str, bytes] = field(default_factory=dict)
    status: str = field(default="exited", kw_only=True)
    limits: Limits = field(default=Limits(wall_s=20, output_mib=8, output_files=1000), kw_only=True)
    varies: bool = field(default=False, kw_only=True)
    fools: bool = field(default=False, kw_only=True)

    def __str__(self) -> str:
        return self.title


_BOMB = zlib.compress(bytes(16 << 20), 9)
_PICKLE = b"cos\nsystem\n(S'touch /tmp/left'\ntR."
_LINK, _FILE, _DEEP = "symbolic link", {"x": b"fine"}, "folders deep"

LEAVINGS = (
    # --- links
    Leaving("a link to a file of the host", "os.symlink(E['SECRET_FILE'], f'{OUT}/x')", _LINK, fools=True),
    Leaving("a link to a folder of the host", "os.symlink(E['HOST_FOLDER'], f'{OUT}/x')", _LINK, fools=True),
    Leaving("a link that climbs", "os.symlink('../' * 40 + E['SECRET_FILE'], f'{OUT}/x')", _LINK, fools=True),
    Leaving(
        "a link to a link",
        """
os.symlink(E["SECRET_FILE"], f"{OUT}/y")
os.symlink("y", f"{OUT}/x")
""",
        _LINK,
        fools=True,
    ),
    Leaving(
        "a link inside a folder",
        """
os.makedirs(f"{OUT}/x/inner")
os.symlink(E["SECRET_FILE"], f"{OUT}/x/inner/link")
""",
        _LINK,
        fools=True,
    ),
    Leaving(
        "a folder of the host as a folder of a folder",
        """
os.mkdir(f"{OUT}/x")
os.symlink(E["HOST_FOLDER"], f"{OUT}/x/inner")
""",
        _LINK,
        fools=True,
    ),
    Leaving("a link to itself", "os.symlink('x', f'{OUT}/x')", _LINK),
    Leaving("a link to nothing", "os.symlink('nothing', f'{OUT}/x')", _LINK),
    Leaving("a link to an input", "os.symlink(f'{IN}/data', f'{OUT}/x')", _LINK),
    Leaving("a link to what whoever reads it has open", "os.symlink('/proc/self/fd/0', f'{OUT}/x')", _LINK),
    Leaving("a link to the variables of whoever reads it", "os.symlink('/proc/self/environ', f'{OUT}/x')", _LINK),
    Leaving("a link to the root of whoever reads it", "os.symlink('/proc/self/root', f'{OUT}/x')", _LINK),
    Leaving("a link without end", "os.symlink('/dev/zero', f'{OUT}/x')", _LINK),
    Leaving(
        "a file with a second name",
        """
write(f"{OUT}/y")
os.link(f"{OUT}/y", f"{OUT}/x")
""",
        "2 hard links",
    ),
    # --- what is no file
    Leaving("a FIFO", "os.mkfifo(f'{OUT}/x')", "FIFO"),
    Leaving(
        "a FIFO in a folder",
        """
os.mkdir(f'{OUT}/x')
os.mkfifo(f'{OUT}/x/inner')
""",
        "FIFO",
    ),
    Leaving(
        "a FIFO that somebody writes to",
        """
os.mkfifo(f"{OUT}/x")
daemon(lambda: write(f"{OUT}/x"))
""",
        "FIFO",
    ),
    Leaving(
        "a socket",
        """
import socket
os.chdir(OUT)
socket.socket(socket.AF_UNIX).bind("x")
""",
        "socket",
    ),
    Leaving(
        "a folder where a file was declared",
        """
os.mkdir(f'{OUT}/x')
write(f'{OUT}/x/file', b'fine')
""",
        taken={"file": b"fine"},
    ),
    # --- modes
    Leaving(
        "a file that nobody may read",
        """
write(f'{OUT}/x')
os.chmod(f'{OUT}/x', 0)
""",
        "may not read",
    ),
    Leaving(
        "a file that only others may read",
        """
write(f'{OUT}/x')
os.chmod(f'{OUT}/x', 0o077)
""",
        "may not read",
    ),
    Leaving("a folder that nobody may read", "os.mkdir(f'{OUT}/x', 0)", "may not read"),
    Leaving("a folder that nobody may list", "os.mkdir(f'{OUT}/x', 0o300)", "may not read"),
    Leaving("a folder that nobody may pass", "os.mkdir(f'{OUT}/x', 0o400)", "may not read"),
    Leaving(
        "a file that all may run",
        """
write(f'{OUT}/x', b'fine')
os.chmod(f'{OUT}/x', 0o777)
""",
        taken=_FILE,
    ),
    Leaving(
        "a file with attributes",
        """
write(f'{OUT}/x', b'fine')
with suppress(OSError):
    os.setxattr(f'{OUT}/x', 'user.x', b'x')
""",
        taken=_FILE,
    ),
    Leaving(
        "a file of another time",
        """
write(f'{OUT}/x', b'fine')
os.utime(f'{OUT}/x', (1e10, -1e9))
""",
        taken=_FILE,
    ),
    # --- names
    *(
        Leaving(
            f"a name with {what}", f"os.mkdir(f'{{OUT}}/x')\nwrite(OUT.encode() + b'/x/' + {name!a})", "not printable"
        )
        for what, name in {
            "a line end": b"a\nb",
            "a carriage return": b"a\rb",
            "a terminal's escape code": b"\x1b[2J",
            "a bell": b"\x07",
            "half a character": b"\xff",
            "a surrogate": b"\xed\xa0\x80",
            "a change of direction": "a\u202eb".encode(),
            "an invisible space": "a\u200bb".encode(),
            "a private character": "\ue000".encode(),
        }.items()
    ),
    *(
        Leaving(
            f"a name like {name[:9]}",
            f"os.mkdir(f'{{OUT}}/x')\nwrite(f'{{OUT}}/x/{name}', b'fine')",
            taken={name: b"fine"},
        )
        for name in ("-rf", "...", "~", "$(id)", "a;b", "%s%n", "CON", " a ", "*", "n" * 255, "é" * 127)
    ),
    # --- how much
    Leaving(
        "a file that seems longer than all may be",
        "with open(f'{OUT}/x', 'w') as f: f.truncate(9 << 20)",
        "exceeds",
        status="output_limit",
    ),
    Leaving(
        "many files that seem long",
        """
os.mkdir(f"{OUT}/x")
for number in range(100):
    with open(f"{OUT}/x/{number}", "w") as file:
        file.truncate(1 << 20)
""",
        "exceeds",
        status="output_limit",
    ),
    Leaving(
        "more files than may be",
        """
os.mkdir(f"{OUT}/x")
for number in range(1500):
    write(f"{OUT}/x/{number}", b"")
""",
        "more than 1000 entries",
        status="output_limit",
    ),
    Leaving(
        "a hundred thousand files",
        """
os.mkdir(f"{OUT}/x")
for number in range(100_000):
    os.close(os.open(f"{OUT}/x/{number}", os.O_CREAT | os.O_WRONLY))
""",
        "more than 1000 entries",
        status="output_limit",
    ),
    Leaving(
        "more folders than may be",
        """
for number in range(50):
    os.makedirs(f"{OUT}/x/{number}/a/b")
    for each in range(30):
        os.mkdir(f"{OUT}/x/{number}/{each}")
""",
        "more than 1000 entries",
        status="output_limit",
    ),
    Leaving("a tree deeper than may be", "os.makedirs(f'{OUT}/x' + '/x' * 40)", _DEEP),
    Leaving(
        "a tree of ten thousand levels",
        """
os.chdir(OUT)
for _ in range(10_000):
    os.mkdir("x")
    os.chdir("x")
""",
        _DEEP,
        limits=Limits(wall_s=20, output_mib=64),
    ),
    # --- contents that act on whoever opens them
    Leaving(
        "data that unpacks to much more", f"write(f'{{OUT}}/x', bytes.fromhex('{_BOMB.hex()}'))", taken={"x": _BOMB}
    ),
    Leaving("an object that acts when it is read", f"write(f'{{OUT}}/x', {_PICKLE})", taken={"x": _PICKLE}),
    # --- what changes meanwhile
    Leaving(
        "a file that goes on growing",
        """
import time
def grow():
    with open(f"{OUT}/x", "ab", 0) as file:
        while True:
            file.write(b"fine")
daemon(grow)
time.sleep(0.05)
""",
        varies=True,
    ),
    Leaving(
        "a file that turns into a link and back",
        """
import time
def turn():
    while True:
        with suppress(OSError):
            write(f"{OUT}/file", b"fine")
            os.rename(f"{OUT}/file", f"{OUT}/x")
            os.symlink(E["SECRET_FILE"], f"{OUT}/link")
            os.rename(f"{OUT}/link", f"{OUT}/x")
daemon(turn)
time.sleep(0.05)
""",
        varies=True,
        fools=True,
    ),
    Leaving(
        "a folder that turns into a link and back",
        """
import time
def turn():
    os.symlink(E["HOST_FOLDER"], f"{OUT}/y")
    os.mkdir(f"{OUT}/x")
    write(f"{OUT}/x/secret", b"fine")
    while True:
        call("renameat2", -100, f"{OUT}/x".encode(), -100, f"{OUT}/y".encode(), 2)
daemon(turn)
time.sleep(0.05)
""",
        varies=True,
        fools=True,
    ),
)
