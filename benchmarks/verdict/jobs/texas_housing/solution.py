import argparse
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")
COLUMNS = ["rank", "city", "sales", "average_price", "best_quarter"]


def of_year(path, year):
    housing = pd.read_csv(path)
    return housing[housing["year"] == year]


def best_quarters(sold):
    quarter = (sold["month"] - 1) // 3 + 1
    totals = sold.groupby(["city", quarter.rename("quarter")], as_index=False)["sales"].sum()
    totals = totals.sort_values(["sales", "quarter"], ascending=[False, True])
    best = totals.drop_duplicates("city").set_index("city")["quarter"]
    return "Q" + best.astype(str)


def prices(housing, n):
    sold = housing.dropna(subset=["sales", "volume"])
    table = sold.groupby("city", as_index=False)[["sales", "volume"]].sum()
    table = table[table["sales"] > 0]
    if table.empty:
        return pd.DataFrame(columns=COLUMNS)
    table["average_price"] = table["volume"] / table["sales"]
    table["rank"] = table["average_price"].rank(method="min", ascending=False).astype(int)
    table["best_quarter"] = table["city"].map(best_quarters(sold))
    table["sales"] = table["sales"].astype(int)
    return table.sort_values(["rank", "city"])[COLUMNS].head(n)


def coverage(housing):
    if len(housing) == 0:
        return 0.0
    return float(housing["listings"].notna().mean())


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--housing", required=True)
    parser.add_argument("--year", type=int, required=True)
    parser.add_argument("--n", type=int, required=True)
    args = parser.parse_args(argv)
    housing = of_year(args.housing, args.year)
    prices(housing, args.n).to_csv(OUTPUTS / "prices", index=False)
    (OUTPUTS / "coverage").write_text(str(coverage(housing)))


if __name__ == "__main__":
    main()
