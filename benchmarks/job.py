"""The job that both sides do, and the code that their model answers with."""

from __future__ import annotations

_PLACES = ("first", "second", "third", "fourth", "fifth")
CONSTRAINTS = tuple(f"the figures under the {place} heading hold together" for place in _PLACES)
"""Sentences that name no column, so that only a model could say what they come to."""

PROMPT = "Read the sales CSV, compute total revenue = sum(quantity * price) and n = the number of rows."
OUTPUTS = {"total": float, "n": int}
SALES = {"quantity": [2, 1, 4], "price": [3.5, 1.0, 2.25], "city": ["Oslo", "Rome", "Oslo"]}
EXPECTED = [17.0, 3]

# A real distribution that neither side has installed to begin with, and that no reply lists.
MISSING_PACKAGE = "humanize"
MAX_ITERATIONS = 6

RIGHT = """\
import argparse
import csv


def compute(path):
    total, n = 0.0, 0
    with open(path) as file:
        for row in csv.DictReader(file):
            total += int(row["quantity"]) * float(row["price"])
            n += 1
    return total, n


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales", required=True)
    total, n = compute(parser.parse_known_args(argv)[0].sales)
    for name, value in {"total": total, "n": n}.items():
        with open(f"/var/outputs/{name}", "w") as file:
            file.write(str(value))


if __name__ == "__main__":
    main()
"""
WRONG_LINE = 'int(row["quantity"]) + float(row["price"])'
RIGHT_LINE = 'int(row["quantity"]) * float(row["price"])'
WRONG = RIGHT.replace(RIGHT_LINE, WRONG_LINE)
IMPORTS_LATE = RIGHT.replace("    total, n = 0.0, 0", f"    import {MISSING_PACKAGE}\n\n    total, n = 0.0, 0")
IMPORTS_FIRST = f"import {MISSING_PACKAGE}\n{RIGHT}"
ENDS_EARLY = "import os\n\nos._exit(0)\n"
# Long enough for a kill to find the run between the last reply and its end.
SLOW = RIGHT.replace("    parser = argparse", "    import time\n\n    time.sleep(1.5)\n    parser = argparse")

TESTS = """\
from solution import compute, main


def test_the_total_is_quantity_times_price(tmp_path):
    sales = tmp_path / "sales.csv"
    sales.write_text("quantity,price\\n2,3.5\\n1,1.0\\n")
    assert compute(str(sales)) == (8.0, 2)


def test_the_outputs_are_written(tmp_path):
    sales = tmp_path / "sales.csv"
    sales.write_text("quantity,price\\n2,3.5\\n")
    main(["--sales", str(sales)])
    with open("/var/outputs/total") as file:
        assert float(file.read()) == 7.0
"""

TESTS_WITHOUT_ASSERTIONS = """\
from solution import compute, main


def test_the_total_is_quantity_times_price(tmp_path):
    sales = tmp_path / "sales.csv"
    sales.write_text("quantity,price\\n2,3.5\\n")
    compute(str(sales))


def test_the_outputs_are_written(tmp_path):
    sales = tmp_path / "sales.csv"
    sales.write_text("quantity,price\\n2,3.5\\n")
    main(["--sales", str(sales)])
"""


def wrong(number: int) -> str:
    """A solution that is wrong in a way of its own."""
    return RIGHT.replace(RIGHT_LINE, f"{RIGHT_LINE} + {number}")


def prompt(number: int) -> str:
    """The prompt of a numbered request, so that no run finds the replies of the one before."""
    return f"{PROMPT} This is request {number}."


def draft(code: str, number: int) -> str:
    """The code of a numbered request, so that no run finds the test results of the one before."""
    return f"{code}# draft {number}\n"
