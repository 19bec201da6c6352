import csv
from pathlib import Path

import pytest

from solution import main

HEADER = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,"
    "origin,dest,air_time,distance,hour,minute,time_hour\n"
)


@pytest.fixture
def arguments(tmp_path):
    rows = [(5, "UA"), (-5, "AA"), (25, "DL"), (10, "DL")]
    lines = [f"2013,1,1,517,515,2,830,819,{d},{c},1,N1,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z\n" for d, c in rows]
    (tmp_path / "flights").write_text(HEADER + "".join(lines))
    (tmp_path / "airlines").write_text("carrier,name\nUA,United\nAA,American\nDL,Delta\n")
    return ["--flights", str(tmp_path / "flights"), "--airlines", str(tmp_path / "airlines"), "--min_flights", "1"]


def read():
    with open("/var/outputs/delays", newline="") as file:
        return list(csv.DictReader(file))


def test_all_carriers_are_listed_by_name(arguments):
    main(arguments)
    assert [row["name"] for row in read()] == ["American", "Delta", "United"]


def test_flights_are_counted(arguments):
    main(arguments)
    assert sum(int(row["flights"]) for row in read()) == 4
    assert all(row["cancelled"] == "0" for row in read())


def test_shares(arguments):
    main(arguments)
    assert all(0 <= float(row["late_share"]) <= 1 for row in read())
    assert float(Path("/var/outputs/hours_lost").read_text()) > 0
