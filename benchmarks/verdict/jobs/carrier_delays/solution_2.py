import argparse
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def carrier_table(flights: pd.DataFrame, airlines: pd.DataFrame, min_flights: int) -> pd.DataFrame:
    flights = flights.assign(
        is_cancelled=flights["dep_time"].isna(),
        is_late=(flights["arr_delay"] >= 15).astype(float).where(flights["arr_delay"].notna()),
    )
    table = flights.groupby("carrier", as_index=False).agg(
        flights=("carrier", "size"),
        cancelled=("is_cancelled", "sum"),
        mean_delay=("arr_delay", "mean"),
        late_share=("is_late", "mean"),
    )
    table = table[table["flights"] >= min_flights]
    table = table.merge(airlines.drop_duplicates("carrier"), on="carrier", how="left")
    table["name"] = table["name"].fillna(table["carrier"])
    return table.sort_values("name")[["name", "flights", "cancelled", "mean_delay", "late_share"]]


def most_punctual(table: pd.DataFrame) -> str:
    arrived = table.dropna(subset=["late_share"]).sort_values(["late_share", "name"])
    return "" if arrived.empty else str(arrived.iloc[0]["name"])


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--flights", required=True)
    parser.add_argument("--airlines", required=True)
    parser.add_argument("--min_flights", type=int, required=True)
    args = parser.parse_args(argv)
    kinds = {"carrier": str, "dep_time": float, "arr_delay": float}
    flights = pd.read_csv(args.flights, usecols=list(kinds), dtype=kinds)
    airlines = pd.read_csv(args.airlines, dtype=str, keep_default_na=False)
    table = carrier_table(flights, airlines, args.min_flights)
    table.to_csv(OUTPUTS / "delays", index=False)
    (OUTPUTS / "hours_lost").write_text(str(flights["arr_delay"].clip(lower=0).sum() / 60))
    (OUTPUTS / "punctual").write_text(most_punctual(table))


if __name__ == "__main__":
    main()
