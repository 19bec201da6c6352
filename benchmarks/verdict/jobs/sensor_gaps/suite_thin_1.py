from pathlib import Path

from solution import main


def test_one_sensor_one_hour(tmp_path):
    path = tmp_path / "readings"
    path.write_text("sensor,time,celsius\na,2024-05-01T10:00:00,20\na,2024-05-01T10:30:00,20\n")
    main(["--readings", str(path), "--min_readings", "1"])
    out = Path("/var/outputs")
    assert (out / "hourly").read_text().split() == [
        "sensor,hour,readings,fahrenheit",
        "a,2024-05-01T10:00:00,2,68.0",
    ]
    assert (out / "longest_gap").read_text() == "30"
    assert (out / "warmest").read_text() == "a"
