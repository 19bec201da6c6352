import csv
from pathlib import Path

import pytest

from solution import main

COLUMNS = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,"
    "origin,dest,air_time,distance,hour,minute,time_hour"
)
AIRLINES = "carrier,name\nUA,United Air Lines Inc.\nAA,American Airlines Inc.\nDL,Delta Air Lines Inc.\n"
CANCELLED = object()
DIVERTED = object()


def flight(carrier, delay):
    departed = "NA" if delay is CANCELLED else "517"
    shown = "NA" if delay in (CANCELLED, DIVERTED) else delay
    return f"2013,1,1,{departed},515,,,819,{shown},{carrier},1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z"


def run(tmp_path, flights, min_flights=1):
    (tmp_path / "flights").write_text("\n".join([COLUMNS, *(flight(*one) for one in flights), ""]))
    (tmp_path / "airlines").write_text(AIRLINES)
    main(
        [
            "--flights", str(tmp_path / "flights"),
            "--airlines", str(tmp_path / "airlines"),
            "--min_flights", str(min_flights),
        ]
    )
    with open("/var/outputs/delays", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    return rows, float(Path("/var/outputs/hours_lost").read_text()), Path("/var/outputs/punctual").read_text().strip()


def test_ordinary_flights(tmp_path):
    rows, hours, punctual = run(tmp_path, [("UA", 30), ("UA", -10), ("UA", 10), ("AA", 60), ("AA", 90)])
    assert list(rows) == ["American Airlines Inc.", "United Air Lines Inc."]
    united = rows["United Air Lines Inc."]
    assert (united["flights"], united["cancelled"]) == ("3", "0")
    assert float(united["mean_delay"]) == pytest.approx(10)
    assert float(united["late_share"]) == pytest.approx(1 / 3)
    assert float(rows["American Airlines Inc."]["late_share"]) == 1
    assert hours == pytest.approx(190 / 60)
    assert punctual == "United Air Lines Inc."


def test_cancelled_and_diverted_flights(tmp_path):
    rows, _, _ = run(tmp_path, [("UA", CANCELLED), ("UA", DIVERTED), ("UA", 20), ("UA", 0)], min_flights=4)
    united = rows["United Air Lines Inc."]
    assert (int(united["flights"]), int(united["cancelled"])) == (4, 1)
    assert float(united["mean_delay"]) == pytest.approx(10)
    assert float(united["late_share"]) == pytest.approx(0.5)


@pytest.mark.parametrize(("delay", "share"), [(14, 0), (15, 1), (16, 1)])
def test_fifteen_minutes_are_late(tmp_path, delay, share):
    rows, _, _ = run(tmp_path, [("UA", delay)])
    assert float(rows["United Air Lines Inc."]["late_share"]) == share


def test_unknown_carrier_keeps_its_code(tmp_path):
    rows, _, punctual = run(tmp_path, [("ZZ", 0), ("UA", 20)])
    assert list(rows) == ["United Air Lines Inc.", "ZZ"]
    assert punctual == "ZZ"


def test_small_carriers_are_left_out_of_the_table_only(tmp_path):
    rows, hours, punctual = run(tmp_path, [("UA", 45), ("UA", 0), ("AA", 0), ("AA", 15), ("DL", -5)], min_flights=2)
    assert list(rows) == ["American Airlines Inc.", "United Air Lines Inc."]
    assert hours == pytest.approx(1.0)
    assert punctual == "American Airlines Inc."


def test_nothing_arrived(tmp_path):
    rows, hours, punctual = run(tmp_path, [("UA", CANCELLED)])
    assert rows["United Air Lines Inc."]["mean_delay"] == ""
    assert rows["United Air Lines Inc."]["late_share"] == ""
    assert (hours, punctual) == (0, "")
