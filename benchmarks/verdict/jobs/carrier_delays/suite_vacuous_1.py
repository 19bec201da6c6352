from pathlib import Path

from solution import main

OUTPUTS = Path("/var/outputs")
HEADER = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,"
    "origin,dest,air_time,distance,hour,minute,time_hour"
)


def run_it(folder):
    flights = folder / "flights"
    flights.write_text(
        f"{HEADER}\n2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z\n"
    )
    airlines = folder / "airlines"
    airlines.write_text("carrier,name\nUA,United Air Lines Inc.\n")
    main(["--flights", str(flights), "--airlines", str(airlines), "--min_flights", "1"])


def test_files_exist(tmp_path):
    run_it(tmp_path)
    for name in ("delays", "hours_lost", "punctual"):
        assert (OUTPUTS / name).is_file()


def test_table_has_lines(tmp_path):
    run_it(tmp_path)
    lines = (OUTPUTS / "delays").read_text().splitlines()
    assert len(lines) >= 2
    assert all(line.count(",") >= 4 for line in lines)


def test_hours_are_not_negative(tmp_path):
    run_it(tmp_path)
    assert float((OUTPUTS / "hours_lost").read_text()) >= 0
