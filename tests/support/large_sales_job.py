"""A small job with a border, for tests that compare a solution with a reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PROMPT = "Add up the amounts of all sales of at least 10, and count them."
OUTPUTS = {"total": "float", "count": "int"}

_CODE = """\
import argparse
import csv
from pathlib import Path


def large_sales(path):
    with open(path, newline="") as file:
        amounts = [float(row["amount"]) for row in csv.DictReader(file)]
    return [amount for amount in amounts if {condition}]


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales", required=True)
    amounts = large_sales(parser.parse_args(argv).sales)
    Path("/var/outputs/total").write_text(str(sum(amounts)))
    Path("/var/outputs/count").write_text(str(len(amounts)))


if __name__ == "__main__":
    main()
"""
_REFERENCE = """\
import csv
import sys


def main(argv=None):
    arguments = sys.argv[1:] if argv is None else argv
    path = arguments[arguments.index("--sales") + 1]
    total, count = 0.0, 0
    for row in csv.DictReader(open(path, newline="")):
        amount = float(row["amount"])
        if {condition}:
            total += amount
            count += 1
    open("/var/outputs/total", "w").write(repr(total))
    open("/var/outputs/count", "w").write(str(count))


if __name__ == "__main__":
    main()
"""
_THIN_TESTS = """\
from pathlib import Path

from solution import main


def test_large_sales_are_added_up(tmp_path):
    sales = tmp_path / "sales"
    sales.write_text("id,amount\\n1,50\\n2,3\\n3,20\\n")
    main(["--sales", str(sales)])
    assert float(Path("/var/outputs/total").read_text()) == 70
    assert Path("/var/outputs/count").read_text() == "2"
"""
RIGHT, WRONG = "amount >= 10", "amount > 10"
SAMPLE = "id,amount\n" + "".join(f"{number},{amount}\n" for number, amount in enumerate([50, 3, 10, 20, 10, 7, 90], 1))


def write_sample(path: Path) -> Path:
    """Seven sales, two of them of exactly 10."""
    path.write_text(SAMPLE)
    return path


def code(condition: str = RIGHT) -> str:
    """The script, with the condition for large sales."""
    return _CODE.format(condition=condition)


def reference(condition: str = RIGHT) -> str:
    """A second script that was written another way."""
    return _REFERENCE.format(condition=condition)


def solution(script: str) -> dict[str, Any]:
    """A model's reply with a script."""
    return {"description": "Adds up large sales.", "approach": "Filters rows.", "code": script}


def tests(second: str | None) -> dict[str, Any]:
    """A model's reply with tests that no border tells apart, and with a reference."""
    return {"test_code": _THIN_TESTS, "reference": second}


def repair(error_type: str, **changes: Any) -> dict[str, Any]:
    """A model's reply that changes one of the files."""
    return {"cause": "At least 10 includes 10.", "error_type": error_type, **changes}
