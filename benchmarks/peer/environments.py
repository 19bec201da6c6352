"""The peer's virtual environments, made once: the plugin's own, and two that its solutions run in."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.job import MISSING_PACKAGE

PEER = "flyteplugins-codegen==2.12.1"


@dataclass(frozen=True)
class PeerEnvironments:
    """`python` runs the plugin; the others hold the interpreters of its images, without and with the missing package.

    Both are there from the start: installing it costs the peer nothing here.
    """

    python: Path
    sandbox_bin: Path
    full_sandbox_bin: Path


def make_environments(folder: Path, uv: str) -> PeerEnvironments:
    """Make what is not there yet. Raises CalledProcessError when an installation fails."""
    plugin, sandbox, full_sandbox, stamp = (folder / name for name in ("venv", "sandbox", "full-sandbox", ".complete"))
    if not stamp.exists() or stamp.read_text() != PEER:
        shutil.rmtree(folder, ignore_errors=True)
        _make_venv(uv, plugin, PEER, "pyarrow", "docker")
        _make_venv(uv, sandbox, "pytest")
        _make_venv(uv, full_sandbox, "pytest", MISSING_PACKAGE)
        stamp.write_text(PEER)
    return PeerEnvironments(plugin / "bin" / "python", sandbox / "bin", full_sandbox / "bin")


def _make_venv(uv: str, folder: Path, *packages: str) -> None:
    subprocess.run([uv, "venv", "--quiet", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    # The peer ships its modules as bytecode too once it has run; neither side pays for compiling.
    subprocess.run([uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, *packages], check=True)
