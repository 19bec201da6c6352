import argparse
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def load(path):
    raw = pd.read_csv(path, dtype=str, keep_default_na=False)
    raw = raw[raw["reason"] != "Appointment declined"]
    terms = pd.DataFrame(
        {
            "name": raw["Name"],
            "province": raw["Province / Territory"].str.replace(r" \(Division\)$", "", regex=True),
            "start": pd.to_datetime(raw["start_date"].str[:10]),
            "end": pd.to_datetime(raw["end_date"].str[:10]).where(raw["reason"] != ""),
        }
    )
    terms["days"] = (terms["end"] - terms["start"]).dt.days
    return terms


def first_last(name):
    if "," not in name:
        return name
    last, first = name.rsplit(",", 1)
    return f"{first.strip()} {last.strip()}"


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--senators", required=True)
    parser.add_argument("--on", required=True)
    args = parser.parse_args(argv)
    terms = load(args.senators)

    table = terms.groupby("province", as_index=False).agg(
        terms=("name", "size"), ended=("days", "count"), mean_days=("days", "mean")
    )
    table = table.sort_values(["terms", "province"], ascending=[False, True])
    table.to_csv(OUTPUTS / "by_province", index=False)

    on = pd.Timestamp(args.on)
    is_serving = (terms["start"] <= on) & (terms["end"].isna() | (terms["end"] > on))
    (OUTPUTS / "serving").write_text(str(int(is_serving.sum())))

    ended = terms.dropna(subset=["days"]).sort_values(["days", "start"], ascending=[False, True])
    (OUTPUTS / "longest").write_text("" if ended.empty else first_last(ended["name"].iloc[0]), encoding="utf-8")


if __name__ == "__main__":
    main()
