"""This project's side: `python -m benchmarks.ours --url ...`."""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
from typing import Any

from benchmarks.job import OUTPUTS, SALES, prompt
from benchmarks.side import generate_all, peak_memory_mib, read_arguments, report, sample_names

# Imported when first used; the peer imports its own at its top, so that its `generate()` never pays for them.
LIBRARIES = (
    *("flytekit", "openai", "httpcore2", "anyio._backends._asyncio", "pandas", "pandera.pandas", "pyarrow"),
    "genai_prices",
    *(
        "flyteplugins_codegen.result",
        "flyteplugins_codegen.stages.drive",
        "flyteplugins_codegen.solution.folder",
    ),
    *("flyteplugins_codegen.data.pandera", "flyteplugins_codegen.stages.candidates.explain"),
)


async def generate(arguments: argparse.Namespace, number: int) -> dict[str, Any]:
    """One generation, as a fresh agent would do it."""
    import pandas as pd

    from flyteplugins_codegen import AutoCoderAgent

    agent = AutoCoderAgent(
        model="openai/gpt-4.1", name="ours", api_base=arguments.url, max_iterations=arguments.iterations
    )
    samples = {name: pd.DataFrame(SALES) for name in sample_names(arguments)}
    result = await agent.generate.aio(
        prompt(number), samples=samples, outputs=OUTPUTS, constraints=arguments.constraint
    )
    return {"success": result.success, "attempts": result.attempts, "error": (result.error or "")[:200]}


def main(arguments: argparse.Namespace) -> None:
    """Do the requests that the command line numbers."""
    for library in LIBRARIES if arguments.preload else ():
        importlib.import_module(library)
    gc.collect()  # or what the imports left falls due in the first generation, by chance
    asyncio.run(generate_all(lambda number: generate(arguments, number), arguments.first, arguments.count))
    report("ended", peak_memory_mib=peak_memory_mib())


if __name__ == "__main__":
    main(read_arguments())
