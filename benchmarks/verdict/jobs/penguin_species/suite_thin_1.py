import csv
from pathlib import Path

from solution import main


def test_one_penguin(tmp_path):
    path = tmp_path / "penguins"
    path.write_text(
        "species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year\n"
        "Gentoo,Biscoe,46.1,13.2,211,5000,female,2007\n"
    )
    main(["--penguins", str(path)])
    with open("/var/outputs/summary", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["species"] == "Gentoo"
    assert float(rows[0]["mean_mass_kg"]) == 5.0
    assert Path("/var/outputs/heaviest_island").read_text() == "Biscoe"
