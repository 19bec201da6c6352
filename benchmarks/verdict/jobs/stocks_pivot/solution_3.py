import argparse
import json

import pandas as pd


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--stocks", required=True)
    args = parser.parse_args(argv)

    df = pd.read_csv(args.stocks)
    df = df[df["price"].notna()].copy()
    df["date"] = pd.to_datetime(df["date"], format="%b %d %Y")
    df["year"] = df["date"].dt.year
    df = df.sort_values("date")

    last_of_year = df.drop_duplicates(["symbol", "year"], keep="last")
    wide = last_of_year.pivot(index="year", columns="symbol", values="price")
    wide = wide.sort_index(axis=0).sort_index(axis=1)
    wide.to_csv("/var/outputs/closing", float_format="%.2f")

    returns = {}
    for symbol, prices in df.groupby("symbol")["price"]:
        returns[symbol] = round(float(100 * (prices.iloc[-1] - prices.iloc[0]) / prices.iloc[0]), 2)
    with open("/var/outputs/returns", "w") as f:
        json.dump(returns, f)
    with open("/var/outputs/winner", "w") as f:
        f.write(sorted(returns.items(), key=lambda item: (-item[1], item[0]))[0][0])


if __name__ == "__main__":
    main()
