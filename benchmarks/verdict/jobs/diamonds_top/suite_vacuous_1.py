from pathlib import Path

import pandas as pd
import pytest

from solution import main


@pytest.fixture
def outputs(tmp_path):
    path = tmp_path / "stones"
    pd.DataFrame(
        {
            "carat": [0.5, 0.6, 0.7],
            "cut": ["Ideal", "Ideal", "Good"],
            "color": ["E", "F", "G"],
            "clarity": ["SI1", "SI2", "VS1"],
            "price": [500, 600, 700],
        }
    ).to_csv(path)
    main(["--stones", str(path), "--cut", "Ideal", "--top", "1"])
    return Path("/var/outputs")


def test_top_stones_is_a_table(outputs):
    table = pd.read_csv(outputs / "top_stones")
    assert not table.empty
    assert "price" in table.columns


def test_n_is_an_integer(outputs):
    assert int((outputs / "n").read_text()) >= 0


def test_color_is_text(outputs):
    assert isinstance((outputs / "best_color").read_text(), str)
