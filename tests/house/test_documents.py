"""The documents do what they say: their blocks run, their site is built with every link checked, and asks for nothing.

A page's Python blocks run in order in one process, then the commands of its `console` and `sh` blocks, in a temporary
folder that sees `workflows/`, with a control plane on loopback. A comment behind a `print`, or alone at the beginning
of a line, is what is printed. A block that cannot run here has its reason in sight, in the line above it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
from flyte_admin import FlyteAdmin

from flyteplugins_codegen.models.settings import Settings

ROOT = Path(__file__).parents[2]
# These set up a server, or files, of their own.
RUN_ELSEWHERE = {
    "evaluation.md": "tests/evaluation/test_documentation.py",
    "from-autogen.md": "tests/autogen/test_from_autogen.py",
    "from-eval-framework.md": "tests/evaluation/eval_framework/test_documentation.py",
}
PAGES = sorted(str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"(?P<above>[^\n]*)\n\n?```(?P<language>\S*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
REASON = re.compile(r"\*Not run here: [^*]{10,}\*")
DATA = {"toml", "yaml", "json", "jsonl"}


class Block(NamedTuple):
    """One fenced block, and the line above it."""

    language: str
    text: str
    above: str


def blocks(page: str) -> list[Block]:
    found = BLOCK.finditer((ROOT / "docs" / page).read_text())
    return [Block(each["language"], each["text"], each["above"]) for each in found]


def commands(block: Block) -> list[str]:
    joined = block.text.replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ") for line in joined if line.startswith("$ ") or block.language == "sh"]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of somebody who follows a page: a home of their own, a cluster in flytekit's configuration."""
    (tmp_path / "workflows").symlink_to(ROOT / "workflows")
    with FlyteAdmin() as admin:
        (tmp_path / ".flyte").mkdir()
        config = f"admin:\n  endpoint: dns:///{admin.endpoint}\n  insecure: true\n  authType: Pkce\n"
        (tmp_path / ".flyte" / "config.yaml").write_text(config)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        yield {**os.environ, "HOME": str(tmp_path), "PATH": path, "PYTHONPATH": str(ROOT)}


def run(command: list[str], environment: dict[str, str]) -> list[str]:
    finished = subprocess.run(
        command,
        cwd=environment["HOME"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert finished.returncode == 0, f"{command[-1]}\n{finished.stdout[-3000:]}\n{finished.stderr[-3000:]}"
    return finished.stdout.splitlines()


@pytest.mark.parametrize("page", [page for page in PAGES if page not in RUN_ELSEWHERE and blocks(page)])
def test_the_blocks_of_a_page_run_and_print_what_they_say(page: str, reader: dict[str, str]) -> None:
    shown = [block for block in blocks(page) if not REASON.fullmatch(block.above)]
    assert {block.language for block in shown} <= {"python", "console", "sh", *DATA}, "a block says no language"
    program = "\n".join(block.text for block in shown if block.language == "python")
    if program:
        said = [one or other for one, other in re.findall(r"print\(.*\)  # (.+)$|^# (.+)$", program, re.MULTILINE)]
        example = Path(reader["HOME"], "example.py")  # flytekit reads the source of what it decorates
        example.write_text(program)
        assert run([sys.executable, str(example)], reader) == said
    for block in shown:
        for command in commands(block) if block.language in {"console", "sh"} else []:
            run(["/bin/bash", "-euo", "pipefail", "-c", command], reader)


@pytest.mark.parametrize("page", RUN_ELSEWHERE)
def test_a_page_that_is_run_elsewhere_is_named_there(page: str) -> None:
    assert page in (ROOT / RUN_ELSEWHERE[page]).read_text()


class Addresses(HTMLParser):
    """All that a page of the site would fetch by itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "img", "iframe", "source"} or (tag == "link" and given.get("rel") != "canonical"):
            self.fetched.append(given.get("src") or given.get("href") or "")


def test_the_site_is_built_with_strict_links_and_fetches_nothing_from_elsewhere(tmp_path: Path) -> None:
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert built.returncode == 0, built.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(PAGES)
    fetched = {address for page in pages for address in Addresses(page.read_text()).fetched}
    assert [address for address in fetched if "://" in address or address.startswith("//")] == []
    assert (tmp_path / "site" / "pictures" / "report-light.png").stat().st_size > 20_000
    reference = {path.stem: path.read_text() for path in (tmp_path / "site" / "reference").glob("*.html")}
    assert "flyteplugins_codegen.agent.AutoCoderAgent.generate" in reference["agent"]
    assert [name for name in Settings.model_fields if f"<code>{name}</code>" not in reference["settings"]] == []
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
