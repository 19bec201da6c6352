"""What a program must not write, mount, link or make."""

from __future__ import annotations

from hostile import NAMESPACES, ROOT, SYSCALL, WRITING, Program

_IN_ITS_PLACE = (*WRITING, "EBUSY", "EXDEV", "ENOENT")
_EVERY_MOUNT = 'sorted({line.split()[4] for line in read("/proc/self/mountinfo").decode().splitlines()})'

PROGRAMS = (
    # --- writing where it likes
    Program(
        "writes a file of the host",
        """
write(E['HOST_FOLDER'] + '/left')
say('LEAK')
""",
        ("ENOENT",),
    ),
    Program(
        "makes a file in any folder",
        """
for folder, below, _ in os.walk(ROOT):
    if folder in ("/proc", "/sys", "/tmp", "/dev/shm", OUT):
        below.clear()
    else:
        with suppress(OSError):
            write(f"{folder}/made-{RUN}")
            os.unlink(f"{folder}/made-{RUN}")
            say("LEAK", folder)
""",
    ),
    Program(
        "opens any file for writing",
        """
for folder, below, names in os.walk(ROOT):
    if folder in ("/proc", "/sys", "/dev", "/tmp", OUT):
        below.clear()
        continue
    for name in names:
        path = f"{folder}/{name}"
        leak(not os.path.islink(path) and is_opened(path, os.O_WRONLY), path)
""",
    ),
    Program(
        "makes a file without a name in any folder",
        """
for folder in (ROOT, "/usr", "/usr/bin", "/etc", "/var", APP, IN):
    attempt(os.open, folder, os.O_TMPFILE | os.O_WRONLY)
""",
        (*WRITING, "EOPNOTSUPP", "ENOENT"),
    ),
    # --- its inputs
    Program("changes an input", "for path in INPUTS: attempt(open, path, 'r+b')", WRITING),
    Program(
        "empties an input",
        "for path in INPUTS: attempt(os.truncate, path, 0)",
        WRITING,
    ),
    Program(
        "removes an input",
        "for path in INPUTS: attempt(os.unlink, path)",
        _IN_ITS_PLACE,
    ),
    Program(
        "renames an input",
        "for path in INPUTS: attempt(os.rename, path, f'{path}-other')",
        _IN_ITS_PLACE,
    ),
    Program(
        "replaces an input",
        """
write('/dev/shm/other')
for path in INPUTS:
    attempt(os.replace, '/dev/shm/other', path)
""",
        _IN_ITS_PLACE,
        control="its folder need not lie on the same disk as the file that it takes",
    ),
    Program(
        "exchanges an input for an output",
        """
write(f"{OUT}/other")
for path in INPUTS:
    attempt(call, "renameat2", -100, f"{OUT}/other".encode(), -100, path.encode(), 2)
""",
        _IN_ITS_PLACE,
    ),
    Program(
        "changes the mode of an input",
        "for path in (IN, *INPUTS): attempt(os.chmod, path, 0o777)",
        WRITING,
    ),
    Program(
        "gives an input away",
        "for path in (IN, *INPUTS): attempt(os.chown, path, os.getuid(), os.getgid())",
        WRITING,
    ),
    Program(
        "dates an input back",
        "for path in (IN, *INPUTS): attempt(os.utime, path, (0, 0))",
        WRITING,
    ),
    Program(
        "notes something on an input",
        "for path in (IN, *INPUTS): attempt(os.setxattr, path, 'user.note', b'x')",
        (*WRITING, "EOPNOTSUPP"),
        missing=("EOPNOTSUPP",),
    ),
    Program(
        "opens an input a second time, for writing, by its descriptor",
        """
for path in INPUTS:
    attempt(os.open, f"/proc/self/fd/{os.open(path, os.O_RDONLY)}", os.O_RDWR)
""",
        WRITING,
    ),
    Program(
        "leaves something beside its inputs",
        "for folder in {os.path.dirname(path) for path in INPUTS}: attempt(write, f'{folder}/new')",
        WRITING,
    ),
    Program(
        "gives an input a second name among its outputs",
        "for path in INPUTS: attempt(os.link, path, f'{OUT}/{RUN}')",
        ("EXDEV", "EPERM", "EROFS", "EACCES"),
    ),
    # --- its program, its packages, its interpreter
    Program("changes its program", "attempt(open, f'{APP}/program.py', 'ab')", WRITING),
    Program("leaves something beside its program", "attempt(write, f'{APP}/json.py')", WRITING),
    Program("leaves byte code of its program", "attempt(os.mkdir, f'{APP}/__pycache__')", WRITING),
    Program(
        "changes a package",
        """
import package
attempt(open, package.__file__, 'ab')
""",
        WRITING,
    ),
    Program(
        "leaves a package that every later job imports",
        """
import package
for name in ("sitecustomize.py", "usercustomize.py", "x.pth", "json.py"):
    attempt(write, f"{os.path.dirname(package.__file__)}/{name}")
""",
        WRITING,
    ),
    Program(
        "leaves byte code of a package",
        """
import package
folder = os.path.dirname(package.__file__)
attempt(os.mkdir, f"{folder}/__pycache__")
attempt(os.chmod, folder, 0o777)
""",
        WRITING,
    ),
    Program(
        "changes the standard library",
        """
import json
attempt(open, json.__file__, 'ab')
""",
        WRITING,
        ROOT,
    ),
    Program(
        "changes the program that it runs in",
        "for path in ('/proc/self/exe', '/proc/1/exe', sys.executable): attempt(os.open, path, os.O_RDWR)",
        (*WRITING, "ETXTBSY"),
        control="a program that runs is busy anywhere",
    ),
    Program(
        "puts a library before every program",
        "for path in ('/etc/ld.so.preload', '/etc/ld.so.cache', '/etc/passwd'): attempt(open, path, 'ab')",
        WRITING,
        control="it would change this machine",
    ),
    Program(
        "replaces the folder of its outputs",
        """
attempt(os.rename, OUT, OUT + '-other')
attempt(os.rmdir, OUT)
""",
        _IN_ITS_PLACE,
    ),
    # --- what is mounted
    Program("mounts over a folder", "attempt(call, 'mount', b'x', b'/tmp', b'tmpfs', 0, None)", SYSCALL, NAMESPACES),
    Program(
        "shows a folder in a second place",
        """
os.mkdir(f'{OUT}/here')
attempt(call, 'mount', b'/', f'{OUT}/here'.encode(), None, 4096 | 16384, None)
""",
        SYSCALL,
        NAMESPACES,
    ),
    Program(
        "makes what is mounted writable",
        f"for place in {_EVERY_MOUNT}: attempt(call, 'mount', None, place.encode(), None, 0x1020, None)",
        SYSCALL,
        NAMESPACES,
    ),
    Program(
        "unmounts what hides something",
        f"for place in {_EVERY_MOUNT}: reach('umount2', place.encode(), 2)",
        SYSCALL,
        NAMESPACES,
    ),
    Program(
        "lets what it mounts appear elsewhere",
        "attempt(call, 'mount', None, b'/', None, (1 << 20) | 16384, None)",
        SYSCALL,
        NAMESPACES,
    ),
    Program("opens a file system", "attempt(call, 'fsopen', b'tmpfs', 0)", SYSCALL, NAMESPACES),
    Program("takes hold of a tree of mounts", "attempt(call, 'open_tree', -100, b'/', 1)", SYSCALL, NAMESPACES),
    Program("picks a mount to change it", "attempt(call, 'fspick', -100, b'/', 0)", SYSCALL, NAMESPACES),
    Program("moves a mount", "reach('move_mount', -1, b'', -1, b'', 0)", SYSCALL, NAMESPACES),
    Program(
        "changes the options of a mount",
        """
import ctypes
reach('mount_setattr', -100, b'/', 0, ctypes.create_string_buffer(32), 32)
""",
        SYSCALL,
        NAMESPACES,
    ),
    Program("makes a mount of a file system", "reach('fsmount', -1, 0, 0)", SYSCALL, NAMESPACES),
    Program(
        "changes its root",
        "attempt(call, 'chroot', b'/tmp')",
        SYSCALL,
        NAMESPACES,
    ),
    Program("exchanges its root", "reach('pivot_root', b'/tmp', b'/tmp')", SYSCALL, NAMESPACES),
    # --- the kernel's own files
    Program(
        "opens a setting of the kernel for writing",
        """
for folder, _, names in os.walk("/proc/sys"):
    for name in names:
        leak(name != "ns_last_pid" and is_opened(f"{folder}/{name}", os.O_WRONLY), folder, name)
""",
        control=ROOT,
    ),
    Program(
        "opens a switch of the kernel for writing",
        """
for name in os.listdir("/proc"):
    if not name.isdigit() and name not in ("self", "thread-self", "sys", "pressure"):
        for folder, _, names in os.walk(f"/proc/{name}"):
            for each in names:
                leak(is_opened(f"{folder}/{each}", os.O_WRONLY), folder, each)
for name in ("sysrq-trigger", "mtrr", "kcore", "kmsg"):
    leak(is_opened(f"/proc/{name}", os.O_WRONLY), name)
""",
        control=ROOT,
    ),
    Program(
        "opens a setting of a driver for writing",
        """
for place in ("kernel", "module", "power", "firmware", "block"):
    for folder, below, names in os.walk(f"/sys/{place}"):
        below[:] = set(below) - {"tracing", "debug"}  # where opening a file acts
        for name in names:
            leak(is_opened(f"{folder}/{name}", os.O_WRONLY), folder, name)
""",
        control=ROOT,
    ),
    Program(
        "opens a control group for writing",
        """
for folder, _, names in os.walk("/sys/fs/cgroup"):
    for name in names:
        if name in ("cgroup.procs", "release_agent", "tasks", "memory.max", "memory.limit_in_bytes"):
            leak(is_opened(f"{folder}/{name}", os.O_WRONLY), folder, name)
""",
        control=ROOT,
    ),
    # --- what is no plain file
    Program(
        "finds a device of the host",
        """
own = "console core fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero".split()
leak(set(os.listdir("/dev")) - set(own), sorted(set(os.listdir("/dev")) - set(own)))
""",
    ),
    Program(
        "makes a device",
        """
import stat
for kind, number in ((stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFBLK, os.makedev(254, 0))):
    attempt(os.mknod, f"{OUT}/device", kind | 0o600, number)
""",
        SYSCALL,
        ROOT,
    ),
    Program(
        "makes a program that changes who runs it",
        """
write(f"{OUT}/program")
for mode in (0o4755, 0o2755):
    attempt(os.chmod, f"{OUT}/program", mode)
attempt(os.open, f"{OUT}/other", os.O_CREAT | os.O_WRONLY, 0o4755)
""",
        SYSCALL,
    ),
    Program(
        "gives a program the kernel's privileges",
        """
write("/tmp/" + RUN)
try:
    attempt(os.setxattr, "/tmp/" + RUN, "security.capability", bytes.fromhex("0100000202" + "00" * 15))
finally:
    os.unlink("/tmp/" + RUN)
""",
        ("EPERM", "EOPNOTSUPP"),
        ROOT,
        missing=("EOPNOTSUPP",),
    ),
    Program(
        "reads a file of the host by a link",
        """
os.symlink(E['SECRET_FILE'], f'{OUT}/link')
leak(read(f'{OUT}/link'))
""",
        ("ENOENT",),
    ),
)
