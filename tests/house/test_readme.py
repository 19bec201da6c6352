"""The README does what it says: its Python blocks and the commands of its `console` blocks run.

In a temporary folder that sees `workflows/`, Python blocks in order in one process, then the commands in order. Blocks
of other languages are not run: they need a key, a cluster, or the fresh clone that `.ci/run` starts from.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    readme = (ROOT / "README.md").read_text()
    return [block["text"] for block in BLOCK.finditer(readme) if block["language"] == language]


def commands(block: str) -> list[str]:
    r"""The commands after `$ `; one that ends in a backslash goes on in the next line."""
    joined = block.replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]


def run(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    finished = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert finished.returncode == 0, f"{command[-1]}\n{finished.stdout[-3000:]}\n{finished.stderr[-3000:]}"
    return finished.stdout


def test_the_examples_run_in_order_and_print_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "workflows").symlink_to(ROOT / "workflows")
    program = "\n".join(blocks("python"))
    said = re.findall(r"print\(.*\)  # (.+)$", program, re.MULTILINE)
    assert said, "no example prints anything that could be checked"
    printed = run([sys.executable, "-c", program], tmp_path).splitlines()
    assert [line for line in said if line not in printed] == []
    for command in (command for block in blocks("console") for command in commands(block)):
        run(["/bin/bash", "-euo", "pipefail", "-c", command], tmp_path)


def test_no_link_in_the_readme_is_dead() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / "README.md").read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_target_that_the_documents_name_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md"):
        named = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / document).read_text(), re.MULTILINE))
        assert named <= targets, f"{document} names {sorted(named - targets)}"
