import csv
from pathlib import Path

from solution import main

TEXT = '''"","carat","cut","color","clarity","depth","table","price","x","y","z"
"1",0.50,"Ideal","E","SI2",61.5,55,500,3.95,3.98,2.43
"2",0.60,"Ideal","E","VS1",61.5,55,700,3.95,3.98,2.43
'''


def test_two_diamonds(tmp_path):
    path = tmp_path / "stones"
    path.write_text(TEXT)
    main(["--stones", str(path), "--cut", "Ideal", "--top", "2"])
    with open("/var/outputs/top_stones") as file:
        rows = list(csv.DictReader(file))
    assert [row["price"] for row in rows] == ["700", "500"]
    assert Path("/var/outputs/n").read_text().strip() == "2"
    assert Path("/var/outputs/best_color").read_text().strip() == "E"
