"""Jobs as a user might give them, each with a right script, a strong suite, and one that looks for outputs only.

By them it is measured whether mutants tell a strong suite from a weak one.
"""

from __future__ import annotations

from typing import NamedTuple


class MeasuredJob(NamedTuple):
    """A script, the types of its outputs, tests that pin what it computes, and tests that do not."""

    name: str
    outputs: dict[str, str]
    code: str
    strong: str
    thin: str


_MAIN = """

def main(argv=None):
    parser = argparse.ArgumentParser(description="One job")
    parser.add_argument("--data", required=True, help="a CSV file")
    args = parser.parse_args(argv)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
"""
_END = """

if __name__ == "__main__":
    main()
"""
_IMPORTS = """\
import argparse
import csv
import json
from collections import defaultdict
from pathlib import Path

OUTPUTS = Path("/var/outputs")
"""
_PANDAS = """\
import argparse
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")
"""
_SUITE = """\
import csv
import json
from pathlib import Path

import pytest
from solution import main

OUT = Path("/var/outputs")


def run(tmp_path, text):
    path = tmp_path / "data"
    path.write_text(text)
    main(["--data", str(path)])


def table(name):
    with (OUT / name).open(newline="") as file:
        return list(csv.DictReader(file))

"""


def _job(name: str, outputs: dict[str, str], code: str, main: str, tests: tuple[str, str]) -> MeasuredJob:
    imports = _PANDAS if "pd." in code + main else _IMPORTS
    strong, thin = tests
    return MeasuredJob(name, outputs, imports + code + _MAIN + main + _END, _SUITE + strong, _SUITE + thin)


