"""The Python examples of docs/from-autogen.md run, in order in one process, with a model server of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

import flyteplugins_codegen

PAGE = (Path(__file__).parents[2] / "docs" / "from-autogen.md").read_text()
ADDRESS = "http://127.0.0.1:8000/v1"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHORTER = "def total(prices):\n    return sum(prices)\n"
EDIT = {"file": "shop.py", "search": "    t = 0\n    for p in prices:\n        t = t + p\n    return t\n"}
SCRIPT: dict[str, list[Any]] = {
    "CodeReply": [{"text": "Here:\n```python\nprint('hello')\n```"}],
    "ImprovedFunctionReply": [{"code": SHORTER}],
    "ImprovementReply": [{"suggestions": ["Use sum."], "edits": [{**EDIT, "replace": "    return sum(prices)\n"}]}],
    "AssertionsReply": [{"assertions": ["assert double(2) == 4", "assert double(0) == 0", "assert double(2) == 4"]}]
    * 2,
    "FunctionReply": [{"code": "def double(x):\n    return x + 2"}, {"code": "def double(x):\n    return 2 * x"}],
}
OF_AUTOGEN = (
    *("infer_lang", "extract_code", "content_str", "generate_code", "improve_function", "improve_code"),
    *("timeout_handler", "get_powershell_command", "_cmd", "is_docker_running", "in_docker_container"),
    *("decide_use_docker", "check_can_use_docker_or_throw", "execute_code", "generate_assertions"),
    *("eval_function_completions", "PassAssertionFilter", "implement", "create_virtual_env"),
    *(
        "LocalCommandLineCodeExecutor",
        "DockerCommandLineCodeExecutor",
        "CommandLineCodeResult",
        "MarkdownCodeExtractor",
    ),
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("FLYTE_CODEGEN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "reader").mkdir()
    monkeypatch.chdir(tmp_path / "reader")
    with ModelServer(SCRIPT) as running:
        yield running


def test_the_examples_do_what_they_say(server: ModelServer) -> None:
    names: dict[str, Any] = {}
    for number, block in enumerate(BLOCKS, 1):
        code = compile(block.replace(ADDRESS, server.url), f"example {number} of from-autogen.md", "exec")
        exec(code, names)  # noqa: S102 - the page's own examples
    assert ADDRESS in PAGE
    assert {call.name for call in server.calls} == set(SCRIPT)


@pytest.mark.parametrize("name", OF_AUTOGEN)
def test_every_name_of_autogen_is_told_of(name: str) -> None:
    assert f"`{name}`" in PAGE or f"`coding.{name}`" in PAGE


def test_every_function_of_the_toolkit_has_its_part_and_every_link_leads_to_one() -> None:
    parts = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    links = re.findall(r"\]\(#([\w-]+)\)", PAGE)
    assert {re.sub(r"[^\w-]", "", part.lower().replace(" ", "-")) for part in parts} >= set(links)
    assert set(parts) & set(OF_AUTOGEN) == set(OF_AUTOGEN) & set(flyteplugins_codegen.__all__) - {
        "CommandLineCodeResult"
    }
