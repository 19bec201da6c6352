import argparse
import json
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def read_prices(path):
    prices = pd.read_csv(path, parse_dates=["date"], date_format="%b %d %Y")
    prices = prices.dropna(subset=["price"])
    return prices.sort_values(["symbol", "date"])


def closing(prices):
    by_year = prices.groupby([prices["date"].dt.year.rename("year"), "symbol"])["price"].last()
    return by_year.unstack("symbol").sort_index()


def returns(prices):
    grouped = prices.groupby("symbol")["price"]
    first, last = grouped.first(), grouped.last()
    return ((last / first - 1) * 100).round(2)


def winner(changes):
    best = changes[changes == changes.max()]
    return min(best.index)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--stocks", required=True)
    args = parser.parse_args(argv)
    prices = read_prices(args.stocks)
    changes = returns(prices)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    closing(prices).to_csv(OUTPUTS / "closing", float_format="%.2f")
    (OUTPUTS / "returns").write_text(json.dumps(changes.to_dict()))
    (OUTPUTS / "winner").write_text(winner(changes))


if __name__ == "__main__":
    main()
