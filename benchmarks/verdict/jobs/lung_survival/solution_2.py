import argparse
import json
from pathlib import Path

import pandas as pd

OUTPUTS = Path("/var/outputs")


def kaplan_meier(frame: pd.DataFrame) -> pd.Series:
    by_time = frame.groupby("time")["status"].agg(["sum", "size"]).sort_index()
    at_risk = by_time["size"][::-1].cumsum()[::-1]
    return (1 - by_time["sum"] / at_risk).cumprod()


def median(frame: pd.DataFrame) -> float | None:
    survival = kaplan_meier(frame).round(12)
    reached = survival[survival <= 0.5]
    return None if reached.empty else float(reached.index[0])


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--patients", required=True)
    parser.add_argument("--days", type=int, required=True)
    args = parser.parse_args(argv)
    patients = pd.read_csv(args.patients).dropna(subset=["time", "status"])
    medians = {name: median(patients[patients["sex"] == code]) for name, code in (("male", 1), ("female", 2))}
    (OUTPUTS / "median_days").write_text(json.dumps(medians))
    survival = kaplan_meier(patients)
    until = survival[survival.index <= args.days]
    (OUTPUTS / "survival_at").write_text(str(float(until.iloc[-1]) if len(until) else 1.0))
    poor = patients[patients["ph.ecog"] >= 2]
    (OUTPUTS / "poor_score_deaths").write_text(str(int((poor["status"] == 1).sum())))


if __name__ == "__main__":
    main()
