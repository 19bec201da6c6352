from pathlib import Path

import pytest

from solution import main

OUTPUTS = Path("/var/outputs")
GENERATION = """year,source,net_generation
2001-01-01,Fossil Fuels,6000
2002-01-01,Fossil Fuels,5000
2004-01-01,Fossil Fuels,2000
2001-01-01,Nuclear Energy,2000
2002-01-01,Nuclear Energy,2500
2001-01-01,Renewables,0
2002-01-01,Renewables,2500
2004-01-01,Renewables,6000
"""


@pytest.mark.parametrize(("threshold", "year"), [(0.0, 2001), (0.2, 2002), (0.25, 2002), (0.26, 2004), (0.75, 2004)])
def test_first_year(tmp_path, threshold, year):
    (tmp_path / "in").write_text(GENERATION)
    main(["--generation", str(tmp_path / "in"), "--threshold", str(threshold)])
    assert (OUTPUTS / "first_year").read_text().strip() == str(year)


def test_whole_table(tmp_path):
    (tmp_path / "in").write_text(GENERATION)
    main(["--generation", str(tmp_path / "in"), "--threshold", "0.9"])
    header, *lines = (OUTPUTS / "shares").read_text().split()
    assert header == "year,total_twh,renewable_share,change"
    cells = [[float(cell) if cell else None for cell in line.split(",")] for line in lines]
    assert cells == [[2001, 8, 0, None], [2002, 10, 0.25, 0.25], [2004, 8, 0.75, None]]
    assert (OUTPUTS / "first_year").read_text().strip() == "0"
