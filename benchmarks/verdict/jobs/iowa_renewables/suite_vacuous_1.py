import csv
import os

from solution import main

ROWS = "year,source,net_generation\n2001-01-01,Fossil Fuels,3000\n2001-01-01,Renewables,1000\n"


class TestOutputs:
    def run(self, folder):
        path = folder / "generation"
        path.write_text(ROWS)
        main(["--generation", str(path), "--threshold", "0.5"])

    def test_both_are_written(self, tmp_path):
        self.run(tmp_path)
        assert os.path.getsize("/var/outputs/shares") > 0
        assert os.path.getsize("/var/outputs/first_year") > 0

    def test_cells_are_numbers_or_empty(self, tmp_path):
        self.run(tmp_path)
        with open("/var/outputs/shares", newline="") as file:
            for row in csv.DictReader(file):
                for cell in row.values():
                    assert cell == "" or isinstance(float(cell), float)

    def test_first_year_is_an_int(self, tmp_path):
        self.run(tmp_path)
        with open("/var/outputs/first_year") as file:
            assert isinstance(int(file.read()), int)
