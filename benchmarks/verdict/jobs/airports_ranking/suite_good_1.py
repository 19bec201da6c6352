import csv
from pathlib import Path

import pytest

from solution import main

OUT = Path("/var/outputs")


def run(tmp_path, airports, top=10, lat=0.0, lon=0.0, radius_km=100.0):
    path = tmp_path / "airports"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["iata", "name", "city", "state", "country", "latitude", "longitude"])
        for iata, state, latitude, longitude in airports:
            writer.writerow([iata, f"{iata} Municipal", "Town", state, "USA", latitude, longitude])
    options = {"airports": path, "top": top, "lat": lat, "lon": lon, "radius_km": radius_km}
    main([word for name, value in options.items() for word in (f"--{name}", str(value))])
    with (OUT / "ranking").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["rank", "state", "airports"]
    return [(int(rank), state, int(count)) for rank, state, count in rows[1:]]


def of(*states):
    return [(f"A{i}", state, 10.0, 10.0) for i, state in enumerate(states)]


def test_shared_ranks_skip_the_next(tmp_path):
    states = of("TX", "TX", "TX", "OK", "OK", "AK", "AK", "ME")
    assert run(tmp_path, states) == [(1, "TX", 3), (2, "AK", 2), (2, "OK", 2), (4, "ME", 1)]


@pytest.mark.parametrize(("top", "states"), [(1, ["TX"]), (2, ["TX", "AK", "OK"]), (3, ["TX", "AK", "OK"])])
def test_ranks_up_to_top(tmp_path, top, states):
    airports = of("TX", "TX", "TX", "OK", "OK", "AK", "AK", "ME")
    assert [state for _, state, _ in run(tmp_path, airports, top=top)] == states


def test_airports_without_a_state_are_not_ranked(tmp_path):
    assert run(tmp_path, of("NA", "NA", "", "TX")) == [(1, "TX", 1)]


def test_northernmost_of_all(tmp_path):
    run(tmp_path, [("AAA", "TX", -5.5, 0), ("BBB", "NA", 9.5, 0), ("CCC", "OK", 9.4, 50)])
    assert (OUT / "northernmost").read_text().strip() == "BBB"


@pytest.mark.parametrize(("radius", "count"), [(111.0, 1), (111.3, 3), (223.0, 4)])
def test_nearby(tmp_path, radius, count):
    # One degree on a great circle is 111.19 km.
    airports = [("AAA", "TX", 0, 0), ("BBB", "TX", 1, 0), ("CCC", "TX", 0, -1), ("DDD", "TX", 0, 2), ("EEE", "TX", 45, 0)]
    run(tmp_path, airports, radius_km=radius)
    assert int((OUT / "nearby").read_text()) == count


def test_degrees_of_longitude_are_shorter_in_the_north(tmp_path):
    run(tmp_path, [("AAA", "TX", 60, 1.9)], lat=60, lon=0, radius_km=111.0)
    assert int((OUT / "nearby").read_text()) == 1
