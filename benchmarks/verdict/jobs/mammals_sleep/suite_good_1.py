import csv
from pathlib import Path

import pytest

from solution import main

OUT = Path("/var/outputs")
COLUMNS = "name,genus,vore,order,conservation,sleep_total,sleep_rem,sleep_cycle,awake,brainwt,bodywt".split(",")


def run(tmp_path, *animals):
    path = tmp_path / "mammals"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["", *COLUMNS], restval="NA")
        writer.writeheader()
        for number, animal in enumerate(animals, start=1):
            writer.writerow({"": number, "bodywt": 1, **animal})
    main(["--mammals", str(path)])
    with (OUT / "by_vore").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["vore", "animals", "median_sleep", "with_rem"]
    return [(row[0], int(row[1]), float(row[2]), int(row[3])) for row in rows[1:]]


def text(name):
    return (OUT / name).read_text().strip()


def test_rem_share_is_the_mean_of_shares_in_percent(tmp_path):
    run(
        tmp_path,
        {"name": "A", "sleep_total": 10, "sleep_rem": 1},
        {"name": "B", "sleep_total": 20, "sleep_rem": 5},
        {"name": "C", "sleep_total": 4},
    )
    assert float(text("rem_share")) == pytest.approx(17.5)


def test_vores(tmp_path):
    table = run(
        tmp_path,
        {"name": "A", "vore": "omni", "sleep_total": 10, "sleep_rem": 1},
        {"name": "B", "vore": "herbi", "sleep_total": 3},
        {"name": "C", "vore": "herbi", "sleep_total": 8, "sleep_rem": 2},
        {"name": "D", "vore": "herbi", "sleep_total": 4},
        {"name": "E", "vore": "carni", "sleep_total": 12, "sleep_rem": 2},
        {"name": "F", "sleep_total": 6},
    )
    assert table == [("herbi", 3, 4.0, 1), ("carni", 1, 12.0, 1), ("none", 1, 6.0, 0), ("omni", 1, 10.0, 1)]


def test_the_median_of_two_is_between_them(tmp_path):
    table = run(
        tmp_path,
        {"name": "A", "vore": "omni", "sleep_total": 10, "sleep_rem": 1},
        {"name": "B", "vore": "omni", "sleep_total": 3},
    )
    assert table == [("omni", 2, 6.5, 1)]


def test_smartest_is_relative_to_the_body(tmp_path):
    run(
        tmp_path,
        {"name": "Elephant", "sleep_total": 4, "sleep_rem": 1, "brainwt": 5, "bodywt": 5000},
        {"name": "Mouse", "sleep_total": 12, "brainwt": 0.001, "bodywt": 0.02},
        {"name": "Unknown", "sleep_total": 12, "bodywt": 0.001},
        {"name": "Other mouse", "sleep_total": 12, "brainwt": 0.001, "bodywt": 0.02},
    )
    assert text("smartest") == "Mouse"
    assert text("unknown_brains") == "1"
