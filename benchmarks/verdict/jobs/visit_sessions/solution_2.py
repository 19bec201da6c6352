import argparse
import json
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def load(path):
    visits = pd.read_csv(path, sep=";", dtype={"user": str, "path": str}, keep_default_na=False, na_values={"bytes": [""]})
    visits["user"] = visits["user"].str.strip()
    is_bot = visits["user"].str.lower().str.startswith("bot-") | (visits["user"] == "")
    visits = visits[~is_bot & (visits["status"] < 400)].copy()
    visits["time"] = pd.to_datetime(visits["time"])
    return visits.sort_values(["user", "time"], kind="stable")


def sessionise(visits, idle_minutes):
    pause = visits.groupby("user")["time"].diff()
    is_first = pause.isna() | (pause > pd.Timedelta(minutes=idle_minutes))
    visits = visits.assign(
        session=is_first.cumsum(),
        bought=visits["path"].eq("/checkout") | visits["path"].str.startswith("/checkout/"),
        bytes=visits["bytes"].fillna(0),
    )
    sessions = visits.groupby("session").agg(
        user=("user", "first"),
        start=("time", "min"),
        end=("time", "max"),
        requests=("time", "size"),
        kib=("bytes", "sum"),
        bought=("bought", "any"),
    )
    sessions["kib"] = sessions["kib"] / 1024
    return sessions.sort_values(["start", "user"])


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--visits", required=True)
    parser.add_argument("--idle_minutes", type=int, required=True)
    args = parser.parse_args(argv)
    visits = load(args.visits)
    if visits.empty:
        (OUTPUTS / "sessions").write_text("")
        (OUTPUTS / "longest").write_text("0s")
        (OUTPUTS / "conversion").write_text("0.0")
        return
    sessions = sessionise(visits, args.idle_minutes)
    with open(OUTPUTS / "sessions", "w") as file:
        for row in sessions.to_dict("records"):
            row = {**row, "start": str(row["start"]), "end": str(row["end"])}
            print(json.dumps(row, default=lambda value: value.item()), file=file)
    longest = (sessions["end"] - sessions["start"]).max().total_seconds()
    (OUTPUTS / "longest").write_text(f"{longest:.0f}s")
    (OUTPUTS / "conversion").write_text(str(float(sessions["bought"].mean())))


if __name__ == "__main__":
    main()
