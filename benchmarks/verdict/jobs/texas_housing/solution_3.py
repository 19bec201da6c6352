from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

OUTPUTS = Path("/var/outputs")


def read(path: Path, year: int) -> pl.DataFrame:
    kinds = {"year": pl.Int64, "month": pl.Int64, "sales": pl.Float64, "volume": pl.Float64, "listings": pl.Float64}
    columns = ["city", *kinds]
    frame = pl.read_csv(path, columns=columns, schema_overrides=kinds, null_values=["NA", ""])
    return frame.filter(pl.col("year") == year)


def prices(housing: pl.DataFrame, n: int) -> pl.DataFrame:
    sold = housing.drop_nulls(["sales", "volume"]).with_columns(quarter=(pl.col("month") - 1) // 3 + 1)
    best = (
        sold.group_by("city", "quarter")
        .agg(pl.col("sales").sum())
        .sort(["sales", "quarter"], descending=[True, False])
        .group_by("city", maintain_order=True)
        .agg(best_quarter=pl.format("Q{}", pl.col("quarter").first()))
    )
    return (
        sold.group_by("city")
        .agg(pl.col("sales").sum().cast(pl.Int64), pl.col("volume").sum())
        .filter(pl.col("sales") > 0)
        .with_columns(average_price=pl.col("volume") / pl.col("sales"))
        .with_columns(rank=pl.col("average_price").rank("min", descending=True))
        .join(best, on="city")
        .sort("rank", "city")
        .select("rank", "city", "sales", "average_price", "best_quarter")
        .head(n)
    )


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--housing", type=Path, required=True)
    parser.add_argument("--year", type=int, required=True)
    parser.add_argument("--n", type=int, required=True)
    options = parser.parse_args(argv)
    housing = read(options.housing, options.year)
    prices(housing, options.n).write_csv(OUTPUTS / "prices")
    known = housing["listings"].drop_nulls().len()
    (OUTPUTS / "coverage").write_text(str(known / housing.height if housing.height else 0.0))


if __name__ == "__main__":
    main()
