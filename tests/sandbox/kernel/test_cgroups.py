"""Control groups: real ones if this machine has them, and files laid out as on other machines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

import pytest

from flyteplugins_codegen.sandbox import Limits
from flyteplugins_codegen.sandbox.kernel import cgroups
from flyteplugins_codegen.sandbox.kernel.cgroup_mounts import (
    Hierarchy,
    find_parent,
    parse_hierarchies,
    read_hierarchies,
)
from flyteplugins_codegen.sandbox.kernel.cgroups import (
    Cgroup,
    CgroupRoots,
    GroupParent,
    HierarchyGroup,
    Lingering,
    find_cgroups,
)
from flyteplugins_codegen.sandbox.temporary import is_abandoned, owned_prefix

PYTHON = [sys.executable, "-I", "-S", "-c"]


@pytest.fixture(scope="module")
def roots() -> CgroupRoots:
    found = find_cgroups()
    if found is None:
        pytest.skip("no control group can be made here: start as root, or in a delegated group of version 2")
    return found


@pytest.fixture
def group(roots: CgroupRoots) -> Iterator[Cgroup]:
    with closing(roots.open(Limits(memory_mib=64, processes=20))) as opened:
        yield opened


def run_in(group: Cgroup, code: str) -> subprocess.CompletedProcess[bytes]:
    """Run a program that begins only once it is in the group."""
    command = [*PYTHON, f"import os, sys, time; sys.stdin.read()\n{code}"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    group.add(process.pid)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def groups_left(roots: CgroupRoots, prefix: str) -> set[str]:
    return {path.name for parent in roots._parents for path in parent.folder.iterdir() if path.name.startswith(prefix)}


def assert_no_group_is_left(roots: CgroupRoots) -> None:
    """No test of this process leaves a group, once the kernel has removed the killed processes."""

    def are_gone() -> bool:
        roots.open(Limits()).close()
        return groups_left(roots, owned_prefix("job")) == set()

    wait_until(are_gone)


# --- what they do -----------------------------------------------------------------------------------------------------


def test_all_limits_hold_where_groups_can_be_made(roots):
    assert roots.layers == ("cgroup-memory", "cgroup-processes", "cgroup-cpu")


def test_threads_that_look_for_groups_at_the_same_time_find_the_same(roots, monkeypatch):
    monkeypatch.setattr(cgroups, "_find_cgroups", cache(cgroups._find_cgroups.__wrapped__))
    with ThreadPoolExecutor(8) as pool:
        found = [future.result() for future in [pool.submit(find_cgroups) for _ in range(8)]]
    assert found[0].layers == roots.layers
    assert all(one is found[0] for one in found)


def test_a_process_that_needs_more_memory_is_killed_and_counted(group):
    assert run_in(group, "print(len(b'x' * (20 << 20)))").stdout == b"20971520\n"
    before = group.usage()
    assert before.oom_kills == 0
    assert 20 < before.peak_memory_mib < 64
    assert run_in(group, "b'x' * (100 << 20)").returncode == -signal.SIGKILL
    after = group.usage()
    assert after.oom_kills >= 1  # a group that is killed as one counts its first victim twice
    assert 60 < after.peak_memory_mib <= 64


def test_memory_is_that_of_all_processes_together(group):
    code = """
for _ in range(8):
    if os.fork() == 0:
        kept = b'x' * (16 << 20)
        time.sleep(2)
        os._exit(0)
statuses = [os.wait()[1] for _ in range(8)]
print(9 in statuses)
"""
    run_in(group, code)
    assert group.usage().oom_kills >= 1


def test_files_in_memory_are_memory(group):
    code = "file = os.memfd_create('x')\nfor _ in range(100): os.write(file, bytes(1 << 20))"
    assert run_in(group, code).returncode == -signal.SIGKILL


def test_processes_are_bounded(group):
    code = """
made = []
try:
    while len(made) < 100:
        made.append(os.fork())
        if made[-1] == 0:
            time.sleep(60)
except BlockingIOError:
    print(len(made))
[os.kill(pid, 9) for pid in made]
"""
    assert 10 < int(run_in(group, code).stdout) <= 20


def test_processor_time_is_that_of_all_processes_that_ever_were(group):
    code = """
for _ in range(3):
    if os.fork() == 0:
        while sum(os.times()[:2]) < 0.2:
            pass
        os._exit(0)
    os.wait()
