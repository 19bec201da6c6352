"""A worked example: code is generated from one city's weather, then runs as a task on another city's.

    pyflyte run workflows/example_pipeline.py compare_weather
    pyflyte run workflows/example_pipeline.py compare_weather --weather my-city.csv

The model's replies are recorded. With a key in the environment, name a real model in AGENT instead.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from flytekit import dynamic, task, workflow
from flytekit.types.file import FlyteFile

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.flyte.workflow import generate_with
from flyteplugins_codegen.telemetry import install_progress

HERE = Path(__file__).parent
SEATTLE = FlyteFile(str(HERE / "data" / "seattle-weather.csv"))
NEW_YORK = FlyteFile(str(HERE / "data" / "new-york-weather.csv"))
AGENT = AutoCoderAgent(name="weather-report", model=f"replay:{HERE / 'weather.replay.jsonl'}")
PROMPT = (
    "Count the days with at least 1 mm of precipitation as rainy_days. Write monthly: one row for each month with "
    "month (YYYY-MM), mean_temp (mean of the daily midpoints of temp_min and temp_max) and precipitation (sum), "
    "rounded to one decimal."
)

install_progress()


@task
def describe(rainy_days: int, monthly: FlyteFile) -> str:
    """A task of the user's own that takes the outputs of the generated one."""
    wettest = max(_rows(monthly), key=lambda row: float(row["precipitation"]))
    return f"{rainy_days} rainy days; the wettest month is {wettest['month']} with {wettest['precipitation']} mm"


def _rows(table: FlyteFile) -> Iterator[dict[str, str]]:
    with Path(table).open(newline="") as file:
        yield from csv.DictReader(file)


@dynamic
def run_solution(result: CodeGenEvalResult, weather: FlyteFile) -> str:
    """The solution as a task: only now is there an image to run it in."""
    report = result.as_task("weather_report")
    rainy_days, monthly = report(weather=weather)
    return describe(rainy_days=rainy_days, monthly=monthly)


@workflow
def compare_weather(sample: FlyteFile = SEATTLE, weather: FlyteFile = NEW_YORK) -> str:
    """Generate a weather report from a sample, and apply it to other data.

    Args:
        sample: daily weather that the code is written and tested for
        weather: daily weather of the same form that it then runs on
    """
    generated = generate_with(
        agent=AGENT, prompt=PROMPT, samples={"weather": sample}, outputs={"rainy_days": "int", "monthly": "file"}
    )
    return run_solution(result=generated.result, weather=weather)
