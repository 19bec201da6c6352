"""What a program must not learn: of this machine, of whom it runs for, of the jobs before it."""

from __future__ import annotations

from hostile import ABSENT, ROOT, SYSCALL, UNREACHABLE, Program

_LOOK_FOR_WHAT_WAS_LEFT = """
for folder in ("/tmp", "/dev/shm", OUT, APP, "/run", "/var/tmp", "/dev/mqueue"):
    path = f"{folder}/left-{E['PAIR']}"
    if os.path.exists(path):
        os.unlink(path)
        say("LEAK", path)
"""

# Of its session (-3) and of its user (-4): 10 searches one by hand, and a request searches all at once.
_LOOK_FOR_KEY = """
for ring in (-3, -4):
    attempt(call, "keyctl", 10, ring, b"user", E["{name}"].encode(), 0)
attempt(call, "request_key", b"user", E["{name}"].encode(), None, 0)
"""

PROGRAMS = (
    # --- its surroundings
    Program("finds a variable of its supervisor among its own", "leak('CODEGEN_TEST_SECRET' in E)"),
    Program(
        "reads the variables of every process",
        """
for process in processes():
    with suppress(OSError):
        leak(b"CODEGEN_TEST_SECRET" in read(f"/proc/{process}/environ"), process)
""",
    ),
    Program(
        "reads the command line of every process",
        """
for process in processes():
    with suppress(OSError):
        leak(b"CODEGEN-TEST-ARGUMENT" in read(f"/proc/{process}/cmdline"), process)
""",
    ),
    Program(
        "searches the memory of every process",
        """
for process in processes():
    leak(is_in_memory(process, E["SHIFTED_SECRET"].encode()), process)
""",
        control=ROOT,
    ),
    Program(
        "searches its own memory for what its supervisor knows",
        """
if not is_in_memory("self", shift(E["RUN"])):
    say("BLIND")
leak(is_in_memory("self", E["SHIFTED_SECRET"].encode()))
""",
    ),
    Program("sees a process of the host", "os.stat(f\"/proc/{E['HOST_PID']}\"); say('LEAK')", ABSENT),
    Program("sees more processes than its own", "leak(sum(name.isdigit() for name in os.listdir('/proc')) > 3)"),
    Program(
        "inherits a descriptor",
        """
for number in range(3, 1024):
    with suppress(OSError):
        os.fstat(number)
        say("LEAK", number, os.readlink(f"/proc/self/fd/{number}"))
""",
    ),
    Program(
        "finds a secret behind the descriptors of every process",
        """
for process in ["self", *processes()]:
    with suppress(OSError):
        for number in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):
                leak(read(f"/proc/{process}/fd/{number}/secret"), process, number)
""",
        control=ROOT,
    ),
    Program(
        "finds a secret behind the root of every process",
        """
for process in ["self", "thread-self", *processes()]:
    with suppress(OSError):
        leak(read(f"/proc/{process}/root" + E["SECRET_FILE"]), process)
""",
    ),
    Program(
        "finds a secret behind the working folder of every process",
        """
for process in ["self", "thread-self", *processes()]:
    with suppress(OSError):
        leak(read(f"/proc/{process}/cwd/secret"), process)
""",
        control=ROOT,
    ),
    # --- files of the host
    Program("reads a file of the host", "leak(read(E['SECRET_FILE']))", ABSENT),
    Program("reads a private key in a home", "leak(read(E['KEY_FILE']))", ABSENT),
    Program(
        "reads a file of the host by climbing",
        "leak(read('../' * 40 + E['SECRET_FILE'].lstrip('/')))",
        ABSENT,
    ),
    Program(
        "finds a folder of people, services or disks",
        """
def files_of(folder):
    for path, below, names in os.walk(folder):
        if sys.base_prefix.startswith(path):
            below[:] = [name for name in below if not f"{path}/{name}/".startswith(f"{sys.base_prefix}/")]
        yield from (f"{path}/{name}" for name in names)
for folder in ("/home", "/root", "/srv", "/opt", "/boot", "/mnt", "/media"):
    found = next(files_of(folder), None)
    leak(found, found)
""",
    ),
    Program(
        "reads what only administrators may",
        """
for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key"):
    with suppress(OSError):
        leak(read(path), path)
""",
        control=ROOT,
    ),
    Program("learns who has an account on the host", "leak(b'daemon' in read('/etc/passwd'))"),
    Program("learns the host's name", "leak(os.uname().nodename == E['HOST_NAME'])"),
    # --- what is not a file
    Program(
        "finds a key of its supervisor in the kernel's keyrings",
        _LOOK_FOR_KEY.format(name="KEY_NAME"),
        SYSCALL,
        missing=("ENOSYS", "EPERM", "ENOKEY"),
    ),
    Program(
        "lists the keys of its supervisor",
        """
with suppress(OSError):
    leak(E['KEY_NAME'].encode() in read('/proc/keys'))
""",
    ),
    Program(
        "asks the cloud who it is",
        """
import socket
socket.create_connection(('169.254.169.254', 80), 5)
say('LEAK')
""",
        UNREACHABLE,
        control="it would ask for credentials that are real",
    ),
    Program(
        "connects to a service of the host by its file",
        """
import socket
socket.socket(socket.AF_UNIX).connect(E['SOCKET_FILE'])
say('LEAK')
""",
        ABSENT,
    ),
    Program(
        "opens the terminal of its supervisor",
        "attempt(os.open, '/dev/tty', os.O_RDWR)",
        ("ENXIO", "ENOENT", "EACCES"),
        control="a test has none",
    ),
    # --- earlier jobs
    Program(
        "finds a file that an earlier job left",
        _LOOK_FOR_WHAT_WAS_LEFT,
        before="""
for folder in ("/tmp", "/dev/shm", OUT, APP, "/run", "/var/tmp", "/dev/mqueue"):
    with suppress(OSError):
        write(f"{folder}/left-{E['PAIR']}")
""",
    ),
    Program(
        "finds shared memory that an earlier job left",
        """
found = call("shmget", int(E["PAIR"], 16), 4096, 0o600)
call("shmctl", found, 0, None)
say("LEAK")
""",
        ABSENT,
        before='call("shmget", int(E["PAIR"], 16), 4096, 0o1600)',
    ),
    Program(
        "reaches a daemon that an earlier job left",
        """
import socket
socket.socket(socket.AF_UNIX).connect(chr(0) + E['PAIR'])
say('LEAK')
""",
        ("ECONNREFUSED",),
        before="""
import signal, socket
server = socket.socket(socket.AF_UNIX)
server.bind(chr(0) + E["PAIR"])
server.listen()
def serve():
    signal.alarm(10)
    server.accept()
daemon(serve)
""",
    ),
    Program(
        "finds a key that an earlier job left",
        _LOOK_FOR_KEY.format(name="PAIR"),
        SYSCALL,
        before="""
for ring in (-3, -4):
    with suppress(OSError):
        call("add_key", b"user", E["PAIR"].encode(), b"x", 1, ring)
""",
        missing=("ENOSYS", "EPERM"),
    ),
    Program(
        "searches its own memory for what an earlier job was given",
        """
if not is_in_memory("self", shift(E["RUN"])):
    say("BLIND")
for process in ["self", *processes()]:
    leak(is_in_memory(process, E["SHIFTED_GIVEN"].encode()), process)
""",
        before="kept = [E['GIVEN'] * 1000]",
        control="a process that is started anew holds nothing of another; what it finds of its own shows that it looks",
    ),
)