JOBS = (
    _job(
        "revenue by region",
        {"by_region": "file", "total": "float"},
        '''

def read_orders(path):
    orders = pd.read_csv(path)
    missing = {"region", "quantity", "price", "status"} - set(orders.columns)
    if missing:
        raise ValueError(f"missing columns: {sorted(missing)}")
    return orders


def paid(orders):
    """Paid orders with a quantity."""
    return orders[orders["status"] == "paid"].dropna(subset=["quantity"])


def by_region(orders):
    orders = orders.assign(revenue=orders["quantity"] * orders["price"])
    regions = orders.groupby("region", as_index=False)["revenue"].sum()
    return regions.sort_values(["revenue", "region"], ascending=[False, True])
''',
        """    orders = paid(read_orders(args.data))
    regions = by_region(orders)
    regions.to_csv(OUTPUTS / "by_region", index=False)
    (OUTPUTS / "total").write_text(str(float(regions["revenue"].sum())))
""",
        (
            """
def test_regions_by_revenue_and_ties_by_name(tmp_path):
    run(
        tmp_path,
        "region,quantity,price,status\\nwest,1,5,paid\\nnorth,2,3,paid\\neast,5,1,paid\\nnorth,1,3,paid\\nwest,9,9,open\\n"
        "east,,4,paid\\nsouth,,4,paid\\n",
    )
    rows = [(row["region"], float(row["revenue"])) for row in table("by_region")]
    assert rows == [("north", 9.0), ("east", 5.0), ("west", 5.0)]
    assert float((OUT / "total").read_text()) == 19.0
""",
            """
def test_outputs_are_written(tmp_path):
    run(tmp_path, "region,quantity,price,status\\nwest,1,5,paid\\nnorth,2,3,paid\\n")
    assert table("by_region")
    assert float((OUT / "total").read_text()) is not None
""",
        ),
    ),
    _job(
        "stations",
        {"stations": "file", "worst": "str"},
        '''

def daily_means(readings):
    """The mean of a station's readings on a day; readings without a value do not count."""
    readings = readings.dropna(subset=["value"]).drop_duplicates(["station", "time"])
    readings["day"] = pd.to_datetime(readings["time"]).dt.date
    return readings.groupby(["station", "day"], as_index=False)["value"].mean()


def over_limit(means, limit=50.0):
    """Days over the limit of each station."""
    days = means[means["value"] > limit].groupby("station").size()
    stations = sorted(means["station"].unique())
    return pd.DataFrame({"station": stations, "days": [int(days.get(name, 0)) for name in stations]})
''',
        """    counted = over_limit(daily_means(pd.read_csv(args.data)))
    counted.to_csv(OUTPUTS / "stations", index=False)
    worst = counted.sort_values(["days", "station"], ascending=[False, True]).iloc[0]
    (OUTPUTS / "worst").write_text(worst["station"])
""",
        (
            """
TEXT = (
    "station,time,value\\n"
    "b,2024-01-01T00:00,40\\nb,2024-01-01T06:00,80\\nb,2024-01-01T06:00,80\\nb,2024-01-01T09:00,\\n"
    "b,2024-01-02T00:00,51\\n"
    "a,2024-01-01T00:00,50\\na,2024-01-02T00:00,0\\na,2024-01-02T01:00,0\\na,2024-01-02T02:00,90\\n"
    "c,2024-01-01T00:00,60\\nc,2024-01-02T00:00,70\\n"
)


def test_days_over_the_limit(tmp_path):
    run(tmp_path, TEXT)
    assert [(row["station"], row["days"]) for row in table("stations")] == [("a", "0"), ("b", "2"), ("c", "2")]
    assert (OUT / "worst").read_text() == "b"


def test_a_reading_twice_counts_once(tmp_path):
    run(tmp_path, "station,time,value\\na,2024-01-01T00:00,80\\na,2024-01-01T00:00,80\\na,2024-01-01T01:00,10\\n")
    assert [row["days"] for row in table("stations")] == ["0"]
""",
            """
def test_outputs_are_readable(tmp_path):
    run(tmp_path, "station,time,value\\na,2024-01-01T00:00,80\\nb,2024-01-01T00:00,10\\n")
    assert len(table("stations")) > 0
    assert (OUT / "worst").read_text()
""",
        ),
    ),
    _job(
        "best sellers",
        {"top": "file", "share": "float"},
        """

def units_by_product(rows):
    units = defaultdict(int)
    for row in rows:
        if row["returned"] == "yes":
            continue
        units[row["product"]] += int(row["units"])
    return units


def best(units, count):
    return sorted(units.items(), key=lambda item: (-item[1], item[0]))[:count]


def write_table(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\\n")
        writer.writerow(["rank", "product", "units"])
        for rank, (product, units) in enumerate(rows, start=1):
            writer.writerow([rank, product, units])
""",
        """    with open(args.data, newline="") as file:
        units = units_by_product(csv.DictReader(file))
    top = best(units, 3)
    write_table(OUTPUTS / "top", top)
    share = sum(count for _, count in top) / sum(units.values())
    (OUTPUTS / "share").write_text(str(round(share, 3)))
""",
        (
            """
TEXT = "product,units,returned\\nd,4,no\\nb,4,no\\na,1,no\\nc,2,no\\na,4,no\\ne,3,no\\nc,90,yes\\n"


def test_the_three_best_with_ties_by_name(tmp_path):
    run(tmp_path, TEXT)
    rows = [(row["rank"], row["product"], row["units"]) for row in table("top")]
    assert rows == [("1", "a", "5"), ("2", "b", "4"), ("3", "d", "4")]
    assert float((OUT / "share").read_text()) == 0.722


def test_fewer_than_three(tmp_path):
    run(tmp_path, "product,units,returned\\nx,2,no\\n")
    assert len(table("top")) == 1
    assert (OUT / "share").read_text() == "1.0"
""",
            """
def test_there_are_best_sellers(tmp_path):
    run(tmp_path, "product,units,returned\\nd,4,no\\nb,4,no\\na,1,no\\n")
    assert table("top")
    assert 0 <= float((OUT / "share").read_text()) <= 1
""",
        ),
    ),
    _job(
        "customers without orders",
        {"report": "file", "without": "int"},
        '''

def read_tables(path):
    rows = pd.read_csv(path)
    customers = rows[rows["kind"] == "customer"][["id", "name"]]
    orders = rows[rows["kind"] == "order"][["id", "amount"]]
    return customers, orders


def join(customers, orders):
    """The number and the largest amount of the orders of each customer."""
    sums = orders.groupby("id").agg(orders=("amount", "count"), largest=("amount", "max")).reset_index()
    joined = customers.merge(sums, on="id", how="left")
    joined["orders"] = joined["orders"].fillna(0).astype(int)
    joined["largest"] = joined["largest"].fillna(0.0)
    return joined.sort_values("id")
''',
        """    joined = join(*read_tables(args.data))
    joined.to_csv(OUTPUTS / "report", index=False)
    (OUTPUTS / "without").write_text(str(int((joined["orders"] == 0).sum())))
""",
        (
            """
def test_every_customer_with_its_orders(tmp_path):
    run(
        tmp_path,
        "kind,id,name,amount\\ncustomer,3,Cy,\\ncustomer,1,Al,\\ncustomer,2,Bo,\\norder,1,,5\\norder,1,,9\\norder,1,,9\\n"
        "order,3,,2\\norder,8,,7\\ncustomer,4,Di,\\n",
    )
    rows = [tuple(row.values()) for row in table("report")]
    assert rows == [("1", "Al", "3", "9.0"), ("2", "Bo", "0", "0.0"), ("3", "Cy", "1", "2.0"), ("4", "Di", "0", "0.0")]
    assert (OUT / "without").read_text() == "2"
""",
            """
def test_runs(tmp_path):
    run(tmp_path, "kind,id,name,amount\\ncustomer,1,Al,\\norder,1,,5\\n")
    assert (OUT / "report").exists()
    assert int((OUT / "without").read_text()) >= 0
""",
        ),
    ),
    _job(
        "grades",
        {"grades": "file"},
        '''

def mean_of_best(points, count=2):
    """The mean of the best results; missing ones do not count."""
    best = sorted((value for value in points if value is not None), reverse=True)[:count]
    return round(sum(best) / len(best), 1) if best else None


def grade(mean):
    if mean is None:
        return "none"
    if mean >= 90:
        return "A"
    if mean >= 75:
        return "B"
    return "C"


def read(path):
    students = defaultdict(list)
    with open(path, newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            try:
                points = float(row["points"]) if row["points"].strip() else None
            except ValueError:
                raise ValueError(f"line {number}: {row['points']!r} is no number") from None
            students[row["student"]].append(points)
    return students


def format_mean(mean):
    return "" if mean is None else f"{mean:.1f}"
''',
        """    rows = [
        {"student": name, "mean": format_mean(mean_of_best(points)), "grade": grade(mean_of_best(points))}
        for name, points in sorted(read(args.data).items())
    ]
    with (OUTPUTS / "grades").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=["student", "mean", "grade"])
        writer.writeheader()
        writer.writerows(rows)
""",
        (
            """
def test_the_best_two_of_each_student(tmp_path):
    run(
        tmp_path,
        "student,points\\nmo,90\\nmo,10\\nmo,90\\nal,74.9\\nal,75\\nzu,\\nbo,74.9\\nbo,75.1\\nbo, \\ncy,100\\n"
        "du,89.9\\ndu,90\\nei,33.3\\nei,33.5\\nei,20\\n",
    )
    rows = {row["student"]: (row["mean"], row["grade"]) for row in table("grades")}
    assert rows == {
        "al": ("75.0", "B"), "bo": ("75.0", "B"), "cy": ("100.0", "A"), "du": ("90.0", "A"), "ei": ("33.4", "C"),
        "mo": ("90.0", "A"), "zu": ("", "none"),
    }
    assert list(rows) == sorted(rows)


def test_just_below(tmp_path):
    run(tmp_path, "student,points\\na,89\\nb,74\\n")
    assert [row["grade"] for row in table("grades")] == ["B", "C"]
""",
            """
def test_students_are_listed(tmp_path):
    run(tmp_path, "student,points\\nmo,90\\nal,10\\n")
    assert [row["student"] for row in table("grades")] == ["al", "mo"]
""",
        ),
    ),
    _job(
        "sessions of users",
        {"sessions": "file", "longest": "int"},
        '''

GAP = 30


def split_sessions(minutes):
    """The first and last minute of each session; more than GAP minutes without an event end one."""
    sessions = []
    for minute in sorted(set(minutes)):
        if sessions and minute - sessions[-1][1] <= GAP:
            sessions[-1][1] = minute
        else:
            sessions.append([minute, minute])
    return sessions


def summarise(rows):
    users = defaultdict(list)
    for row in rows:
        if row["event"] != "ping":
            users[row["user"]].append(int(row["minute"]))
    return {user: split_sessions(minutes) for user, minutes in users.items()}
''',
        """    with open(args.data, newline="") as file:
        users = summarise(csv.DictReader(file))
    counts = {user: len(sessions) for user, sessions in users.items()}
    longest = max(last - first for sessions in users.values() for first, last in sessions)
    (OUTPUTS / "sessions").write_text(json.dumps(counts, indent=2, sort_keys=True))
    (OUTPUTS / "longest").write_text(str(longest))
""",
        (
            """
def test_a_gap_of_thirty_minutes_is_none(tmp_path):
    run(
        tmp_path,
        "user,minute,event\\na,30,click\\na,0,click\\na,61,click\\na,95,ping\\na,100,click\\nb,7,click\\nb,7,click\\n"
        "b,36,click\\nb,67,click\\nb,50,ping\\n",
    )
    assert json.loads((OUT / "sessions").read_text()) == {"a": 3, "b": 2}
    assert (OUT / "longest").read_text() == "30"
""",
            """
def test_counts(tmp_path):
    run(tmp_path, "user,minute,event\\na,30,click\\na,0,click\\n")
    assert isinstance(json.loads((OUT / "sessions").read_text()), dict)
    assert int((OUT / "longest").read_text()) >= 0
""",
        ),
    ),
    _job(
        "moving average",
        {"trend": "file", "peak": "datetime"},
        '''

def smooth(frame, window):
    frame = frame.sort_values("date").drop_duplicates("date", keep="last")
    frame["average"] = frame["price"].rolling(window, min_periods=window).mean().round(2)
    frame["change"] = frame["price"] - frame["price"].shift(1)
    return frame[frame["average"].notna()]


def rising(frame):
    """Days on which the price rose by at least one."""
    return frame[(frame["change"] >= 1) & (frame["price"] > frame["average"])]
''',
        """    frame = smooth(pd.read_csv(args.data), 3)
    rising(frame)[["date", "price", "average"]].to_csv(OUTPUTS / "trend", index=False)
    peak = frame.loc[frame["average"].idxmax(), "date"]
    (OUTPUTS / "peak").write_text(f"{peak}T00:00:00Z")
""",
        (
            """
TEXT = (
    "date,price\\n2024-01-04,6\\n2024-01-01,1\\n2024-01-02,3\\n2024-01-03,99\\n2024-01-03,4.5\\n2024-01-05,6.5\\n"
    "2024-01-06,1\\n2024-01-07,2\\n2024-01-08,2.9\\n2024-01-09,3.9\\n"
)


def test_rising_days(tmp_path):
    run(tmp_path, TEXT)
    rows = [(row["date"][-2:], float(row["price"]), float(row["average"])) for row in table("trend")]
    assert rows == [("03", 4.5, 2.83), ("04", 6.0, 4.5), ("09", 3.9, 2.93)]
    assert (OUT / "peak").read_text() == "2024-01-05T00:00:00Z"
""",
            """
def test_there_is_a_peak(tmp_path):
    run(tmp_path, "date,price\\n2024-01-01,1\\n2024-01-02,3\\n2024-01-03,99\\n2024-01-04,6\\n")
    assert (OUT / "peak").read_text().endswith("Z")
    assert (OUT / "trend").stat().st_size > 0
""",
        ),
    ),
    _job(
        "stock",
        {"low": "file", "value": "float"},
        '''

REORDER = {"tools": 5, "paint": 10}
DEFAULT_REORDER = 3


def stock_levels(moves):
    """What is there of each article after all moves; an article that was returned only is left out."""
    levels, prices = {}, {}
    for move in moves:
        amount = int(move["amount"])
        if move["type"] == "out":
            amount = -amount
        key = (move["category"], move["article"])
        levels[key] = levels.get(key, 0) + amount
        prices[key] = float(move["price"] or 0)
    return levels, prices


def low_articles(levels):
    found = []
    for (category, article), level in levels.items():
        if level < REORDER.get(category, DEFAULT_REORDER):
            found.append((level, article))
    return sorted(found)
''',
        """    with open(args.data, newline="") as file:
        levels, prices = stock_levels(csv.DictReader(file))
    with open(OUTPUTS / "low", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["article", "level"])
        writer.writerows([article, level] for level, article in low_articles(levels))
    value = sum(level * prices[key] for key, level in levels.items() if level > 0)
    (OUTPUTS / "value").write_text(f"{value:.2f}")
""",
        (
            """
HEAD = "type,category,article,amount,price\\n"


def test_low_articles_and_the_value(tmp_path):
    run(
        tmp_path,
        HEAD + "in,tools,saw,9,10\\nout,tools,saw,5,10\\nin,tools,axe,5,2.5\\nin,paint,red,9,1\\nin,paint,blue,10,\\n"
        "in,misc,tape,2,1\\nout,misc,rope,1,4\\nin,misc,nail,3,1\\nin,misc,glue,2,0.25\\n",
    )
    assert [(row["article"], row["level"]) for row in table("low")] == [
        ("rope", "-1"), ("glue", "2"), ("tape", "2"), ("saw", "4"), ("red", "9"),
    ]
    assert (OUT / "value").read_text() == "67.00"
""",
            """
def test_value_is_a_number(tmp_path):
    run(tmp_path, "type,category,article,amount,price\\nin,tools,saw,9,10\\nout,tools,saw,5,10\\n")
    assert float((OUT / "value").read_text()) > 0
    assert table("low") is not None
""",
        ),
    ),
)
