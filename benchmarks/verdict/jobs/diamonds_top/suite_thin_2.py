from pathlib import Path

import pytest

from solution import main

HEADER = '"","carat","cut","color","clarity","depth","table","price","x","y","z"\n'


def make(tmp_path, cuts):
    path = tmp_path / "stones"
    path.write_text(
        HEADER + "".join(f'"{i}",0.{i + 2},"{cut}","E","SI2",61.5,55,{400 + i},4,4,2\n' for i, cut in enumerate(cuts))
    )
    return str(path)


@pytest.mark.parametrize(("cut", "count"), [("Ideal", 2), ("Good", 1), ("Fair", 0)])
def test_counts(tmp_path, cut, count):
    main(["--stones", make(tmp_path, ["Ideal", "Good", "Ideal"]), "--cut", cut, "--top", "5"])
    assert int(Path("/var/outputs/n").read_text()) == count
    lines = Path("/var/outputs/top_stones").read_text().splitlines()
    assert len(lines) == count + 1
