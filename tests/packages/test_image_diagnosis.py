"""Real output of apt and pip in failed builds, and the error that it becomes."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.errors import EnvironmentBuildError, ImageBuildError, IndexUnavailableError, PackageError
from flyteplugins_codegen.packages.images.diagnosis import explain_build

RETRYING = """\
WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by \
'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new \
connection: [Errno -3] Temporary failure in name resolution')': /simple/six/
ERROR: No matching distribution found for six==1.17.0"""
UNRESOLVED = """\
Err:1 http://nowhere.invalid/debian bookworm InRelease
  Temporary failure resolving 'nowhere.invalid'
E: Unable to locate package libgomp1"""
UNMET = """\
The following packages have unmet dependencies:
 libfoo1 : Depends: libbar (>= 2) but it is not going to be installed
E: Unable to correct problems, you have held broken packages."""
CHANGED = """\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package versions, \
please update the hashes. Otherwise, examine the package contents carefully; someone may have tampered with them.
    six==1.17.0 from https://files.example/six.whl (from -r /app/requirements.txt):
        Expected sha256 00
             Got        01"""
NO_VERSION = "ERROR: Could not find a version that satisfies the requirement bar[x]==9 (from versions: 1.0)"


@pytest.mark.parametrize(
    ("log", "package"),
    [
        ("E: Unable to locate package libfoo", "libfoo"),
        ("#9 4.312 E: Unable to locate package libfoo", "libfoo"),
        ("E: Package 'python-dev' has no installation candidate", "python-dev"),
        ("E: Couldn't find any package by glob 'libfoo*'", "libfoo*"),
        (UNMET, "libfoo1"),
        ("ERROR: No matching distribution found for bar==9", "bar"),
        (f"#11 1.902 {NO_VERSION}", "bar"),
        ("ERROR: No matching distribution found for bar==9 (from -r /app/requirements.txt (line 3))", "bar"),
    ],
)
def test_a_package_to_blame_is_named(log: str, package: str) -> None:
    error = explain_build(f"STEP 4/9: RUN x\n{log}\nError: building at STEP", "it failed")
    assert isinstance(error, PackageError)
    assert error.package == package
    assert package in str(error)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (RETRYING, "could not reach"),
        (UNRESOLVED, "could not reach"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("E: You don't have enough free space in /var/cache/apt/archives/.\n", "disk is full"),
        (CHANGED, "six==1.17.0: the index serves another file"),
    ],
)
def test_what_another_candidate_cannot_mend_is_no_package_s_fault(log: str, said: str) -> None:
    error = explain_build(log, "it failed")
    assert isinstance(error, IndexUnavailableError)
    assert said in str(error)


@pytest.mark.parametrize("log", ["", "Error: no such file: launcher.py", "echo E: Unable to locate package x"])
def test_anything_else_is_what_the_builder_said(log: str) -> None:
    error: EnvironmentBuildError = explain_build(log, "podman ended with exit status 1")
    assert isinstance(error, ImageBuildError)
    assert str(error) == "podman ended with exit status 1"