"""
    run_in(group, code)
    assert 0.5 < group.cpu_s() < 10
    assert group.usage().cpu_s > 0.5


DAEMON = """
if os.fork() == 0:
    os.setsid()
    os.close(1)
    os.close(2)
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
"""


def members(group: Cgroup) -> set[int]:
    return {pid for one in group._groups for pid in one._members()}


def test_closing_outruns_a_program_that_forks_for_ever(roots):
    group = roots.open(Limits(memory_mib=200, processes=40))
    code = "print('begun', flush=True)\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    command = [*PYTHON, f"import os, sys; sys.stdin.read(1)\n{code}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        group.add(process.pid)
        process.stdin.write(b"g")
        process.stdin.flush()
        assert process.stdout.readline() == b"begun\n"
        wait_until(lambda: len(members(group)) > 10)
        group.close()
    assert_no_group_is_left(roots)


def test_closing_ends_what_left_its_parents_and_its_session_and_leaves_no_group(roots):
    group = roots.open(Limits())
    run_in(group, DAEMON)
    (daemon,) = members(group)
    group.close()
    assert not is_running(daemon)
    assert_no_group_is_left(roots)


def test_groups_and_descriptors_do_not_pile_up(roots):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        roots.open(Limits()).close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert_no_group_is_left(roots)


def test_a_group_that_could_not_be_removed_in_time_goes_with_the_next_job(roots, monkeypatch):
    monkeypatch.setattr("flyteplugins_codegen.sandbox.kernel.cgroups.HierarchyGroup.remove.__defaults__", (0.01,))
    assert_no_group_is_left(roots)
    stuck = roots.open(Limits())
    held = [path / "held" for parent in roots._parents for path in parent.folder.glob(f"{owned_prefix('job')}*")]
    for inner in held:
        inner.mkdir()  # keeps the group, as a process that still ends would
    stuck.close()
    assert groups_left(roots, owned_prefix("job"))
    for inner in held:
        inner.rmdir()
    assert_no_group_is_left(roots)


def test_a_process_enters_by_itself_or_is_added_after_a_wait(group):
    """The version decides which of both; each puts the process under the limits."""
    with ExitStack() as stack:
        entries = group.entries(stack)
        code = f"[os.write(entry, b'0') for entry in {entries}]; b'x' * (100 << 20)"
        process = subprocess.Popen(
            [*PYTHON, f"import os, sys; sys.stdin.read()\n{code}"], stdin=subprocess.PIPE, pass_fds=entries
        )
        if not entries:
            group.prepare()
            group.add(process.pid)
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert group.usage().oom_kills >= 1


def test_preparing_moves_nothing(group):
    before = Path("/proc/self/cgroup").read_text()
    group.prepare()
    assert Path("/proc/self/cgroup").read_text() == before
    assert members(group) == set()


def test_a_process_that_has_ended_cannot_be_added(group):
    process = subprocess.Popen([*PYTHON, ""])
    process.wait()
    with pytest.raises(ProcessLookupError):
        group.add(process.pid)


def test_what_a_killed_supervisor_left_is_ended_and_removed_by_the_next(roots):
    code = """
