"""Suites in many styles that hold no value of some outputs: each with the outputs of which none is asserted."""

from __future__ import annotations

from typing import Final

from good_suites import DATA, OUTPUTS

_RUN: Final = (
    DATA
    + """
import csv, json, math, os, re, sys, subprocess
from pathlib import Path
import pytest
import solution
from solution import main
OUT = Path("/var/outputs")

def run(tmp_path, text=CSV):
    path = tmp_path / "data"
    path.write_text(text)
    main(["--data", str(path)])

def read(name):
    return (OUT / name).read_text()
"""
)

VACUOUS_SUITES: Final = {
    "exists": (
        """
def test_files(tmp_path):
    run(tmp_path)
    for name in ("total", "by_region", "summary"):
        assert (OUT / name).exists()
""",
        OUTPUTS,
    ),
    "size": (
        """
def test_size(tmp_path):
    run(tmp_path)
    assert os.path.getsize("/var/outputs/total") > 0
    assert (OUT / "by_region").stat().st_size > 10
    assert len(read("summary")) > 2
""",
        OUTPUTS,
    ),
    "parses": (
        """
def test_parse(tmp_path):
    run(tmp_path)
    float(read("total"))
    json.loads(read("summary"))
    list(csv.reader(read("by_region").splitlines()))
    assert True
""",
        OUTPUTS,
    ),
    "header only": (
        """
def test_header(tmp_path):
    run(tmp_path)
    lines = read("by_region").splitlines()
    assert lines[0] == "region,revenue"
    assert len(lines) > 1
    assert float(read("total")) > 0
    assert set(json.loads(read("summary"))) == {"regions", "best"}
""",
        OUTPUTS,
    ),
    "isinstance": (
        """
def test_types(tmp_path):
    run(tmp_path)
    data = json.loads(read("summary"))
    assert isinstance(data, dict)
    assert isinstance(data["regions"], int) and isinstance(data["best"], str)
    assert isinstance(float(read("total")), float)
    rows = list(csv.DictReader((OUT / "by_region").open()))
    assert all(isinstance(row["region"], str) for row in rows)
""",
        OUTPUTS,
    ),
    "len(rows) > 0 and keys": (
        """
def test_rows(tmp_path):
    run(tmp_path)
    with open(OUT / "by_region", newline="") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) > 0
    assert "region" in rows[0] and "revenue" in rows[0]
    assert list(rows[0].keys()) == ["region", "revenue"]
    data = json.loads(read("summary"))
    assert "best" in data
    assert data.keys() >= {"regions"}
    assert read("total").strip()
""",
        OUTPUTS,
    ),
    "assert True": (
        """
def test_main_runs(tmp_path):
    run(tmp_path)
    assert True
    assert main is not None
    assert 1 == 1
""",
        OUTPUTS,
    ),
    "one of three": (
        """
def test_total(tmp_path):
    run(tmp_path)
    assert float(read("total")) == 11
    assert json.loads(read("summary")) is not None
    assert list(csv.DictReader((OUT / "by_region").open())) != []
""",
        ("by_region", "summary"),
    ),
    "with itself": (
        """
def test_self(tmp_path):
    run(tmp_path)
    first = read("total")
    table = read("by_region")
    run(tmp_path)
    assert read("total") == first
    assert table == read("by_region")
    assert json.loads(read("summary")) == json.loads(read("summary"))
""",
        OUTPUTS,
    ),
    "swallowed": (
        """
def test_swallowed(tmp_path):
    run(tmp_path)
    for name, value in [("total", "11.0"), ("by_region", "x"), ("summary", "y")]:
        try:
            assert read(name) == value
        except AssertionError:
            pass
    assert OUT.is_dir()
""",
        OUTPUTS,
    ),
    "ranges": (
        """
def test_ranges(tmp_path):
    run(tmp_path)
    assert float(read("total")) >= 0
    rows = list(csv.DictReader((OUT / "by_region").open()))
    assert all(float(row["revenue"]) >= 0 for row in rows)
    assert json.loads(read("summary"))["regions"] >= 1
    assert not math.isnan(float(read("total")))
""",
        OUTPUTS,
    ),
    "pandas columns and shape": (
        """
import pandas as pd
def test_frame(tmp_path):
    run(tmp_path)
    df = pd.read_csv(OUT / "by_region")
    assert not df.empty
    assert list(df.columns) == ["region", "revenue"]
    assert df.shape[1] == 2
    assert df["revenue"].notna().all()
    assert df["revenue"].dtype.kind == "f"
    assert pd.api.types.is_numeric_dtype(df["revenue"])
    assert not df.isnull().any().any()
    assert math.isfinite(float(read("total")))
    assert json.loads(read("summary"))
""",
        OUTPUTS,
    ),
    "format by regular expressions": (
        """
def test_formats(tmp_path):
    run(tmp_path)
    assert re.fullmatch(r"-?\\d+(\\.\\d+)?", read("total").strip())
    assert re.match(r"^[a-z]+,[a-z]+$", read("by_region").splitlines()[0])
    assert read("summary").startswith("{") and read("summary").rstrip().endswith("}")
""",
        OUTPUTS,
    ),
    "sorted and unique only": (
        """
def test_order(tmp_path):
    run(tmp_path)
    rows = list(csv.DictReader((OUT / "by_region").open()))
    regions = [row["region"] for row in rows]
    assert regions == sorted(regions)
    assert len(regions) == len(set(regions))
    total = float(read("total"))
    assert total == round(total, 2)
    assert type(json.loads(read("summary"))) is dict
""",
        OUTPUTS,
    ),
    "links only": (
        """
def test_consistent(tmp_path):
    run(tmp_path)
    rows = list(csv.DictReader((OUT / "by_region").open()))
    total = float(read("total"))
    assert total == sum(float(row["revenue"]) for row in rows)
    assert json.loads(read("summary"))["regions"] == len(rows)
""",
        OUTPUTS,
    ),
    "subprocess and exit code": (
        """
def test_exit(tmp_path):
    path = tmp_path / "data"
    path.write_text(CSV)
    done = subprocess.run([sys.executable, "solution.py", "--data", str(path)], capture_output=True, text=True)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    for name in ["total", "by_region", "summary"]:
        content = (OUT / name).read_text()
        assert content != ""
        assert "nan" not in content.lower()
""",
        OUTPUTS,
    ),
    "never called and skipped": (
        """
@pytest.mark.skip(reason="slow")
def test_total(tmp_path):
    run(tmp_path)
    assert read("total") == "11.0"

def check_table():
    assert read("by_region") == "x"

def test_rest(tmp_path):
    run(tmp_path)
    return
    assert read("summary") == "{}"

def test_there(tmp_path):
    run(tmp_path)
    assert sorted(os.listdir(OUT)) == ["by_region", "summary", "total"]
""",
        OUTPUTS,
    ),
    "comparisons without an assert": (
        """
def test_it(tmp_path):
    run(tmp_path)
    read("total") == "11.0"
    ok = read("summary") == "{}"
    if read("by_region") != "x":
        print("different")
    assert read("total") is not None
""",
        OUTPUTS,
    ),
    "errors only": (
        """
def test_missing(tmp_path):
    with pytest.raises((SystemExit, FileNotFoundError)):
        main(["--data", str(tmp_path / "none")])

def test_no_arguments():
    with pytest.raises((SystemExit, TypeError)) as caught:
        main([])
    assert caught.value is not None

def test_runs(tmp_path):
    assert run(tmp_path) is None
""",
        OUTPUTS,
    ),
    "stub helper in a class": (
        """
class TestOutputs:
    @pytest.fixture(autouse=True)
    def _outputs(self, tmp_path):
        run(tmp_path)
        self.total = float(read("total"))
        self.rows = list(csv.DictReader((OUT / "by_region").open()))
        self.data = json.loads(read("summary"))

    def test_total(self):
        assert self.total == self.total
        assert 0 < self.total < float("inf")

    def test_rows(self):
        assert self.rows
        for row in self.rows:
            assert set(row) == {"region", "revenue"}
            assert row["region"] != ""
            float(row["revenue"])

    def test_data(self):
        assert len(self.data) >= 1
        assert all(key in self.data for key in ("regions", "best"))
""",
        OUTPUTS,
    ),
}
"""The tests, which stand below what `vacuous_suite` adds, and the outputs that lack a value."""


def vacuous_suite(name: str) -> str:
    """The whole module."""
    return _RUN + VACUOUS_SUITES[name][0]
