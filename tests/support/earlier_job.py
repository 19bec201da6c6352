"""A job whose model calls were recorded before recordings had a mark of their prompts' version.

`tests/llm/earlier.replay.jsonl` holds what was asked then. It cannot be recorded again: its prompts are no longer made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent_turns import turn, write

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult

RECORDING = Path(__file__).parents[1] / "llm" / "earlier.replay.jsonl"
OUTPUTS = {"total": "float", "best": "str"}
_CODE = """\
import argparse
import csv
from collections import defaultdict
from pathlib import Path


def totals(path):
    by_region = defaultdict(float)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            by_region[row["region"]] += AMOUNT
    return by_region


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales", required=True)
    found = totals(parser.parse_args(argv).sales)
    Path("/var/outputs/total").write_text(str(sum(found.values())))
    Path("/var/outputs/best").write_text(min(found, key=lambda region: (-found[region], region)))


if __name__ == "__main__":
    main()
"""
RIGHT = _CODE.replace("AMOUNT", 'float(row["amount"] or 0)')
CRASHING = _CODE.replace("AMOUNT", 'float(row["amount"])')
WRONG = _CODE.replace("AMOUNT", "1.0")
TESTS = """\
from pathlib import Path

from solution import main


def test_total_and_best(tmp_path):
    table = tmp_path / "sales"
    table.write_text("region,amount\\nnorth,1.5\\nsouth,3\\nnorth,2\\n")
    main(["--sales", str(table)])
    assert float(Path("/var/outputs/total").read_text()) == 6.5
    assert Path("/var/outputs/best").read_text() == "north"
"""
THIN = """\
from solution import main


def test_main_is_there():
    assert main is not None
"""
_NOTHING_MORE: dict[str, Any] = {"code": None, "test_code": None, "packages": [], "system_packages": []}


class Story(NamedTuple):
    """One run: what is asked for, and what a model replies, in order."""

    prompt: str
    replies: Mapping[str, Sequence[Any]]
    actions: tuple[str, ...]
    settings: Mapping[str, Any] = {}


def _solution(code: str) -> dict[str, Any]:
    return {
        "description": "Sums the amounts.",
        "approach": "Row by row.",
        "code": code,
        "packages": [],
        "system_packages": [],
    }


def _repair(old: str, new: str) -> dict[str, Any]:
    edit = {"search": old, "replace": new}
    return {"cause": "the amount is read wrongly", "error_type": "logic", "edits": [edit], **_NOTHING_MORE}


STORIES = {
    "repaired": Story(
        "The sum of the amounts of all sales (total), and the region with the largest sum (best).",
        {
            "SolutionReply": [_solution(CRASHING)],
            "TestsReply": [{"test_code": THIN}],
            "RepairReply": [_repair('float(row["amount"])', 'float(row["amount"] or 0)')],
            "StrongerTestsReply": [{"test_code": TESTS}],
        },
        ("first_draft", "repair", "strengthen_tests"),
    ),
    "drafted anew": Story(
        "Add up the amounts of all sales: total. The region with the largest sum of amounts: best.",
        {
            "SolutionReply": [_solution(WRONG), _solution(RIGHT)],
            "TestsReply": [{"test_code": TESTS}],
            "RepairReply": [_repair("+= 1.0", "+= 2.0"), _repair("+= 2.0", "+= 3.0")],
        },
        ("first_draft", "repair", "repair", "fresh_draft"),
        {"max_iterations": 4, "min_test_strength": 0.0},
    ),
    "by an agent": Story(
        "What are the sales in all (total), and which region sells most by amount (best)?",
        {
            "tools": [
                turn(write("test_solution.py", TESTS), write("solution.py", CRASHING), ("run_on_sample", {})),
                turn(write("solution.py", RIGHT), ("run_tests", {})),
                turn(("submit", {"description": "Sums the amounts.", "approach": "Row by row."})),
            ]
        },
        ("agent",),
        {"backend": "agent"},
    ),
}


def write_sales(path: Path) -> Path:
    """Thirty sales with amounts, some of them missing, and with columns that no story speaks of."""
    unused = [f"note_{letter}" for letter in "abcdefghijkl"]
    lines = [",".join(["number", "region", "amount", *unused])]
    for number in range(30):
        amount = "" if number % 7 == 6 else f"{1.25 * number}"
        texts = [f"{name[-1]}{number * 37 % 11}" for name in unused]
        lines.append(",".join([str(number), ("north", "south", "east")[number % 3], amount, *texts]))
    path.write_text("\n".join([*lines, ""]))
    return path


def tell(story: Story, sales: Path, **model: Any) -> CodeGenEvalResult:
    """Run the story's job with this model."""
    agent = AutoCoderAgent(cache="disable", **story.settings, **model)
    return agent.generate(story.prompt, samples={"sales": sales}, outputs=OUTPUTS)
