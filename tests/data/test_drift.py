"""Drift between real profiles: which differences are reported, and how severe they are."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.data import ColumnProfile, DriftReport, SampleProfile, compare_profiles, profile_sample


def rows(count: int = 400, seed: int = 1, **changes: Any) -> list[dict[str, Any]]:
    chance = random.Random(seed)  # noqa: S311 - the same table at every run
    made = [
        {
            "id": number,
            "price": round(chance.uniform(10, 20), 2),
            "status": chance.choice(["paid", "open"]),
            "at": f"2024-01-{chance.randint(1, 28):02d}",
        }
        for number in range(count)
    ]
    for row in made:
        row.update({name: change(row, chance) for name, change in changes.items()})
    return made


def profiled(folder: Path, table: list[dict[str, Any]]) -> SampleProfile:
    lines = [",".join(table[0]), *(",".join(map(str, row.values())) for row in table)]
    path = folder / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return profile_sample(path, "t")


def drift(folder: Path, new: list[dict[str, Any]]) -> DriftReport:
    return compare_profiles(profiled(folder, rows()), profiled(folder, new))


def summarise(report: DriftReport) -> list[tuple[str, str, str]]:
    return [(drift.severity, drift.kind, drift.column) for drift in report.drifts]


def test_the_same_data_have_not_drifted(tmp_path: Path) -> None:
    report = drift(tmp_path, rows())
    assert report.drifts == ()
    assert report.text == "t: 0 major and 0 minor differences"


def test_another_draw_of_the_same_data_has_not_drifted(tmp_path: Path) -> None:
    assert not drift(tmp_path, rows(seed=2)).has_drifted


CHANGES = {
    "a new category": ({"status": lambda _, chance: chance.choice(["paid", "open", "void"])}, "categories", "status"),
    "values gone": ({"price": lambda row, _: "" if row["id"] % 3 else row["price"]}, "nulls", "price"),
    "text among numbers": ({"price": lambda row, _: f"{row['price']} EUR"}, "type", "price"),
    "prices in cents": ({"price": lambda row, _: round(row["price"] * 100, 2)}, "range", "price"),
    "a sign": ({"price": lambda row, _: -row["price"]}, "range", "price"),
    "other shares": (
        {"status": lambda _, chance: "paid" if chance.random() < 0.95 else "open"},
        "distribution",
        "status",
    ),
    "a shift": ({"price": lambda _, chance: round(chance.uniform(17, 20), 2)}, "distribution", "price"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_reported_by_column_and_kind(change: str, tmp_path: Path) -> None:
    changes, kind, column = CHANGES[change]
    report = drift(tmp_path, rows(**changes))
    assert ("major", kind, column) in summarise(report)
    assert report.has_drifted
    assert f"major: {kind} '{column}'" in report.text


def test_added_removed_and_moved_columns_are_reported(tmp_path: Path) -> None:
    moved = [{"price": row["price"], "id": row["id"], "status": row["status"], "extra": 1} for row in rows()]
    assert summarise(drift(tmp_path, moved)) == [
        ("major", "column removed", "at"),
        ("minor", "column added", "extra"),
        ("minor", "order of columns", ""),
    ]


def test_a_report_is_data(tmp_path: Path) -> None:
    report = drift(tmp_path, rows(status=lambda _, chance: chance.choice(["paid", "void"])))
    assert DriftReport.model_validate_json(report.model_dump_json()) == report
    (categories,) = [drift for drift in report.drifts if drift.kind == "categories"]
    assert (categories.old, categories.new) == ("without 'open'", "with 'void'")


def column(counts: dict[str, int]) -> ColumnProfile:
    return ColumnProfile(
        name="c", arrow_type="string", null_count=0, distinct_count=len(counts), top_values=tuple(counts.items())
    )


COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 1000), min_size=1)


@given(COUNTS, COUNTS)
def test_the_stability_index_matches_its_definition(old: dict[str, int], new: dict[str, int]) -> None:
    profiles = [
        SampleProfile(
            name="t",
            file_name="t",
            format="csv",
            size_bytes=1,
            row_count=sum(counts.values()),
            columns={"c": column(counts)},
        )
        for counts in (old, new)
    ]
    shares = [
        {name: max(counts.get(name, 0) / sum(counts.values()), 1e-4) for name in {*old, *new}} for counts in (old, new)
    ]
    expected = sum(
        (shares[1][name] - shares[0][name]) * math.log(shares[1][name] / shares[0][name]) for name in shares[0]
    )
    psi = [drift.psi for drift in compare_profiles(*profiles).drifts if drift.psi is not None]
    assert psi == ([pytest.approx(expected, abs=1e-4)] if expected >= 0.1 else []) or abs(expected - 0.1) < 1e-9
