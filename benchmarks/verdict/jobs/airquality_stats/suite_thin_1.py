from pathlib import Path

import pytest

from solution import main

AIR = '''"","Ozone","Solar.R","Wind","Temp","Month","Day"
"1",10,190,7.4,60,5,1
"2",10,190,7.4,60,5,2
"3",20,190,7.4,70,6,1
"4",20,190,7.4,70,6,2
'''


def test_four_days(tmp_path):
    path = tmp_path / "air"
    path.write_text(AIR)
    main(["--air", str(path)])
    out = Path("/var/outputs")
    rows = [line.split(",") for line in (out / "monthly").read_text().splitlines()[1:]]
    assert [[float(cell) for cell in row] for row in rows] == [[5, 2, 2, 10, 0], [6, 2, 2, 20, 0]]
    assert float((out / "correlation").read_text()) == pytest.approx(1)
    assert (out / "high_days").read_text() == "0"
