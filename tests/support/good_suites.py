"""Suites in many styles that pin every output of one script: none of them is vacuous."""

from __future__ import annotations

from typing import Final

OUTPUTS: Final = ("total", "by_region", "summary")
SOLUTION: Final = """
import argparse, csv, json
from collections import defaultdict
from pathlib import Path

OUTPUTS = Path("/var/outputs")

def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    args = parser.parse_args(argv)
    sums = defaultdict(float)
    with open(args.data, newline="") as file:
        for row in csv.DictReader(file):
            sums[row["region"]] += float(row["price"])
    with open(OUTPUTS / "by_region", "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=["region", "revenue"])
        writer.writeheader()
        for region in sorted(sums):
            writer.writerow({"region": region, "revenue": sums[region]})
    best = max(sums, key=sums.get)
    (OUTPUTS / "summary").write_text(json.dumps({"regions": len(sums), "best": best}))
    (OUTPUTS / "total").write_text(str(sum(sums.values())))
"""
DATA: Final = r"""
CSV = "region,price\nnorth,2\nsouth,5\nnorth,4\n"
"""

GOOD_SUITES: Final = {
    "parametrize over outputs, whole text": DATA
    + """
import pytest
from solution import main
from pathlib import Path

@pytest.fixture(autouse=True)
def _run(tmp_path):
    f = tmp_path / "data.csv"
    f.write_text(CSV)
    main(["--data", str(f)])

@pytest.mark.parametrize("name, text", [
    ("total", "11.0"),
    ("by_region", "region,revenue\\nnorth,6.0\\nsouth,5.0\\n"),
    ("summary", '{"regions": 2, "best": "north"}'),
])
def test_output(name, text):
    assert Path(f"/var/outputs/{name}").read_text().strip() == text.strip()
""",
    "class with setup and helper methods": DATA
    + """
import csv, json, os
import solution

class TestSolution:
    OUT = "/var/outputs"

    def _run(self, tmp_path, text=CSV):
        p = tmp_path / "in"
        p.write_text(text)
        solution.main(["--data", str(p)])

    def _read(self, name):
        with open(os.path.join(self.OUT, name)) as f:
            return f.read()

    def test_total(self, tmp_path):
        self._run(tmp_path)
        assert abs(float(self._read("total")) - 11) < 1e-9

    def test_table(self, tmp_path):
        self._run(tmp_path)
        rows = list(csv.reader(self._read("by_region").splitlines()))
        assert rows[0] == ["region", "revenue"]
        assert [r[0] for r in rows[1:]] == ["north", "south"]
        assert [float(r[1]) for r in rows[1:]] == [6, 5]

    def test_summary(self, tmp_path):
        self._run(tmp_path)
        data = json.loads(self._read("summary"))
        assert data["best"] == "north"
        assert data["regions"] == 2
""",
    "subprocess and DataFrames": DATA
    + """
import json, subprocess, sys
import pandas as pd
from pathlib import Path

def execute(tmp_path):
    src = tmp_path / "d.csv"
    src.write_text(CSV)
    done = subprocess.run([sys.executable, "solution.py", "--data", str(src)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    out = Path("/var/outputs")
    return pd.read_csv(out / "by_region"), json.load((out / "summary").open()), float((out / "total").read_text())

def test_all(tmp_path):
    frame, summary, total = execute(tmp_path)
    expected = pd.DataFrame({"region": ["north", "south"], "revenue": [6.0, 5.0]})
    pd.testing.assert_frame_equal(frame, expected)
    assert summary == {"regions": 2, "best": "north"}
    assert total == 11
""",
    "walrus and early fail": DATA
    + """
import json
import pytest
from pathlib import Path
from solution import main
OUT = Path("/var/outputs")

def test_it(tmp_path):
    (data := tmp_path / "data").write_text(CSV)
    main(["--data", str(data)])
    if (got := (OUT / "total").read_text()) != "11.0":
        pytest.fail(f"total is {got}")
    if (rows := (OUT / "by_region").read_text().split()) != ["region,revenue", "north,6.0", "south,5.0"]:
        pytest.fail(str(rows))
    if json.loads(text := (OUT / "summary").read_text()) != {"regions": 2, "best": "north"}:
        pytest.fail(text)
""",
    "loop over expected outputs dict": DATA
    + """
import solution
from pathlib import Path
TABLE = "region,revenue\\r\\nnorth,6.0\\r\\nsouth,5.0\\r\\n"
EXPECTED = {"total": "11.0", "by_region": TABLE, "summary": '{"regions": 2, "best": "north"}'}

def test_outputs(tmp_path):
    path = tmp_path / "x"
    path.write_text(CSV)
    solution.main(["--data", str(path)])
    for name, expected in EXPECTED.items():
        with open("/var/outputs/" + name, newline="") as handle:
            assert handle.read() == expected, name
""",
    "one helper returns a dict of outputs": DATA
    + """
import csv, json
from pathlib import Path
from solution import main

def outputs(tmp_path, text):
    path = tmp_path / "x"
    path.write_text(text)
    main(["--data", str(path)])
    out = Path("/var/outputs")
    return {
        "total": float((out / "total").read_text()),
        "table": {r["region"]: float(r["revenue"]) for r in csv.DictReader((out / "by_region").open())},
        "summary": json.loads((out / "summary").read_text()),
    }

def test_values(tmp_path):
    got = outputs(tmp_path, CSV)
    assert got == {"total": 11.0, "table": {"north": 6.0, "south": 5.0}, "summary": {"regions": 2, "best": "north"}}
""",
    "an oracle in the test": DATA
    + """
import csv, io, json, math
from collections import Counter
from pathlib import Path
from solution import main

def reference(text):
    sums = Counter()
    for row in csv.DictReader(io.StringIO(text)):
        sums[row["region"]] += float(row["price"])
    return sums

def test_against_reference(tmp_path):
    p = tmp_path / "x"
    p.write_text(CSV)
    main(["--data", str(p)])
    sums = reference(CSV)
    total = float(Path("/var/outputs/total").read_text())
    assert math.isclose(total, sum(sums.values()))
    table = {r["region"]: float(r["revenue"]) for r in csv.DictReader(open("/var/outputs/by_region"))}
    assert table == dict(sums)
    summary = json.loads(Path("/var/outputs/summary").read_text())
    assert summary["regions"] == len(sums)
    assert summary["best"] == max(sums, key=sums.get)
""",
    "unittest": DATA
    + """
import json, tempfile, unittest
from pathlib import Path
import solution

class SolutionTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name, "data")
        path.write_text(CSV)
        solution.main(["--data", str(path)])
        self.total = Path("/var/outputs/total").read_text()
        self.lines = Path("/var/outputs/by_region").read_text().splitlines()
        self.summary = json.loads(Path("/var/outputs/summary").read_text())

    def test_total(self):
        self.assertAlmostEqual(float(self.total), 11.0)

    def test_lines(self):
        self.assertListEqual(self.lines[1:], ["north,6.0", "south,5.0"])

    def test_summary(self):
        self.assertDictEqual(self.summary, {"regions": 2, "best": "north"})
""",
    "approx on nested values and zip": DATA
    + """
import csv, json
import pytest
from pathlib import Path
from solution import main
ROOT = Path("/") / "var" / "outputs"

@pytest.fixture
def result(tmp_path):
    (tmp_path / "a").write_text(CSV)
    main(["--data", str(tmp_path / "a")])
    yield {p.name: p.read_text() for p in ROOT.iterdir()}

def test_total(result):
    assert float(result["total"]) == pytest.approx(11, abs=1e-6)

def test_rows(result):
    rows = list(csv.DictReader(result["by_region"].splitlines()))
    for row, (region, revenue) in zip(rows, [("north", 6), ("south", 5)], strict=True):
        assert row["region"] == region
        assert float(row["revenue"]) == pytest.approx(revenue)

def test_summary(result):
    assert json.loads(result["summary"])["best"] == "north"
""",
    "regular expressions and membership": DATA
    + """
import re
from pathlib import Path
from solution import main
OUT = Path("/var/outputs")

def test_texts(tmp_path):
    (tmp_path / "a").write_text(CSV)
    main(["--data", str(tmp_path / "a")])
    assert re.fullmatch(r"11(\\.0+)?", (OUT / "total").read_text().strip())
    table = (OUT / "by_region").read_text()
    assert "north,6" in table
    assert "south,5" in table
    assert re.search(r'"best":\\s*"north"', (OUT / "summary").read_text())
""",
    "numpy and sets": DATA
    + """
import json
import numpy as np
import pandas as pd
from solution import main

def run(tmp_path, text):
    (tmp_path / "a").write_text(text)
    main(["--data", str(tmp_path / "a")])

def load(name):
    path = f"/var/outputs/{name}"
    if name == "by_region":
        return pd.read_csv(path).set_index("region")["revenue"]
    with open(path) as f:
        return json.load(f)

def test_total(tmp_path):
    run(tmp_path, CSV)
    np.testing.assert_allclose(load("total"), 11)

def test_series(tmp_path):
    run(tmp_path, CSV)
    series = load("by_region")
    assert set(series.index) == {"north", "south"}
    assert series.loc["north"] == 6 and series["south"] == 5

def test_summary(tmp_path):
    run(tmp_path, CSV)
    assert load("summary")["best"] == "north"
""",
    "helper that asserts, by keyword": DATA
    + """
import csv, json
from pathlib import Path
from solution import main

def check(tmp_path, *, data, total, rows, best):
    (tmp_path / "a").write_text(data)
    main(["--data", str(tmp_path / "a")])
    out = Path("/var/outputs")
    assert float((out / "total").read_text()) == total
    with open(out / "by_region", newline="") as f:
        reader = csv.reader(f)
        assert next(reader) == ["region", "revenue"]
        assert [tuple(row) for row in reader] == rows
    assert json.loads((out / "summary").read_text())["best"] == best

def test_two(tmp_path):
    check(tmp_path, data=CSV, total=11, rows=[("north", "6.0"), ("south", "5.0")], best="north")

def test_one(tmp_path):
    check(tmp_path, data="region,price\\nx,1\\n", total=1, rows=[("x", "1.0")], best="x")
""",
    "metamorphic beside a fixed value": DATA
    + """
import json
from pathlib import Path
from solution import main
OUT = Path("/var/outputs")

def total(tmp_path, text):
    (tmp_path / "a").write_text(text)
    main(["--data", str(tmp_path / "a")])
    return float((OUT / "total").read_text())

def test_doubling(tmp_path):
    once, twice = total(tmp_path, CSV), total(tmp_path, CSV + "north,2\\nsouth,5\\nnorth,4\\n")
    assert twice == 2 * once

def test_sum_of_table(tmp_path):
    whole = total(tmp_path, CSV)
    lines = (OUT / "by_region").read_text().splitlines()[1:]
    assert sum(float(line.split(",")[1]) for line in lines) == whole == 11
    assert lines[0].split(",")[0] == "north"
    assert json.loads((OUT / "summary").read_text()) == {"regions": len(lines), "best": "north"}
""",
    "total only by its link to a table that is pinned": DATA
    + """
import csv, json
from pathlib import Path
from solution import main
OUT = Path("/var/outputs")

def test_links(tmp_path):
    (tmp_path / "a").write_text(CSV)
    main(["--data", str(tmp_path / "a")])
    rows = list(csv.DictReader((OUT / "by_region").open()))
    assert rows == [{"region": "north", "revenue": "6.0"}, {"region": "south", "revenue": "5.0"}]
    total = float((OUT / "total").read_text())
    assert total == sum(float(row["revenue"]) for row in rows)
    summary = json.loads((OUT / "summary").read_text())
    assert summary["regions"] == len(rows)
""",
    "lambda checks in a table": DATA
    + """
import json
import pytest
from pathlib import Path
from solution import main

CHECKS = [
    ("total", float, lambda value: value == 11),
    ("by_region", str.split, lambda lines: lines[1:] == ["north,6.0", "south,5.0"]),
    ("summary", json.loads, lambda data: data["best"] == "north"),
]

@pytest.mark.parametrize("name, parse, holds", CHECKS, ids=lambda value: str(value))
def test_output(tmp_path, name, parse, holds):
    source = tmp_path / "a"
    source.write_text(CSV)
    main(["--data", str(source)])
    assert holds(parse(Path("/var/outputs", name).read_text()))
""",
    "module level constants, os.path and exit code": DATA
    + """
import os, sys, json
import pytest
import solution

OUT_DIR = os.environ.get("OUT", "/var/outputs")
TOTAL = os.path.join(OUT_DIR, "total")
TABLE = os.path.join(OUT_DIR, "by_region")
SUMMARY = os.path.join(OUT_DIR, "summary")

def slurp(path):
    with open(path, encoding="utf-8") as f:
        return f.read().strip()

def test_cli(tmp_path, monkeypatch):
    src = tmp_path / "in.csv"
    src.write_text(CSV)
    monkeypatch.setattr(sys, "argv", ["solution.py", "--data", str(src)])
    try:
        solution.main()
    except SystemExit as error:
        assert error.code in (0, None)
    assert slurp(TOTAL) == "11.0"
    header, *body = slurp(TABLE).split("\\n")
    assert header.strip() == "region,revenue"
    assert body[0].strip() == "north,6.0"
    assert json.loads(slurp(SUMMARY)).get("regions") == 2
""",
    "polars and dataclass": DATA
    + """
import json
from dataclasses import dataclass
from pathlib import Path
import polars as pl
from solution import main

@dataclass
class Outcome:
    total: float
    table: pl.DataFrame
    best: str

    @classmethod
    def of(cls, folder):
        return cls(
            total=float((folder / "total").read_text()),
            table=pl.read_csv(folder / "by_region"),
            best=json.loads((folder / "summary").read_text())["best"],
        )

def test_outcome(tmp_path):
    (tmp_path / "a").write_text(CSV)
    main(["--data", str(tmp_path / "a")])
    outcome = Outcome.of(Path("/var/outputs"))
    assert outcome.total == 11.0
    assert outcome.table.rows() == [("north", 6.0), ("south", 5.0)]
    assert outcome.best == "north"
""",
    "functions of the solution and its files": DATA
    + """
import csv
from pathlib import Path
import solution

def test_main(tmp_path):
    (tmp_path / "a").write_text(CSV)
    solution.main(["--data", str(tmp_path / "a")])
    found = {path.name: path.read_text().strip() for path in sorted(Path("/var/outputs").glob("*"))}
    assert found["total"] == "11.0"
    assert found["by_region"].splitlines()[-1] == "south,5.0"
    assert '"best": "north"' in found["summary"]
""",
    "match statements and any/all": DATA
    + """
import csv, json
from pathlib import Path
from solution import main

def test_match(tmp_path):
    (tmp_path / "a").write_text(CSV)
    main(["--data", str(tmp_path / "a")])
    rows = list(csv.reader(Path("/var/outputs/by_region").open()))
    assert any(row == ["north", "6.0"] for row in rows)
    assert all(float(row[1]) in (5, 6) for row in rows[1:])
    match json.loads(Path("/var/outputs/summary").read_text()):
        case {"best": "north", "regions": 2}:
            pass
        case other:
            raise AssertionError(other)
    total, = map(float, Path("/var/outputs/total").read_text().split())
    assert not total - 11
""",
    "exact tolerance window and index of rows": DATA
    + """
import pandas as pd, json
from solution import main

def test_window(tmp_path):
    (tmp_path / "a").write_text(CSV)
    main(["--data", str(tmp_path / "a")])
    with open("/var/outputs/total") as f:
        total = float(f.read())
    assert 10.99 < total < 11.01
    df = pd.read_csv("/var/outputs/by_region")
    assert df.loc[df["region"] == "north", "revenue"].item() == 6
    assert df["revenue"].tolist() == [6.0, 5.0]
    assert pd.read_json("/var/outputs/summary", typ="series")["best"] == "north"
""",
}
