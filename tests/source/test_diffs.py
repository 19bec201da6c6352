"""Unified diffs, as `git apply` applies them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.source.edits import unified_diff

GIT = shutil.which("git") or "git"


def applied(old: str, diff: str) -> str:
    """The file after `git apply`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "it.txt"
        file.write_bytes(old.encode())
        command = [GIT, "apply", "--whitespace=nowarn", "-p1", "-"]
        subprocess.run(command, cwd=folder, input=diff.encode(), check=True, capture_output=True)
        return file.read_bytes().decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("a\r\nb\r\n", "a\r\nx\r\n"),
        ("a\x0cb\u2028c\n", "a\x0cb\u2028d\n"),
        ("".join(f"{n}\n" for n in range(50)), "".join(f"{n * (n % 20 != 7)}\n" for n in range(50))),
    ],
)
def test_git_apply_makes_the_change_of_a_diff(old, new):
    assert applied(old, unified_diff(old, new, "it.txt")) == new


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "-- c", "+", "\\", "@@ -1 +1 @@", "\r"]), min_size=1),
    st.lists(st.sampled_from(["a", "b", "d"]), min_size=1),
)
def test_git_makes_any_change(old, new):
    before, after = "\n".join(old), "\n".join(new)
    diff = unified_diff(before, after, "it.txt")
    assert (applied(before, diff) if diff else before) == after


def test_equal_files_have_an_empty_diff():
    assert unified_diff("a\n", "a\n", "it.txt") == ""
