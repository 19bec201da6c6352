"""The file that is profiled: 8 million orders in 8 columns, 664 MB of CSV, and the same as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

ROWS = 8_000_000
_CHUNK_ROWS = 500_000
_SEED = 7
_NULL_SHARE = 0.1
_COLOURS = ("Blue", "Red", "Green", "Black", "White", "Small", "Large", "Round")
_THINGS = ("kettle", "chair", "table", "lamp", "shelf", "mirror", "carpet", "basket", "candle", "frame")
_PRODUCTS = pa.array([f"{colour} {thing} new" for colour in _COLOURS for thing in _THINGS])
_REGIONS = pa.array(["north", "south", "east", "west", "central"])


def make_orders(folder: Path, rows: int = ROWS) -> tuple[Path, Path]:
    """The CSV and the Parquet file in the folder, made if they are not there: the same bytes everywhere."""
    csv, parquet = folder / f"orders-{rows}.csv", folder / f"orders-{rows}.parquet"
    if not (csv.exists() and parquet.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        parts = [path.with_suffix(path.suffix + ".part") for path in (csv, parquet)]
        _write(parts[0], parts[1], rows)
        for part, path in zip(parts, (csv, parquet), strict=True):
            part.rename(path)
    return csv, parquet


def _write(csv: Path, parquet: Path, rows: int) -> None:
    chunks = _chunks(rows)
    first = next(chunks)
    with pa_csv.CSVWriter(csv, first.schema) as to_csv, pq.ParquetWriter(parquet, first.schema) as to_parquet:
        for chunk in (first, *chunks):
            to_csv.write_table(chunk)
            to_parquet.write_table(chunk)


def _chunks(rows: int) -> Iterator[pa.Table]:
    random = np.random.default_rng(_SEED)
    for start in range(0, rows, _CHUNK_ROWS):
        yield _chunk(random, np.arange(start, min(start + _CHUNK_ROWS, rows)))


def _chunk(random: np.random.Generator, number: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Table:
    count = len(number)
    customers = np.char.add("CU-00", random.integers(100_000, 400_000, count).astype(str))
    return pa.table(
        {
            "order_id": number,
            "ordered_at": pa.array((1_600_000_000 + number * 7 + random.integers(0, 7, count)).astype("datetime64[s]")),
            "customer": pa.array(customers),
            "region": _REGIONS.take(pa.array(random.integers(0, len(_REGIONS), count))),
            "product": _PRODUCTS.take(pa.array(random.integers(0, len(_PRODUCTS), count))),
            "quantity": random.integers(1, 40, count),
            "price": np.round(random.gamma(2, 40, count), 2),
            "discount": pa.array(np.round(random.random(count) / 3, 4), mask=random.random(count) < _NULL_SHARE),
        }
    )