import subprocess, sys
from flyteplugins_codegen.sandbox.kernel.cgroups import find_cgroups
from flyteplugins_codegen.sandbox import Limits
from flyteplugins_codegen.sandbox.kernel import cgroups
group = find_cgroups().open(Limits())
left = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)
group.add(left.pid)
print(left.pid, flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as supervisor:
        left = int(supervisor.stdout.readline())
        cgroups._find_cgroups.__wrapped__()
        assert is_running(left), "a living supervisor's jobs are its own"
        supervisor.kill()
    cgroups._find_cgroups.__wrapped__()
    wait_until(lambda: not is_running(left))
    assert not [name for name in groups_left(roots, "codegen-job-") if is_abandoned(name)]


# --- owners -----------------------------------------------------------------------------------------------------------


def test_only_what_a_dead_process_of_this_namespace_owned_is_abandoned():
    mine = owned_prefix("job")
    boot, namespace, pid, began = mine.removeprefix("codegen-job-").rstrip("-").split("-")
    nobody = 2**22 + 1
    assert not is_abandoned(f"{mine}0")
    assert is_abandoned(f"codegen-job-{boot}-{namespace}-{pid}-{int(began) + 1}-0")
    assert is_abandoned(f"codegen-job-{boot}-{namespace}-{nobody}-{began}-0")
    assert not is_abandoned(f"codegen-job-{boot}-{int(namespace) + 1}-{nobody}-{began}-0")
    assert not is_abandoned(f"codegen-job-{boot[::-1]}0-{namespace}-{nobody}-{began}-0")
    assert not is_abandoned("codegen-job-x")
    assert not is_abandoned("user.slice")


# --- hierarchies ------------------------------------------------------------------------------------------------------

V1 = """\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
V1_GROUPS = "4:memory:/jobs/one\n1:cpu,cpuacct:/\n9:name=systemd:/x\n0::/\n"
V2 = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n25 1 0:24 / / rw - ext4 /dev/sda rw\n"
V2_SCOPE = "/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope"


@pytest.mark.parametrize(
    ("groups", "mounts", "expected"),
    [
        (
            V1_GROUPS,
            V1,
            [
                (1, "/sys/fs/cgroup/cpu,cpuacct", {"cpu", "cpuacct"}),
                (1, "/sys/fs/cgroup/memory/jobs/one", {"memory"}),
                (2, "/sys/fs/cgroup/unified", set()),
            ],
        ),
        (f"0::{V2_SCOPE}\n", V2, [(2, f"/sys/fs/cgroup{V2_SCOPE}", set())]),
        # In a container: the host's path; the mount shows what is below the container's group.
        (
            "4:memory:/docker/abc/in\n",
            "1 2 0:3 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
            [(1, "/sys/fs/cgroup/memory/in", {"memory"})],
        ),
        ("4:memory:/docker/abc\n", "1 2 0:3 /docker/abc /m\\040x rw - cgroup c rw,memory\n", [(1, "/m x", {"memory"})]),
        # Not shown: another container's group, one that only begins alike, and one outside of our namespace.
        ("4:memory:/docker/abc\n", "1 2 0:3 /docker/x /m rw - cgroup c rw,memory\n", []),
        ("4:memory:/docker/abc\n", "1 2 0:3 /docker/ab /m rw - cgroup c rw,memory\n", []),
        ("0::/../other\n", V2, []),
        ("4:memory:/\n", "1 2 0:3 /../.. /m rw - cgroup c rw,memory\n", []),
        ("", V1, []),
        (V1_GROUPS, "", []),
    ],
)
def test_our_own_groups_are_found(groups, mounts, expected):
    found = parse_hierarchies(groups, mounts)
    assert [(one.version, str(one.own), set(one.controllers)) for one in found] == expected


# --- version 2: which group may be the parent -------------------------------------------------------------------------


def make_tree(root: Path, groups: dict[str, tuple[str, str, str]]) -> None:
    """Files as the kernel shows them: for each group its subtree control, its processes and its memory limit."""
    for name, (passed_on, processes, limit) in groups.items():
        (root / name).mkdir(exist_ok=True)
        texts = {"cgroup.subtree_control": passed_on, "cgroup.procs": processes, "memory.max": limit}
        for file, text in {**texts, "cgroup.controllers": "cpu memory pids"}.items():
            (root / name / file).write_text(text)


def hierarchy(mount: Path, own: str) -> Hierarchy:
    return Hierarchy(2, mount, mount / own, frozenset())


def test_in_a_users_session_the_nearest_group_above_that_passes_memory_on_is_taken(tmp_path):
    both = "memory pids"
    make_tree(tmp_path, {"": (both, "", "max"), "user": (both, "", "max"), "user/scope": ("", "7 8", "max")})
    assert find_parent(hierarchy(tmp_path, "user/scope")) == tmp_path / "user"


def test_a_job_does_not_get_around_the_memory_limit_of_its_supervisor(tmp_path):
    make_tree(tmp_path, {"": ("memory pids", "", "max"), "user": ("", "7 8", "1073741824")})
    assert find_parent(hierarchy(tmp_path, "user")) is None


def test_without_a_group_that_passes_anything_on_there_is_no_parent(tmp_path):
    make_tree(tmp_path, {"": ("", "", "max"), "user": ("cpu", "", "max"), "user/scope": ("", "7 8", "max")})
    assert find_parent(hierarchy(tmp_path, "user/scope")) is None
    assert sorted(path.name for path in (tmp_path / "user" / "scope").iterdir() if path.is_dir()) == []


def test_a_group_that_is_not_ours_to_change_is_left_as_it_was(tmp_path):
    make_tree(tmp_path, {"": ("", "", "max"), "service": ("", str(os.getpid()), "max")})
    assert (
        find_parent(hierarchy(tmp_path, "service")) is None
    )  # a new folder here is no group, so no process can be added
    assert not [path for path in (tmp_path / "service").iterdir() if path.is_dir()]


@pytest.fixture
def second() -> Path:
    """The root of a real hierarchy of version 2, whatever it controls."""
    mounts = [one.mount for one in read_hierarchies() if one.version == 2]
    if not mounts or not os.access(mounts[0] / "cgroup.procs", os.W_OK) or not words(mounts[0], "controllers"):
        pytest.skip("no writable hierarchy of version 2 with a controller; start as root on Linux")
    return mounts[0]


def words(folder: Path, file: str) -> list[str]:
    return (folder / f"cgroup.{file}").read_text().split()


STEP_ASIDE = """
import sys
from pathlib import Path
from flyteplugins_codegen.sandbox.kernel import cgroup_mounts
from flyteplugins_codegen.sandbox.kernel.cgroup_mounts import Hierarchy
mount, own, controller = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
cgroup_mounts._WANTED = (controller,)
(own / "cgroup.procs").write_text("0")
parent = cgroup_mounts.find_parent(Hierarchy(2, mount, own, frozenset()))
print(parent == own, cgroup_mounts.passed_on(own) == {controller}, (own / "cgroup.procs").read_text() == "")
again = cgroup_mounts.find_parent(Hierarchy(2, mount, own, frozenset()))
print(again == own, len([path for path in own.iterdir() if path.is_dir()]))
"""


def test_alone_in_its_group_our_process_steps_aside_and_back_again(second):
    controller = words(second, "controllers")[0]
    passed_before = controller in words(second, "subtree_control")
    (second / "cgroup.subtree_control").write_text(f"+{controller}")
    own = second / f"codegen-test-{os.getpid()}"
    own.mkdir()
    try:
        command = [sys.executable, "-c", STEP_ASIDE, str(second), str(own), controller]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout.split() == ["True", "True", "True", "True", "1"], done.stderr
        assert not [path for path in own.iterdir() if path.is_dir()]
        assert words(own, "subtree_control") == []
    finally:
        own.rmdir()
        if not passed_before:
            (second / "cgroup.subtree_control").write_text(f"-{controller}")


def test_a_real_group_of_version_2_counts_kills_and_goes(second):
    group = Cgroup(
        (HierarchyGroup(GroupParent(2, second, second, frozenset({"cpu"})), f"{owned_prefix('test')}0"),),
        (),
        Lingering(),
    )
    run_in(group, DAEMON)
    (daemon,) = members(group)
    assert 0 < group.cpu_s() < 10
    group.close()
    assert not is_running(daemon)
    assert groups_left(CgroupRoots([GroupParent(2, second, second, frozenset())]), owned_prefix("test")) == set()


# --- version 2: what is written and read ------------------------------------------------------------------------------


def make_group(folder: Path, **files: str) -> HierarchyGroup:
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    return HierarchyGroup(
        GroupParent(2, folder.parent, folder.parent, frozenset({"memory", "pids", "cpu"})), folder.name, new=False
    )


def test_a_group_of_version_2_bounds_memory_swap_and_processes_and_ends_as_one(tmp_path):
    names = ("memory_max", "memory_swap.max", "memory_oom.group", "pids_max")
    make_group(tmp_path / "job", **dict.fromkeys(names, "")).limit(Limits(memory_mib=3, processes=7))
    written = {path.name: path.read_text() for path in (tmp_path / "job").iterdir()}
    expected = {"memory.max": str(3 << 20), "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "8"}
    assert written == expected


def test_a_kernel_without_swap_accounting_and_group_kills_will_do(tmp_path):
    make_group(tmp_path / "job", memory_max="", pids_max="").limit(Limits(memory_mib=3))
    assert (tmp_path / "job" / "memory.max").read_text() == str(3 << 20)


def test_a_kernel_that_takes_no_limit_is_no_place_for_jobs(tmp_path):
    with pytest.raises(OSError, match=r"pids\.max"):
        make_group(tmp_path / "job", memory_max="").limit(Limits())


def test_what_a_group_of_version_2_counts_is_read(tmp_path):
    files = {
        "memory_peak": "5242880\n",
        "memory_events": "low 0\nhigh 0\nmax 5\noom 2\noom_kill 3\noom_group_kill 1\n",
        "cpu_stat": "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\n",
    }
    group = make_group(tmp_path / "job", **files)
    assert (group.peak_memory_mib(), group.oom_kills(), group.cpu_s()) == (5.0, 3, 1.5)
    (tmp_path / "job" / "memory.peak").unlink()
    assert group.peak_memory_mib() is None
