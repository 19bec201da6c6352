from __future__ import annotations

import argparse
import csv
import json
from datetime import datetime
from pathlib import Path


def load(path: Path) -> dict[str, list[tuple[datetime, float]]]:
    series: dict[str, list[tuple[datetime, float]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["price"].strip():
                when = datetime.strptime(row["date"].strip(), "%b %d %Y")
                series.setdefault(row["symbol"], []).append((when, float(row["price"])))
    return {symbol: sorted(series[symbol]) for symbol in sorted(series)}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stocks", type=Path, required=True)
    series = load(parser.parse_args(argv).stocks)

    cells: dict[int, dict[str, float]] = {}
    for symbol, prices in series.items():
        for when, price in prices:
            cells.setdefault(when.year, {})[symbol] = price

    out = Path("/var/outputs")
    with (out / "closing").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["year", *series])
        for year in sorted(cells):
            row = cells[year]
            writer.writerow([year, *(f"{row[symbol]:.2f}" if symbol in row else "" for symbol in series)])

    returns = {symbol: round((prices[-1][1] / prices[0][1] - 1) * 100, 2) for symbol, prices in series.items()}
    (out / "returns").write_text(json.dumps(returns, indent=2))
    (out / "winner").write_text(max(returns, key=lambda symbol: returns[symbol]))


if __name__ == "__main__":
    main()
