import csv
from pathlib import Path

from solution import main

OUT = Path("/var/outputs")
TEXT = '''"","carat","cut","color","clarity","depth","table","price","x","y","z"
"1",0.30,"Ideal","E","SI2",61.5,55,500,3.95,3.98,2.43
"2",0.50,"Ideal","D","VS1",61.5,55,500,3.95,3.98,2.43
"3",1.01,"Ideal","E","SI1",61.5,55,2000,3.95,3.98,2.43
"4",0.40,"Ideal","D","SI1",61.5,55,500,3.95,3.98,2.43
"5",0.20,"Ideal","F","IF",61.5,55,300,3.95,3.98,2.43
"6",2.00,"Fair","F","IF",61.5,55,9000,3.95,3.98,2.43
'''


def listed(tmp_path, cut, top):
    path = tmp_path / "stones"
    path.write_text(TEXT)
    main(["--stones", str(path), "--cut", cut, "--top", str(top)])
    with (OUT / "top_stones").open() as file:
        return [(float(row["carat"]), row["color"], float(row["price"])) for row in csv.DictReader(file)]


def test_first_only(tmp_path):
    assert listed(tmp_path, "Ideal", 1) == [(1.01, "E", 2000)]
    assert (OUT / "n").read_text().strip() == "5"


def test_equal_prices_by_carat(tmp_path):
    assert listed(tmp_path, "Ideal", 3) == [(1.01, "E", 2000), (0.3, "E", 500), (0.4, "D", 500), (0.5, "D", 500)]


def test_best_color(tmp_path):
    listed(tmp_path, "Ideal", 1)
    assert (OUT / "best_color").read_text().strip() == "E"  # median 1250 against 500 and 300


def test_all(tmp_path):
    assert len(listed(tmp_path, "Ideal", 50)) == 5
