"""Ten small jobs, each with a right solution, tests for it, and four ways to get it wrong.

A bug is a piece of the right solution and what stands in its place. What a competent model answers to it is the cause
and the way back; `first` is a guess that does not help, made before. A bug that needs no model has no cause.
"""

from __future__ import annotations

from typing import NamedTuple


class Bug(NamedTuple):
    """One seeded fault: its kind, the right code, the wrong code, what a model says of it, and a wrong guess before."""

    kind: str
    right: str
    wrong: str
    cause: str
    first: str = ""


class Task(NamedTuple):
    """One job on a single sample called `data`; `body` makes up `compute(text)`, giving the outputs by name."""

    name: str
    prompt: str
    outputs: dict[str, str]
    sample: bytes
    body: str
    tests: str
    bugs: tuple[Bug, ...]

    @property
    def solution(self) -> str:
        """The whole right script."""
        return _SCRIPT.format(body=self.body.strip("\n"))

    @property
    def suite(self) -> str:
        """The whole test module."""
        return f"{_SUITE}{self.tests}"


_SCRIPT = """\
import argparse
import csv
import io
from pathlib import Path


{body}


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    path = parser.parse_args(argv).data
    text = Path(path).read_text(encoding="utf-8")
    for name, value in compute(text).items():
        Path("/var/outputs", name).write_text(str(value), encoding="utf-8")


if __name__ == "__main__":
    main()
"""
_SUITE = """\
from pathlib import Path

from solution import main


def ask(tmp_path, text, *names):
    path = tmp_path / "data"
    path.write_text(text, encoding="utf-8")
    main(["--data", str(path)])
    return [Path("/var/outputs", name).read_text(encoding="utf-8").strip() for name in names]
"""
_READ = 'read_text(encoding="utf-8")'
_LOOP = Bug(
    "time-out",
    "    for name, value in compute(text).items():",
    "    results = compute(text)\n    while results:\n        pass\n    for name, value in results.items():",
    "`while results` never ends, for nothing empties results.",
)
_ENCODING = Bug("encoding", _READ, 'read_text(encoding="ascii")', "The file is UTF-8, and is read as ASCII.")
_PACKAGE = Bug("missing package", "import io\n", "import io\nimport humanize\n", "")
_LAZY_PACKAGE = Bug(
    "missing package",
    "    path = parser.parse_args(argv).data\n",
    '    path = parser.parse_args(argv).data\n    __import__("date" + "util")\n',
    "",
)
_NAMELESS = Bug(
    "wrong output",
    'Path("/var/outputs", name)',
    'Path("/var/outputs", name + ".txt")',
    "Outputs are written to names with an extension.",
)

