"""The demo: a prompt and four years of daily weather become tested code, through real Flyte local execution.

    make demo

The model's replies are recorded (written by hand, the first one with a real mistake), so that neither a key nor the
network is needed once the packages are installed. Everything else is real.
"""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SEATTLE = "workflows/data/seattle-weather.csv"
NEW_YORK = "workflows/data/new-york-weather.csv"
RECORDING = "workflows/weather.replay.jsonl"
FOLDER = "demo/rainy-days"
PROMPT = (
    "Count the days with at least 1 mm of precipitation as rainy_days. Write monthly: one row for each month with "
    "month (YYYY-MM), mean_temp (mean of the daily midpoints of temp_min and temp_max) and precipitation (sum), "
    "rounded to one decimal."
)
OUTPUTS = {"rainy_days": "int", "monthly": "file"}


def main() -> None:
    """Generate, then run the solution on the sample and on a second file."""
    os.chdir(ROOT)
    _print("The job", PROMPT)
    result = _generate()
    if not result.success:
        sys.exit(f"The demo failed: {result.error}\n{result.output}")
    _print("Where it failed and how it was repaired", _history(result))
    for heading, file in (("Seattle, the sample", SEATTLE), ("New York, a second file", NEW_YORK)):
        rainy_days, monthly = result.run(weather=file)
        _print(heading, f"rainy_days = {rainy_days}\n{_head(monthly)}")
    again = f"{_pyflyte()} run {FOLDER}/task.py rainy_days --weather {NEW_YORK}"
    _print("Run the solution again, without any model", again)
    _print("Run all of this again", _command_line())


def _generate() -> Any:
    # Imported here, so that the heading is printed before flytekit is loaded.
    from flyteplugins_codegen.flyte.workflow import generate
    from flyteplugins_codegen.telemetry import show_progress

    with show_progress(sys.stdout):
        # "override": a second run of the demo is to show the work, not the cached result.
        generated = generate(
            prompt=PROMPT,
            model=f"replay:{RECORDING}",
            samples={"weather": SEATTLE},
            outputs=OUTPUTS,
            name="rainy-days",
            save_to=FOLDER,
            cache="override",
        )
    return generated.result


def _history(result: Any) -> str:
    spent = (
        f"{len(result.calls)} model calls, {result.total_input_tokens:,} tokens in, {result.total_output_tokens:,} out"
    )
    lines = [
        f"{attempt.number}. {attempt.action.replace('_', ' ')}: {attempt.cause.message if attempt.cause else 'passed'}"
        for attempt in result.attempt_history
    ]
    return "\n".join([*lines, spent])


def _head(monthly: Any) -> str:
    with Path(os.fspath(monthly)).open(newline="") as file:
        rows = list(csv.reader(file))
    lines = [f"{month:<10}{temperature:>10}{precipitation:>15}" for month, temperature, precipitation in rows[:4]]
    return "\n".join([*lines, f"... {len(rows) - 1} months"])


def _pyflyte() -> str:
    """The command as it can be typed here: that of this interpreter, where no environment is activated."""
    path = Path(sys.executable).with_name("pyflyte")
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else "pyflyte"


def _command_line() -> str:
    return (
        f'{_pyflyte()} run workflows/generate.py generate --prompt "{PROMPT}" \\\n'
        f"""  --samples '{{"weather": "{SEATTLE}"}}' --outputs '{{"rainy_days": "int", "monthly": "file"}}' \\\n"""
        f"  --model replay:{RECORDING}"
    )


def _print(heading: str, text: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(f"\n{heading}", style="bold"))
    console.print(Text(text), soft_wrap=True)


if __name__ == "__main__":
    main()
