import argparse
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def compute(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.assign(year=frame["year"].str[:4].astype(int), net_generation=frame["net_generation"].fillna(0.0))
    wide = frame.pivot_table(index="year", columns="source", values="net_generation", aggfunc="sum", fill_value=0.0)
    wide = wide.reindex(columns=wide.columns.union(["Renewables"]), fill_value=0.0)
    total = wide.sum(axis=1)
    table = pd.DataFrame({"total_twh": total / 1000, "renewable_share": wide["Renewables"] / total})
    table = table[total > 0].sort_index()
    before = table["renewable_share"].reindex(table.index - 1)
    table["change"] = table["renewable_share"].to_numpy() - before.to_numpy()
    return table.reset_index()


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--generation", required=True)
    parser.add_argument("--threshold", type=float, required=True)
    args = parser.parse_args(argv)
    table = compute(pd.read_csv(args.generation, dtype={"net_generation": float}))
    table.to_csv(OUTPUTS / "shares", index=False)
    reached = table.loc[table["renewable_share"] >= args.threshold, "year"]
    (OUTPUTS / "first_year").write_text(str(0 if reached.empty else int(reached.min())))


if __name__ == "__main__":
    main()
