"""The statistics of a profile, compared with pandas; its sample rows; its limits of time and memory."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.data.profile import profile_sample
from flyteplugins_codegen.errors import SampleError
from flyteplugins_codegen.models.data import ColumnProfile, SampleProfile

WEATHER = Path(__file__).parents[2] / "workflows" / "data" / "seattle-weather.csv"


def column_of(profile: SampleProfile, name: str) -> ColumnProfile:
    return profile.columns[name]


def profile_of_table(folder: Path, columns: dict[str, pa.Array]) -> SampleProfile:
    pq.write_table(pa.table(columns), folder / "t.parquet")
    return profile_sample(folder / "t.parquet", "t")


def check_against_pandas(column: ColumnProfile, series: pd.Series) -> None:
    valid = series.dropna()
    assert column.null_count == series.isna().sum()
    assert column.distinct_count == valid.nunique()
    assert column.is_unique == (len(series) > 0 and series.is_unique and not series.isna().any())
    if len(valid):
        assert (column.minimum, column.maximum) == (valid.min(), valid.max())
        counts = valid.value_counts()
        assert all(counts[value] == count for value, count in column.top_values)
    if pd.api.types.is_numeric_dtype(series) and len(valid):
        assert column.mean == pytest.approx(valid.mean(), rel=1e-12, abs=1e-12)


def test_the_profile_of_the_weather_matches_pandas() -> None:
    profile, frame = profile_sample(WEATHER, "weather"), pd.read_csv(WEATHER)
    assert (profile.row_count, profile.size_bytes) == (1461, WEATHER.stat().st_size)
    assert list(profile.columns) == list(frame.columns)
    for column in profile.columns.values():
        check_against_pandas(column, frame[column.name])
    assert column_of(profile, "weather").top_values == (
        ("rain", 641),
        ("sun", 640),
        ("fog", 101),
        ("drizzle", 53),
        ("snow", 26),
    )


finite = st.floats(-1e9, 1e9).map(lambda value: round(value, 3))
tables = st.integers(1, 40).flatmap(
    lambda height: st.fixed_dictionaries(
        {
            "whole": st.lists(st.integers(-(2**31), 2**31), min_size=height, max_size=height),
            "few": st.lists(st.integers(0, 3) | st.none(), min_size=height, max_size=height),
            "real": st.lists(finite | st.none(), min_size=height, max_size=height),
            "text": st.lists(st.sampled_from(["x", "yy", "z z", "Ä", None]), min_size=height, max_size=height),
        }
    )
)


@given(tables)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_profile_of_any_table_matches_pandas(tmp_path: Path, table: dict[str, list[object]]) -> None:
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    frame = pd.read_csv(tmp_path / "t.csv")
    profile = profile_sample(tmp_path / "t.csv", "t")
    assert profile.row_count == len(frame)
    for column in profile.columns.values():
        check_against_pandas(column, frame[column.name])


def test_statistics_reach_over_all_batches(tmp_path: Path) -> None:
    numbers = pa.array(range(300_000))
    profile = profile_of_table(tmp_path, {"n": numbers, "c": pa.array([f"c{n % 7}" for n in range(300_000)])})
    n, c = profile.columns.values()
    assert (n.minimum, n.maximum, n.mean, n.distinct_count, n.is_unique) == (0, 299_999, 149_999.5, 300_000, True)
    assert (c.distinct_count, sum(count for _, count in c.top_values)) == (7, 300_000)


def test_too_many_values_to_count_are_estimated_and_marked_so(tmp_path: Path) -> None:
    rows = pa.array([f"a long name that is unique, {number * 7919 % 900_001}" for number in range(900_000)])
    profile = profile_of_table(tmp_path, {"name": rows})
    column = profile.columns["name"]
    assert (column.is_unique, column.approximate) == (False, ("distinct_count", "text"))
    assert column.distinct_count == pytest.approx(900_000, rel=0.1)
    assert column.maximum == "a long name that is unique, 99999"
    assert (profile.candidate_keys, profile.duplicate_row_count) == ((("name",),), 0)
    assert profile.approximate == ("candidate_keys",)


VALUES = {
    "date": (pa.array([dt.date(2020, 2, 1), dt.date(2021, 1, 1)]), "2020-02-01"),
    "timestamp": (pa.array([dt.datetime(2020, 2, 1, 10, 30), dt.datetime(2021, 1, 1)]), "2020-02-01T10:30:00"),  # noqa: DTZ001  a time without a zone is the case
    "zoned": (pa.array([1, 2], pa.int64()).cast(pa.timestamp("ns", "Asia/Tokyo")), "1970-01-01T00:00:00.000000001Z"),
    "time": (pa.array([dt.time(1, 2), dt.time(3, 4)]), "01:02:00"),
    "duration": (pa.array([dt.timedelta(seconds=2), dt.timedelta(seconds=3)]), 2_000_000),
    "decimal": (pa.array([Decimal("1.10"), Decimal("2.20")]), "1.10"),
    "binary": (pa.array([b"\x01\xff", b"\x02"]), "01ff"),
    "bool": (pa.array([False, True]), False),
    "category": (pa.array(["a", "b"]).dictionary_encode(), "a"),
    "half": (pa.array([0.5, 1.5], pa.float16()), 0.5),
    "view": (pa.array(["a", "b"], pa.string_view()), "a"),
    "fixed": (pa.array([b"ab", b"cd"], pa.binary(2)), "6162"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_every_type_has_a_json_value(kind: str, tmp_path: Path) -> None:
    array, least = VALUES[kind]
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(path, pa.schema([("v", array.type)])) as writer:
        writer.write_table(pa.table({"v": array}))
    profile = profile_sample(path, "t")
    assert (profile.columns["v"].minimum, profile.columns["v"].distinct_count) == (least, 2)
    assert profile.sample_rows[0] == {"v": least}
    assert SampleProfile.model_validate_json(profile.model_dump_json()) == profile


def test_nested_values_are_shown_as_json_and_not_compared(tmp_path: Path) -> None:
    profile = profile_of_table(tmp_path, {"l": pa.array([[1, 2], None]), "s": pa.array([{"a": 1}, {"a": None}])})
    nested, struct = profile.columns.values()
    assert (nested.null_count, nested.distinct_count, nested.minimum) == (1, None, None)
    assert (struct.null_count, struct.distinct_count) == (0, None)
    assert profile.sample_rows == ({"l": "[1, 2]", "s": '{"a": 1}'}, {"l": None, "s": '{"a": null}'})


def test_infinities_and_not_a_number_survive_json(tmp_path: Path) -> None:
    values = pa.array([float("nan"), float("-inf"), float("inf"), 1.0, None])
    profile = profile_of_table(tmp_path, {"v": values})
    column = profile.columns["v"]
    assert (column.null_count, column.minimum, column.maximum, column.mean) == (2, "-inf", "inf", None)
    assert "NaN" not in json.dumps(profile.model_dump(mode="json"))


def test_a_column_of_nulls_has_no_values(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,\n2,\n")
    column = profile_sample(tmp_path / "t.csv", "t").columns["b"]
    assert (column.arrow_type, column.null_count, column.distinct_count, column.minimum) == ("null", 2, 0, None)


def test_an_index_that_pandas_wrote_is_marked(tmp_path: Path) -> None:
    pd.DataFrame({"v": [1]}, index=pd.Index([5], name="key")).to_parquet(tmp_path / "t.parquet")
    profile = profile_sample(tmp_path / "t.parquet", "t")
    assert [(column.name, column.is_index) for column in profile.columns.values()] == [("v", False), ("key", True)]


def varied(folder: Path) -> Path:
    """A hundred like rows with one null, one extreme of either sign, and one rare category."""
    rows = [{"n": 50, "c": "usual", "d": "2020-06-01"} for _ in range(100)]
    rows[40]["n"], rows[50]["n"], rows[60]["n"] = None, -9, 999
    rows[70]["c"], rows[80]["d"] = "rare", "1999-01-01"
    rows[99]["n"] = 51
    pd.DataFrame(rows).astype({"n": "Int64"}).to_csv(folder / "v.csv", index=False)
    return folder / "v.csv"


def test_the_sample_rows_vary(tmp_path: Path) -> None:
    rows = profile_sample(varied(tmp_path), "v").sample_rows
    shown = [(row["n"], row["c"], row["d"]) for row in rows]
    usual = (50, "usual", "2020-06-01")
    assert shown[:4] == [usual, usual, usual, (51, "usual", "2020-06-01")]
    assert set(shown[4:]) == {
        (None, "usual", "2020-06-01"),
        (-9, "usual", "2020-06-01"),
        (999, "usual", "2020-06-01"),
        (50, "rare", "2020-06-01"),
        (50, "usual", "1999-01-01"),
    }


def test_the_same_rows_are_shown_at_every_run(tmp_path: Path) -> None:
    path = varied(tmp_path)
    first = profile_sample(path, "v").model_dump_json()
    assert all(profile_sample(path, "v").model_dump_json() == first for _ in range(5))


@pytest.mark.parametrize("limit", [0, 1, 4])
def test_no_more_rows_are_shown_than_asked_for(limit: int, tmp_path: Path) -> None:
    assert len(profile_sample(varied(tmp_path), "v", limit).sample_rows) == limit


def test_a_small_table_is_shown_whole_and_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "".join(f"{n}\n" for n in (5, 3, 9, 1, 5)))
    assert [row["a"] for row in profile_sample(tmp_path / "t.csv", "t").sample_rows] == [5, 3, 9, 1, 5]


def test_long_values_are_shortened_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "x" * 5000 + "\n")
    value = profile_sample(tmp_path / "t.csv", "t").sample_rows[0]["a"]
    assert isinstance(value, str)
    kept, _, mark = value.partition("…")
    assert mark == f"(+{5000 - len(kept)} characters)"
    assert len(value) < 220


def test_a_missing_file_is_a_sample_error(tmp_path: Path) -> None:
    with pytest.raises(SampleError, match="sample 'sales': there is no file"):
        profile_sample(tmp_path / "no.csv", "sales")


def test_the_weather_is_profiled_within_60_milliseconds() -> None:
    profile_sample(WEATHER, "weather")  # the imports
    took = []
    for _ in range(5):
        start = time.perf_counter()
        profile_sample(WEATHER, "weather")
        took.append(time.perf_counter() - start)
    assert min(took) < 0.06


def test_memory_stays_bounded_and_pandas_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("id,name,note\n")
        for part in range(40):
            file.writelines(
                f"{n},user {n},note {n % 50} {'y' * 60}\n" for n in range(part * 20_000, (part + 1) * 20_000)
            )
    program = (
        "import re, sys, pathlib, pyarrow.csv, pyarrow.compute, duckdb, numpy\n"
        "from flyteplugins_codegen.data.profile import profile_sample\n"
        "highest = lambda: int(re.search('VmHWM:.*?([0-9]+)', open('/proc/self/status').read())[1])\n"
        "before = highest()\n"
        "profile = profile_sample(pathlib.Path(sys.argv[1]), 'large')\n"
        "assert profile.row_count == 800_000 and 'pandas' not in sys.modules\n"
        "print(highest() - before)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert 1 << 10 < int(finished.stdout) < 300 << 10


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (["31.12.2023", " 1.2.2024", "", "15.06.2022", "soon"], ("2022-06-15", "2024-02-01")),
        (["2024/12/31 10:00", "2023/01/01 23:59"], ("2023-01-01", "2024-12-31")),
        (["01/02/2024", "03/04/2024"], None),
        (["x", "y"], None),
    ],
    ids=["German", "time stamps", "two readings", "no dates"],
)
def test_dates_written_as_text_have_a_range(days: list[str], expected: tuple[str, str] | None) -> None:
    text = profile_sample(pa.table({"day": days}), "s").columns["day"].text
    assert text is not None
    assert text.date_range == expected
