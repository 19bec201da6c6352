"""Rewrite the recordings of `make eval-implement`: the real client against the loopback server's scripted replies."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from model_server import ModelServer

from benchmarks.implement.recorded import CHEAP, RECORDINGS, STRONG, TASK_IDS
from flyteplugins_codegen import generate_assertions, implement
from flyteplugins_codegen.evaluation.problems.load import load_problems

REPLIES = Path(__file__).parent / "implement" / "replies.txt"


def main() -> None:
    """Put every problem to both models, and ask the cheap one for assertions."""
    replies = read_replies()
    prompts = [problem.prompt for problem in load_problems("humaneval", only=TASK_IDS)]
    cheap: dict[str, list[Any]] = {
        "AssertionsReply": [{"assertions": replies[task_id, "assertions"].splitlines()} for task_id in TASK_IDS],
        "FunctionReply": [{"code": replies[task_id, "cheap"]} for task_id in TASK_IDS],
    }
    strong: dict[str, list[Any]] = {"FunctionReply": [{"code": replies[task_id, "strong"]} for task_id in TASK_IDS]}
    for model, script in ((CHEAP, cheap), (STRONG, strong)):
        asyncio.run(record(model, script, prompts))
        print(f"{RECORDINGS[model].name}: {sum(map(len, script.values()))} exchanges")


async def record(model: str, script: dict[str, list[Any]], prompts: Sequence[str]) -> None:
    """Ask what the script replies to, problem by problem, and keep it once all of it is there."""
    with ModelServer(script) as server, tempfile.TemporaryDirectory() as folder:
        aside = Path(folder) / "recording.jsonl"
        config = {"model": model, "base_url": server.url, "record": str(aside), "cache": "disable"}
        for prompt in prompts:
            if "AssertionsReply" in script:
                await generate_assertions.aio(prompt, **config)
            await implement.aio(prompt, [config])
        RECORDINGS[model].write_bytes(aside.read_bytes())


def read_replies() -> dict[tuple[str, str], str]:
    """The replies by problem and kind; a section begins with `%%%% HumanEval/0 cheap`."""
    sections = REPLIES.read_text().removeprefix("%%%% ").split("\n%%%% ")
    split = (section.partition("\n") for section in sections)
    return {(heading.split()[0], heading.split()[1]): body for heading, _, body in split}


if __name__ == "__main__":
    main()
