import csv
from pathlib import Path

import pytest

from solution import main

FLIGHTS = """\
year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour
2013,1,1,517,515,2,830,819,20,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z
2013,1,1,533,529,4,850,830,40,UA,1714,N24211,LGA,IAH,227,1416,5,29,2013-01-01T10:00:00Z
"""


def test_mean_delay_of_one_airline(tmp_path):
    flights, airlines = tmp_path / "flights", tmp_path / "airlines"
    flights.write_text(FLIGHTS)
    airlines.write_text("carrier,name\nUA,United Air Lines Inc.\n")
    main(["--flights", str(flights), "--airlines", str(airlines), "--min_flights", "1"])
    with open("/var/outputs/delays", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["name"] == "United Air Lines Inc."
    assert float(rows[0]["mean_delay"]) == pytest.approx(30)
    assert float(Path("/var/outputs/hours_lost").read_text()) == pytest.approx(1)
    assert Path("/var/outputs/punctual").read_text() == "United Air Lines Inc."
