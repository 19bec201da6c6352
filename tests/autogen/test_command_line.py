"""Running several blocks in turn in one folder, as AutoGen's executors do."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from flyteplugins_codegen import CodeBlock, CommandLineExecutor, extract_blocks
from flyteplugins_codegen.autogen.virtual_env import create_virtual_env
from flyteplugins_codegen.errors import ArgumentTypeError, IndexUnavailableError, RequestError

REPLY = """First a helper:

```python
# filename: shop/prices.py
PRICES = {"tea": 3}
```

then its use

```py
from shop.prices import PRICES
import pathlib
pathlib.Path("bill.txt").write_text(str(PRICES["tea"] * 2))
print("billed")
```

```sh
cat bill.txt; mkdir -p out/figures; exit 3
```

```sh
echo never > never
```
"""


@pytest.fixture
def executor(tmp_path: Path) -> CommandLineExecutor:
    return CommandLineExecutor(tmp_path / "work", timeout=30)


def test_blocks_of_a_reply_run_in_turn_in_one_folder_up_to_the_first_that_fails(executor) -> None:
    result = executor.execute_code_blocks(extract_blocks(REPLY))
    assert (result.exit_code, result.output) == (3, "billed\n6")
    assert [Path(name).suffix for name in result.code_files] == [".py", ".py", ".sh"]
    assert result.code_file == str(executor.work_dir / "shop/prices.py")
    assert all(Path(name).is_file() for name in result.code_files)
    assert [execution.exit_code for execution in result.executions] == [0, 0, 3]
    assert (executor.work_dir / "out/figures").is_dir()
    assert not (executor.work_dir / "never").exists()


def test_pairs_and_blocks_of_autogen_are_taken_too(executor) -> None:
    of_autogen = SimpleNamespace(language="python", code="print(2)")
    blocks = [("sh", "echo 1"), of_autogen, ("", "#!/bin/bash\necho 3"), CodeBlock(code="echo 4", language="sh")]
    result = executor.execute_code_blocks(blocks)
    assert (result.exit_code, result.output) == (0, "1\n2\n3\n4\n")


def test_blocks_of_a_message_are_found_as_autogens_agents_ask_for_them(executor) -> None:
    extractor = executor.code_extractor
    assert extractor.extract_code_blocks(REPLY) == list(extract_blocks(REPLY))
    (block,) = extractor.extract_code_blocks([{"type": "text", "text": "```sh\nls\n```"}])
    assert (block.language, block.code, extractor.extract_code_blocks(None)) == ("sh", "ls", [])


def test_no_blocks_are_no_failure(executor) -> None:
    result = executor.execute_code_blocks([])
    assert (result.exit_code, result.output, result.code_file, result.code_files) == (0, "", None, ())


def test_a_tool_that_one_block_makes_is_run_by_the_next(executor) -> None:
    blocks = [("sh", "printf '#!/bin/sh\\necho tool\\n' > tool; chmod +x tool"), ("bash", "./tool")]
    assert executor.execute_code_blocks(blocks).output == "tool\n"


def test_what_nothing_runs_is_saved_under_its_name(executor) -> None:
    result = executor.execute_code_blocks([("html", "<!-- filename: index.html -->\n<p>")])
    assert (result.exit_code, result.output) == (0, f"Code saved to {executor.work_dir / 'index.html'}")


def test_a_time_out_ends_the_turn_with_124(tmp_path: Path) -> None:
    executor = CommandLineExecutor(tmp_path, 2)
    result = executor.execute_code_blocks([("sh", "echo 1; sleep 60"), ("sh", "echo never")])
    assert (result.exit_code, result.output) == (124, "1\nTimeout: it had not ended after 2 s")


@pytest.mark.parametrize(
    ("language", "code", "exit_code", "told"),
    [
        ("rust", "fn main() {}", 1, "these are run: bash, javascript, powershell"),
        ("powershell", "1", 127, "install PowerShell 7"),
        ("python", "# filename: ../x.py\n", 1, "filename '../x.py' is refused"),
        ("python", "x = '\ud800'", 1, "code, line 1: '\\ud800' is half of a surrogate pair"),
        ("sh", "pip install --index-url=http://192.0.2.1/ x", 1, "leave the option out"),
        ("sh", "pip install git+https://192.0.2.1/x", 1, "is refused: it is an URL, a path"),
        ("sh", "pip install -r ../requirements.txt", 1, "filename '../requirements.txt' is refused"),
        ("sh", "pip install -r none.txt", 1, "has no file 'none.txt' with requirements"),
    ],
)
def test_a_block_that_cannot_be_run_fails_and_says_why(
    executor, monkeypatch, language: str, code: str, exit_code: int, told: str
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    result = executor.execute_code_blocks([("sh", "echo 1"), (language, code), ("sh", "echo never")])
    assert result.exit_code == exit_code
    assert result.output.startswith("1\n")
    assert told in result.output
    assert len(result.executions) == len(result.code_files) == 1


def test_the_name_that_a_reply_gives_a_file_of_another_language_is_not_the_codes(executor) -> None:
    (executor.work_dir).mkdir()
    (executor.work_dir / "data.csv").write_text("a,b")
    (block,) = extract_blocks("**data.csv**\n```python\nprint(open('data.csv').read())\n```")
    assert block.file_name == "data.csv"
    result = executor.execute_code_blocks([block])
    assert (result.output, (executor.work_dir / "data.csv").read_text()) == ("a,b\n", "a,b")


@pytest.mark.parametrize("blocks", [["x"], [5], [None], [("sh",)], [("sh", 5)], [("sh", "ls", "x")]])
def test_what_is_no_block_is_told_before_any_is_run(executor, blocks) -> None:
    with pytest.raises(ArgumentTypeError, match="is no block of code; pass a CodeBlock or"):
        executor.execute_code_blocks([("sh", "touch ran"), *blocks])
    assert not executor.work_dir.exists()


@pytest.mark.parametrize("blocks", [None, 5, "print(1)", b"print(1)", {"python": "print(1)"}])
def test_what_is_no_list_of_blocks_is_told(executor, blocks) -> None:
    with pytest.raises(ArgumentTypeError, match=r"the blocks are .*; pass a list of CodeBlock or"):
        executor.execute_code_blocks(blocks)


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"timeout": "5"}, ArgumentTypeError, "timeout is str"),
        ({"timeout": 0}, RequestError, "timeout=0"),
        ({"work_dir": 5}, ArgumentTypeError, "work_dir is int"),
        ({"work_dir": __file__}, RequestError, "is a file"),
        (
            {"environment": "pandas"},
            ArgumentTypeError,
            "environment is 'pandas'; pass an InstalledEnv",
        ),
        ({"use_docker": 5}, ArgumentTypeError, "use_docker is 5"),
        ({"sandbox": "docker"}, RequestError, "choose one of auto"),
    ],
)
def test_arguments_are_checked_when_the_executor_is_made(arguments, error, told: str) -> None:
    with pytest.raises(error, match=told):
        CommandLineExecutor(**arguments)


def test_a_folder_of_its_own_goes_with_the_executor() -> None:
    executor = CommandLineExecutor()
    executor.execute_code_blocks([("sh", "touch x")])
    folder = executor.work_dir
    assert (folder / "x").exists()
    del executor
    # The thread that ran the blocks may keep a reference for a moment.
    deadline = time.monotonic() + 20
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
        gc.collect()
    assert not folder.exists()


async def test_two_turns_run_at_once_in_one_folder(executor) -> None:
    blocks = [("python", f"import time; time.sleep(0.2); open('{name}', 'w').write('x')") for name in "ab"]
    results = await asyncio.gather(*(executor.execute_code_blocks.aio([block]) for block in blocks))
    assert [result.exit_code for result in results] == [0, 0]
    assert {"a", "b"} <= {path.name for path in executor.work_dir.iterdir()}


# --- packages ---------------------------------------------------------------------------------------------------------


def test_what_a_block_installs_is_there_for_it_and_for_the_later_ones(executor) -> None:
    first = [("sh", "pip install -q six==1.17.0 && python -c 'import six; print(six.__version__)'")]
    assert executor.execute_code_blocks(first).output == "Installed six==1.17.0\n1.17.0\n"
    notebook = "%pip install toolz\nimport six, toolz\nprint(six.__name__, toolz.__name__)"
    assert executor.execute_code_blocks([("python", notebook)]).output == "Installed toolz\nsix toolz\n"
    later = executor.execute_code_blocks([("python", "import six, toolz")])
    assert (later.exit_code, later.output) == (0, "")


def test_after_a_restart_packages_are_gone_and_files_are_not(executor) -> None:
    executor.execute_code_blocks([("sh", "pip install six; touch x")])
    executor.restart()
    result = executor.execute_code_blocks([("sh", "ls x; python -c 'import six'")])
    assert result.exit_code == 1
    assert result.output.startswith("x\n")


def test_a_list_of_requirements_is_read_from_the_folder(executor) -> None:
    blocks = [("sh", "echo 'six==1.17.0  # pinned' > requirements.txt"), ("sh", "pip install -r requirements.txt")]
    assert executor.execute_code_blocks(blocks).output == "Installed six==1.17.0\n"
    assert executor.execute_code_blocks([("python", "import six")]).exit_code == 0


def test_a_package_that_cannot_be_had_fails_its_block_and_is_not_asked_for_again(executor) -> None:
    result = executor.execute_code_blocks([("sh", "pip install six==0.0.1")])
    assert result.exit_code == 1
    assert "package six==0.0.1: no release on the index matches" in result.output
    assert executor.execute_code_blocks([("python", "print(1)")]).output == "1\n"


def test_an_environment_may_be_requirements_or_one_that_is_installed(tmp_path: Path) -> None:
    environment = create_virtual_env(tmp_path / "venv", packages=["six"]).installed()
    blocks = [("python", "%pip install toolz\nimport six, toolz")]
    for given in (["six"], environment):
        result = CommandLineExecutor(tmp_path / "work", environment=given).execute_code_blocks(blocks)
        assert (result.exit_code, result.output) == (0, "Installed toolz\n")


def test_an_index_that_is_not_there_is_the_machines_fault(executor, monkeypatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(IndexUnavailableError):
        executor.execute_code_blocks([("sh", "pip install six")])
