import csv
from pathlib import Path

import pytest

from solution import main

HEADER = '"","carat","cut","color","clarity","depth","table","price","x","y","z"'


def run(tmp_path, stones, cut, top):
    lines = [HEADER]
    for number, (carat, kind, color, clarity, price) in enumerate(stones, start=1):
        lines.append(f'"{number}",{carat},"{kind}","{color}","{clarity}",61.5,55,{price},4,4,2.5')
    path = tmp_path / "stones"
    path.write_text("\n".join(lines) + "\n")
    main(["--stones", str(path), "--cut", cut, "--top", str(top)])
    out = Path("/var/outputs")
    with (out / "top_stones").open(newline="") as file:
        rows = list(csv.reader(file))
    return rows, int((out / "n").read_text()), (out / "best_color").read_text().strip()


def cells(rows):
    return [(float(row[0]), row[1], row[2], int(row[3])) for row in rows[1:]]


def test_most_expensive_first_of_the_cut_only(tmp_path):
    stones = [
        (0.5, "Ideal", "E", "VS1", 900),
        (0.7, "Good", "D", "IF", 5000),
        (0.4, "Ideal", "F", "SI1", 700),
        (0.9, "Ideal", "E", "SI2", 1500),
    ]
    rows, n, color = run(tmp_path, stones, "Ideal", 2)
    assert rows[0] == ["carat", "color", "clarity", "price"]
    assert cells(rows) == [(0.9, "E", "SI2", 1500), (0.5, "E", "VS1", 900)]
    assert n == 3
    assert color == "E"


def test_ties_with_the_last_are_listed_too(tmp_path):
    stones = [
        (0.9, "Ideal", "E", "SI2", 1000),
        (0.5, "Ideal", "D", "VS1", 800),
        (0.4, "Ideal", "F", "SI1", 800),
        (0.4, "Ideal", "G", "SI1", 800),
        (0.3, "Ideal", "G", "SI1", 700),
    ]
    rows, n, color = run(tmp_path, stones, "Ideal", 2)
    assert cells(rows) == [
        (0.9, "E", "SI2", 1000),
        (0.4, "F", "SI1", 800),
        (0.4, "G", "SI1", 800),
        (0.5, "D", "VS1", 800),
    ]
    assert n == 5
    assert color == "E"


def test_fewer_diamonds_than_asked_for(tmp_path):
    rows, n, color = run(tmp_path, [(0.5, "Fair", "J", "I1", 300), (0.6, "Good", "D", "I1", 900)], "Fair", 3)
    assert cells(rows) == [(0.5, "J", "I1", 300)]
    assert n == 1
    assert color == "J"


def test_best_color_is_by_median_and_then_alphabetical(tmp_path):
    stones = [
        (0.5, "Good", "H", "I1", 100),
        (0.5, "Good", "H", "I1", 400),
        (0.5, "Good", "H", "I1", 5000),
        (0.5, "Good", "E", "I1", 500),
        (0.5, "Good", "D", "I1", 400),
        (0.5, "Good", "D", "I1", 600),
    ]
    assert run(tmp_path, stones, "Good", 1)[2] == "D"


def test_a_cut_that_does_not_occur(tmp_path):
    rows, n, color = run(tmp_path, [(0.5, "Fair", "J", "I1", 300)], "Ideal", 3)
    assert rows == [["carat", "color", "clarity", "price"]]
    assert (n, color) == (0, "")
