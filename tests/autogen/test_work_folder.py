"""The code's changes of its copy are applied to the working folder, and nothing outside of it is changed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen import run_code
from flyteplugins_codegen.autogen import work_folder
from flyteplugins_codegen.autogen.work_folder import WorkFolder
from flyteplugins_codegen.errors import RequestError, SandboxError


def tree(folder: Path) -> dict[str, str | None]:
    """Every name below a folder, with the text of a file, the target of a link, and None for a folder."""
    return {path.relative_to(folder).as_posix(): content(path) for path in sorted(folder.rglob("*"))}


def content(path: Path) -> str | None:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return path.read_text() if path.is_file() else None


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "sub/deep").mkdir(parents=True)
    for name in ("a", "sub/b", "sub/deep/c"):
        (folder / name).write_text(name)
    return folder


def test_the_codes_changes_are_applied_to_the_working_folder(work: Path) -> None:
    code = """
import os, pathlib, shutil
print(sorted(p for _, _, names in os.walk(".") for p in names if not p.startswith("tmp_code_")))
pathlib.Path("a").write_text("changed")
shutil.move("sub/b", "moved")
shutil.rmtree("sub/deep")
os.makedirs("empty/inner")
os.makedirs("new/inner")
pathlib.Path("new/inner/d").write_text("d")
"""
    execution = run_code(code, work_dir=work)
    assert execution.logs == "['a', 'b', 'c']\n"
    assert execution.written_files == ("a", "moved", "new/inner/d")
    assert execution.deleted_files == ("sub/b", "sub/deep/c")
    assert tree(work) == {
        "a": "changed",
        "moved": "sub/b",
        "new/inner/d": "d",
        **dict.fromkeys(("empty", "empty/inner", "new", "new/inner", "sub")),
    }


def test_a_file_may_become_a_folder_and_a_folder_a_file(work: Path) -> None:
    code = "rm a; mkdir a; echo 1 > a/x; rm -r sub; echo 2 > sub"
    assert run_code(code, work_dir=work, lang="sh").exit_code == 0
    assert tree(work) == {"a": None, "a/x": "1\n", "sub": "2\n"}


def test_without_a_folder_the_code_has_an_empty_one_of_its_own() -> None:
    execution = run_code("import os; print(len(os.listdir('.'))); open('x', 'w')")
    assert (execution.logs, execution.written_files, execution.code_file) == ("1\n", (), None)


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    run_code("open('x', 'w')", work_dir=tmp_path / "a/b")
    assert tree(tmp_path / "a/b") == {"x": ""}


def test_a_file_that_the_code_makes_not_executable_is_executable_no_more(work: Path) -> None:
    (work / "tool").touch()
    (work / "tool").chmod(0o755)
    run_code("chmod -x tool; chmod +x a", work_dir=work, lang="sh")
    assert [(work / name).stat().st_mode & 0o777 for name in ("tool", "a")] == [0o644, 0o755]


def test_files_stay_as_executable_as_they_are_and_no_more_readable(work: Path) -> None:
    (work / "a").chmod(0o600)
    (work / "tool").write_text("#!/bin/sh\necho tool\n")
    (work / "tool").chmod(0o700)
    run_code("./tool >> a; cp tool other; chmod +x other sub/b; chmod -x sub/deep/c", work_dir=work, lang="sh")
    modes = {name: (work / name).stat().st_mode & 0o777 for name in ("a", "tool", "other", "sub/b")}
    assert modes == {"a": 0o600, "tool": 0o700, "other": 0o755, "sub/b": 0o755}
    assert (work / "a").read_text() == "atool\n"


def test_files_that_others_may_not_read_are_copied_for_the_code_too(work: Path) -> None:
    (work / "a").chmod(0o600)
    work.chmod(0o700)
    assert run_code("print(open('a').read())", work_dir=work).logs == "a\n"


def test_a_change_by_another_program_in_the_meantime_stays(work: Path) -> None:
    copied = work_folder.copy_folder(work, make(work.parent / "copy"))
    (work / "a").write_text("theirs")
    (work / "sub/b").write_text("theirs")
    result = work_folder.FolderResult({"mine": copied.folder / "a"}, frozenset(), frozenset({"sub"}), {})
    changes = work_folder.apply_changes(result, copied, work)
    assert (changes.written, changes.deleted) == (("mine",), ("sub/deep/c",))
    assert tree(work) == {"a": "theirs", "mine": "a", "sub": None, "sub/b": "theirs"}


def test_a_file_that_is_removed_while_it_is_copied_is_left_out(work: Path, monkeypatch) -> None:
    def copy_late(source: Path, *arguments: Any, **named: Any) -> None:
        (work / "sub/b").unlink(missing_ok=True)
        copyfile(source, *arguments, **named)

    monkeypatch.setattr(shutil, "copyfile", copy_late)
    copied = work_folder.copy_folder(work, make(work.parent / "copy"))
    assert copied.files == {"a", "sub/deep/c"}


def test_a_file_that_another_run_is_writing_is_left_out(work: Path) -> None:
    (work / ".codegen-aside-0123").write_text("half of i")
    assert work_folder.copy_folder(work, make(work.parent / "copy")).files == {"a", "sub/b", "sub/deep/c"}


names = st.sampled_from(["a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/a/b"])
trees = st.dictionaries(names, st.sampled_from(["1", "2"]), max_size=5).map(
    lambda files: {
        name: text for name, text in files.items() if not any(other.startswith(f"{name}/") for other in files)
    }
)


@given(before=trees, after=trees)
def test_any_tree_becomes_any_other(before: dict[str, str], after: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder, copy, left = (make(Path(scratch, name)) for name in ("folder", "copy", "left"))
        write(folder, before)
        copied = work_folder.copy_folder(folder, copy)
        write(left, after)
        entries = {path.relative_to(left).as_posix(): path for path in left.rglob("*")}
        files = {name: path for name, path in entries.items() if path.is_file()}
        result = work_folder.FolderResult(files, frozenset(), frozenset(entries.keys() - files.keys()), {})
        changes = work_folder.apply_changes(result, copied, folder)
        assert tree(folder) == tree(left)
        assert set(changes.written) == {name for name in after if before.get(name) != after[name]}
        assert set(changes.deleted) == before.keys() - after.keys()


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


# --- links ------------------------------------------------------------------------------------------------------------


def test_links_of_the_folder_are_not_shown_and_stay(work: Path) -> None:
    (work.parent / "outside").write_text("secret")
    (work / "link").symlink_to("../outside")
    (work / "folder").symlink_to("/")
    execution = run_code("import os; print(sorted(os.listdir('.'))[:2])", work_dir=work)
    assert execution.logs == "['a', 'sub']\n"
    assert {name: text for name, text in tree(work).items() if "->" in str(text)} == {
        "link": "-> ../outside",
        "folder": "-> /",
    }


@pytest.mark.parametrize(("link", "written"), [("link", "link"), ("folder", "folder/x"), ("sub/link", "sub/link/x")])
def test_nothing_is_written_where_the_folder_has_a_link(work: Path, link: str, written: str) -> None:
    outside = make(work.parent / "outside")
    (work / link).symlink_to(outside)
    code = f"import os; os.makedirs(os.path.dirname('./{written}'), exist_ok=True); open('{written}', 'w').write('x')"
    execution = run_code(code, work_dir=work)
    assert (execution.exit_code, execution.written_files) == (0, ())
    assert "a link" in execution.refused_outputs[written]
    assert (list(outside.iterdir()), (work / link).is_symlink()) == ([], True)


def test_links_and_devices_that_the_code_leaves_do_not_come_back_and_are_told(work: Path) -> None:
    code = "ln -s /etc/passwd link; mkfifo pipe; mkdir d; ln -s / d/root; echo 1 > d/x; echo 1 > kept"
    execution = run_code(code, work_dir=work, lang="sh")
    assert set(execution.refused_outputs) == {"link", "pipe", "d"}
    assert set(tree(work)) == {"a", "sub", "sub/b", "sub/deep", "sub/deep/c", "kept"}


def test_a_file_that_the_code_makes_a_link_is_neither_followed_nor_removed(work: Path) -> None:
    execution = run_code("rm -r a sub; ln -s /etc/passwd a; ln -s / sub", work_dir=work, lang="sh")
    assert set(execution.refused_outputs) == {"a", "sub"}
    assert tree(work) == {"a": "a", "sub": None, "sub/b": "sub/b", "sub/deep": None, "sub/deep/c": "sub/deep/c"}


def test_a_link_to_the_folder_itself_is_followed_since_the_caller_wrote_it(work: Path) -> None:
    link = work.parent / "link"
    link.symlink_to(work)
    assert run_code("open('x', 'w')", work_dir=link).written_files == ("x",)
    assert (work / "x").exists()


# --- names of the code's file -----------------------------------------------------------------------------------------

LEADING_OUT = [
    *("../x.py", "/etc/x.py", "a/../../x.py", "a/../x.py", "..", ".", "", "a//x.py", "~/../../x.py/..", "..\\x.py"),
    *("x\0.py", "x\n.py", "\ud800.py", "x" * 300, "/".join("abcdefghijklmnopqrstuvwxyz")),
]


@pytest.mark.parametrize("name", LEADING_OUT, ids=ascii)
@pytest.mark.parametrize("lang", ["python", "html"])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str, lang: str) -> None:
    with pytest.raises(RequestError, match=r"filename '.* is refused: it .*; name a file below work_dir"):
        run_code("x = 1", filename=name, work_dir=tmp_path / "work", lang=lang)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ["# filename: {}", "// filename: {}", "<!-- filename: {} -->", "/* filename: {} */"])
@pytest.mark.parametrize("name", ["../x.py", "/etc/x.py", "`../x.py`"])
def test_a_first_line_that_names_a_file_elsewhere_is_refused(tmp_path: Path, line: str, name: str) -> None:
    with pytest.raises(RequestError, match="is refused: it"):
        run_code(f"{line.format(name)}\nx = 1", work_dir=tmp_path / "work")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "told"), [("x.py", "is a link in the folder"), ("sub/link/x.py", "has 'link' above it, which is a link")]
)
def test_code_is_not_written_through_a_link(work: Path, name: str, told: str) -> None:
    outside = make(work.parent / "outside")
    (work / "sub/link").symlink_to(outside)
    (work / "x.py").symlink_to(outside / "x.py")
    with pytest.raises(RequestError, match=f"filename '{name}' {told}"):
        run_code("x = 1", filename=name, work_dir=work)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ("# filename: src/app.py", "src/app.py"),
        ("#FileName : `a.py`", "a.py"),
        ("\n# file name: b.py\r", "b.py"),
    ],
)
def test_code_is_kept_under_the_name_that_its_first_line_says(tmp_path: Path, first: str, name: str) -> None:
    code = f"{first}\nprint(__file__)"
    execution = run_code(code, work_dir=tmp_path)
    assert (execution.exit_code, execution.code_file) == (0, name)
    assert (tmp_path / name).read_bytes() == code.encode()


@pytest.mark.parametrize("first", ["# data.csv", "# Load the file data.csv", "x = '# filename: a.py'", "#!/bin/sh"])
def test_a_first_line_that_says_no_name_is_a_comment(tmp_path: Path, first: str) -> None:
    assert run_code(f"{first}\n", work_dir=tmp_path).code_file is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["-c", "--version", "a b.py", "é.py", ".hidden", "./x.py", "it's.py", "$(id).py"])
def test_an_odd_name_is_a_name_like_any_other(tmp_path: Path, name: str) -> None:
    execution = run_code("print('run')", filename=name, work_dir=tmp_path)
    assert (execution.logs, list(tree(tmp_path))) == ("run\n", [name.removeprefix("./")])


def test_a_file_that_is_there_is_run_by_its_name_and_may_import_what_lies_beside_it(work: Path) -> None:
    (work / "main.py").write_text("import beside; print(beside.WORD)")
    (work / "beside.py").write_text("WORD = 'word'")
    execution = run_code(filename="main.py", work_dir=work)
    assert (execution.logs, execution.code_file, execution.written_files) == ("word\n", "main.py", ())


@pytest.mark.parametrize("name", ["none.py", "link.py", "out/passwd", "sub"])
def test_a_file_that_is_not_there_or_a_link_is_not_run(work: Path, name: str) -> None:
    (work / "link.py").symlink_to("/etc/passwd")
    (work / "out").symlink_to("/etc")
    with pytest.raises(RequestError, match=f"has no file '{name}'"):
        run_code(filename=name, work_dir=work)


def test_code_that_changes_its_own_file_changes_it(tmp_path: Path) -> None:
    execution = run_code("open('x.py', 'w').write('new')", filename="x.py", work_dir=tmp_path)
    assert (execution.written_files, (tmp_path / "x.py").read_text()) == (("x.py",), "new")


def test_code_without_a_name_leaves_no_file_and_touches_none_of_the_same_name(tmp_path: Path) -> None:
    code = "import os; os.remove(__file__)"
    saved = run_code(code, work_dir=tmp_path, lang="text").code_file
    assert saved is not None
    python = tmp_path / saved.replace(".txt", ".py")
    python.write_text("mine")
    run_code(code, work_dir=tmp_path)
    assert python.read_text() == "mine"


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_a_folder_that_holds_too_much_is_refused(work: Path, monkeypatch) -> None:
    monkeypatch.setattr(work_folder, "MOST_FILES", 2)
    with pytest.raises(RequestError, match="holds more than 2 files or 1024 MiB; choose another"):
        run_code("", work_dir=work)


def test_of_too_much_that_the_code_writes_nothing_comes_back_and_nothing_goes(work: Path) -> None:
    code = "mkdir many; cd many; seq 12000 | xargs touch"
    execution = run_code(code, work_dir=work, lang="sh")
    assert execution.exit_code == 1
    assert "output limit: it wrote more than" in execution.logs
    assert set(tree(work)) == {"a", "sub", "sub/b", "sub/deep", "sub/deep/c"}


def test_a_disk_that_takes_nothing_is_the_machines_fault_and_leaves_no_half_of_a_file(work: Path, monkeypatch) -> None:
    def full(*arguments: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(SandboxError, match=r"could not be handed over: .*No space left"):
        run_code("open('x', 'w')", work_dir=work)
    monkeypatch.undo()
    assert set(tree(work)) == {"a", "sub", "sub/b", "sub/deep", "sub/deep/c"}


def test_an_own_folder_replaces_a_file_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    with (tmp_path / "x").open() as reading:
        WorkFolder(tmp_path).write("x", b"new")
        assert reading.read() == "old"
    assert tree(tmp_path) == {"x": "new"}