TASKS = (
    Task(
        "revenue",
        "Total revenue: the sum of quantity times price; n: the number of rows.",
        {"total": "float", "n": "int"},
        b"quantity,price\n2,3.5\n1,1.0\n4,2.25\n",
        """
def compute(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    total = sum(int(row["quantity"]) * float(row["price"]) for row in rows)
    return {"total": total, "n": len(rows)}
""",
        """

def test_total(tmp_path):
    assert ask(tmp_path, "quantity,price\\n2,3.5\\n3,1.5\\n", "total", "n") == ["11.5", "2"]


def test_one(tmp_path):
    assert ask(tmp_path, "quantity,price\\n3,2.0\\n", "total", "n") == ["6.0", "1"]
""",
        (
            Bug("operator", '"quantity"]) * float', '"quantity"]) + float', "Quantity and price are added."),
            Bug("type", 'int(row["quantity"])', 'row["quantity"]', "The quantity is text, and is not made a number."),
            Bug("wrong column", 'row["price"]', 'row["unit_price"]', "The column is called price."),
            _PACKAGE,
        ),
    ),
    Task(
        "rain",
        "rainy: the number of days with at least 1 mm of rain (mm); total: the sum of mm, with two decimals.",
        {"rainy": "int", "total": "float"},
        b"day,mm\n2024-01-01,0.0\n2024-01-02,1.0\n2024-01-03,4.25\n",
        """
def compute(text):
    days = [float(row["mm"]) for row in csv.DictReader(io.StringIO(text))]
    return {"rainy": sum(mm >= 1.0 for mm in days), "total": round(sum(days), 2)}
""",
        """

def test_a_day_with_exactly_one_millimetre_counts(tmp_path):
    assert ask(tmp_path, "day,mm\\na,1.0\\nb,0.9\\nc,7.0\\n", "rainy", "total") == ["2", "8.9"]


def test_no_rain(tmp_path):
    assert ask(tmp_path, "day,mm\\na,0\\n", "rainy") == ["0"]
""",
        (
            Bug("boundary", "mm >= 1.0", "mm > 1.0", "At least 1 mm includes 1 mm."),
            Bug("operator", "round(sum(days), 2)", "round(max(days), 2)", "The largest is taken instead of the sum."),
            Bug("wrong column", 'row["mm"]', 'row["rain"]', "The column is called mm."),
            _LOOP,
        ),
    ),
    Task(
        "latest",
        "latest: the time of the last order (column ordered, ISO 8601 in UTC without a zone); orders: how many.",
        {"latest": "datetime", "orders": "int"},
        b"id,ordered\n1,2024-03-01T10:00:00\n2,2024-03-05T09:30:00\n",
        """
def compute(text):
    times = sorted(row["ordered"] for row in csv.DictReader(io.StringIO(text)))
    return {"latest": times[-1] + "Z", "orders": len(times)}
""",
        """

def test_the_last_wherever_it_stands(tmp_path):
    text = "id,ordered\\n1,2024-03-05T09:30:00\\n2,2024-03-01T10:00:00\\n"
    assert ask(tmp_path, text, "latest", "orders") == ["2024-03-05T09:30:00Z", "2"]
""",
        (
            Bug("boundary", "times[-1]", "times[0]", "The first time is taken, not the last."),
            Bug("type", ' + "Z"', "", "A datetime output needs a zone."),
            Bug("boundary", "len(times)}", "len(times) - 1}", "One order is left out of the count."),
            _NAMELESS,
        ),
    ),
    Task(
        "names",
        "longest: the longest name of the file, one name a line; n: the number of names, empty lines left out.",
        {"longest": "str", "n": "int"},
        "Zoë\nJürgen Groß\nAnna\n".encode(),
        """
def compute(text):
    names = [line.strip() for line in text.splitlines() if line.strip()]
    return {"longest": max(names, key=len), "n": len(names)}
""",
        """

def test_longest(tmp_path):
    assert ask(tmp_path, "Zoë\\n\\nMüller-Lüdenscheidt\\n", "longest", "n") == ["Müller-Lüdenscheidt", "2"]
""",
        (
            _ENCODING,
            Bug("boundary", " if line.strip()]", "]", "Empty lines are counted as names."),
            Bug("operator", "max(names", "min(names", "The shortest name is taken."),
            Bug("type", ", key=len", "", "Names are compared as text, not by their length."),
        ),
    ),
    Task(
        "top",
        "top: the product with the largest sum of quantity; share: its part of the whole quantity, 0 to 1.",
        {"top": "str", "share": "float"},
        b"product,quantity\ntea,2\ncoffee,5\ntea,1\n",
        """
def compute(text):
    sums = {}
    for row in csv.DictReader(io.StringIO(text)):
        sums[row["product"]] = sums.get(row["product"], 0) + int(row["quantity"])
    top = max(sums, key=sums.get)
    return {"top": top, "share": sums[top] / sum(sums.values())}
""",
        """

def test_sums_decide_and_not_single_rows(tmp_path):
    text = "product,quantity\\na,3\\nb,4\\na,5\\n"
    assert ask(tmp_path, text, "top") == ["a"]
    assert float(ask(tmp_path, text, "share")[0]) == 8 / 12
""",
        (
            Bug("operator", ", 0) + int", ", 0) - int", "Quantities are subtracted.", ", 0) * int"),
            Bug("operator", " / sum(", " // sum(", "Whole division makes every share 0."),
            Bug("wrong column", 'int(row["quantity"])', 'int(row["count"])', "The column is called quantity."),
            _LAZY_PACKAGE,
        ),
    ),
    Task(
        "late",
        "late: the share of deliveries with delivered after promised (ISO dates), 0 to 1; worst: most days late.",
        {"late": "float", "worst": "int"},
        b"promised,delivered\n2024-01-02,2024-01-02\n2024-01-05,2024-01-09\n",
        """
def compute(text):
    from datetime import date

    days = [
        (date.fromisoformat(row["delivered"]) - date.fromisoformat(row["promised"])).days
        for row in csv.DictReader(io.StringIO(text))
    ]
    return {"late": sum(day > 0 for day in days) / len(days), "worst": max(0, *days)}
""",
        """

def test_on_the_day_is_not_late(tmp_path):
    text = "promised,delivered\\n2024-01-02,2024-01-02\\n2024-01-05,2024-01-09\\n"
    assert ask(tmp_path, text, "late", "worst") == ["0.5", "4"]


def test_early_is_not_late(tmp_path):
    text = "promised,delivered\\n2024-01-05,2024-01-02\\n2024-01-05,2024-01-03\\n"
    assert ask(tmp_path, text, "late", "worst") == ["0.0", "0"]
""",
        (
            Bug("boundary", "day > 0", "day >= 0", "A delivery on the day is not late."),
            Bug("type", ").days", ")", "Differences stay timedeltas, and are compared with numbers."),
            Bug("boundary", "max(0, *days)", "max(days)", "Where all are early, the worst is 0."),
            Bug("wrong column", 'row["delivered"]', 'row["arrived"]', "The column is called delivered."),
        ),
    ),
    Task(
        "ages",
        "median: the median of age, rows without an age left out; known: how many have one.",
        {"median": "float", "known": "int"},
        b"name,age\na,30\nb,\nc,40\n",
        """
def compute(text):
    import statistics

    ages = [int(row["age"]) for row in csv.DictReader(io.StringIO(text)) if row["age"]]
    return {"median": float(statistics.median(ages)), "known": len(ages)}
""",
        """

def test_missing_ages_are_left_out(tmp_path):
    assert ask(tmp_path, "name,age\\na,30\\nb,\\nc,41\\nd,2\\n", "median", "known") == ["30.0", "3"]


def test_two(tmp_path):
    assert ask(tmp_path, "name,age\\na,30\\nb,41\\n", "median") == ["35.5"]
""",
        (
            Bug("type", ' if row["age"]]', "]", "An empty age is no number, and is to be left out."),
            Bug("operator", "statistics.median(", "statistics.median_low(", "The lower median is taken."),
            Bug("wrong output", '"known": len(ages)', '"count": len(ages)', "The output is called known."),
            _LOOP,
        ),
    ),
    Task(
        "emails",
        "unique: the number of different addresses (column email), upper and lower case alike; domains: of domains.",
        {"unique": "int", "domains": "int"},
        b"email\na@x.org\nA@x.org\nb@y.org\n",
        """
def compute(text):
    addresses = {row["email"].strip().lower() for row in csv.DictReader(io.StringIO(text))}
    return {"unique": len(addresses), "domains": len({address.partition("@")[2] for address in addresses})}
""",
        """

def test_case_and_blanks_make_no_difference(tmp_path):
    assert ask(tmp_path, "email\\na@x.org\\n A@X.org \\nb@x.org\\n", "unique", "domains") == ["2", "1"]
""",
        (
            Bug("type", ".strip().lower()", ".strip()", "Upper and lower case are told apart."),
            Bug("boundary", '"@")[2]', '"@")[0]', "The part before the @ is no domain."),
            Bug("wrong column", 'row["email"]', 'row["mail"]', "The column is called email."),
            _PACKAGE,
        ),
    ),
    Task(
        "window",
        "peak: the largest mean of three values in a row (column value); position: at which row it starts, from 1.",
        {"peak": "float", "position": "int"},
        b"value\n1\n2\n6\n4\n",
        """
def compute(text):
    values = [float(row["value"]) for row in csv.DictReader(io.StringIO(text))]
    means = [sum(values[start : start + 3]) / 3 for start in range(len(values) - 2)]
    peak = max(means)
    return {"peak": peak, "position": means.index(peak) + 1}
""",
        """

def test_the_last_window_counts(tmp_path):
    assert ask(tmp_path, "value\\n1\\n2\\n3\\n7\\n", "peak", "position") == ["4.0", "2"]


def test_the_first_window_counts(tmp_path):
    assert ask(tmp_path, "value\\n9\\n9\\n3\\n0\\n", "peak", "position") == ["7.0", "1"]
""",
        (
            Bug("boundary", "len(values) - 2)", "len(values) - 3)", "The last window is left out.", "len(values) - 4)"),
            Bug("operator", "]) / 3 for", "]) / 2 for", "Three values are divided by two."),
            Bug("boundary", "means.index(peak) + 1", "means.index(peak)", "Positions count from 1."),
            Bug("type", 'float(row["value"])', 'row["value"]', "Values stay text."),
        ),
    ),
    Task(
        "sessions",
        "total: the length of all sessions together, from start and end in seconds; sessions: how many.",
        {"total": "timedelta", "sessions": "int"},
        "user,start,end\nZoë,0,90\nb,100,160\n".encode(),
        """
def compute(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    seconds = sum(int(row["end"]) - int(row["start"]) for row in rows)
    return {"total": f"{seconds}s", "sessions": len(rows)}
""",
        """

def test_total(tmp_path):
    text = "user,start,end\\nJürgen,0,90\\nb,100,160\\n"
    assert ask(tmp_path, text, "total", "sessions") == ["150s", "2"]
""",
        (
            Bug("type", 'f"{seconds}s"', "seconds", "A timedelta output is written in seconds with an s."),
            Bug("operator", '"end"]) - int', '"end"]) + int', "Start and end are added."),
            _ENCODING,
            _NAMELESS,
        ),
    ),
)
