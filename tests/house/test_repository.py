"""What no tracked file holds, and what every silencer says."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GIT = shutil.which("git") or "git"
# Put together here, so that this file does not hold them.
FORBIDDEN = {
    "a registry's host": [
        "pypi" + ".org",
        "python" + "hosted",
        "registry." + "npmjs",
        "docker" + ".io",
        "ghcr" + ".io",
    ],
    "a path of one machine": ["/" + "root/", "/" + "home/", "/" + "work/", "/" + "tmp/w/"],
    "a credential": ["sk-" + "ant-", "sk-" + "proj-", "BEGIN " + "PRIVATE KEY", "AKI" + "A"],
}
SILENCERS = re.compile(r"#\s*(?:noqa(?::\s*[A-Z0-9, ]+)?|type:\s*ignore(?:\[[\w,\s-]+\])?|pragma:[^#]*)(?P<rest>.*)$")
REASON = re.compile(r"\W*[a-zA-Z`]")


@cache
def tracked_texts() -> dict[str, str]:
    """Every text file that git tracks, by its path. Data files count: they are committed too."""
    listed = subprocess.run([GIT, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [path for path in listed.split("\0") if path and (ROOT / path).is_file()]
    contents = {path: (ROOT / path).read_bytes() for path in paths}
    return {path: data.decode() for path, data in contents.items() if b"\0" not in data}


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_no_tracked_file_holds(kind: str) -> None:
    found = [f"{path}: {word}" for path, text in tracked_texts().items() for word in FORBIDDEN[kind] if word in text]
    assert not found


def test_every_silencer_says_why() -> None:
    silent = []
    for path, text in tracked_texts().items():
        if not path.endswith(".py"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            silencer = SILENCERS.search(line)
            if silencer and not REASON.match(silencer["rest"]):
                silent.append(f"{path}:{number}: {line.strip()}")
    assert not silent


def test_the_silencer_rule_tells_a_reason_from_none() -> None:
    for line in ("x = 1  # no" + "qa: E501", "x = 1  # type: " + "ignore[attr-defined]", "x = 1  # no" + "qa"):
        silencer = SILENCERS.search(line)
        assert silencer
        assert not REASON.match(silencer["rest"])
        reasoned = SILENCERS.search(f"{line} - the base class names it so")
        assert reasoned
        assert REASON.match(reasoned["rest"])


def test_every_ignored_rule_of_the_linter_has_its_reason_beside_it() -> None:
    listed = re.findall(r'^ +"[A-Z]+[0-9]*",.*$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert len(listed) > 10
    assert not [line for line in listed if "#" not in line]


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
