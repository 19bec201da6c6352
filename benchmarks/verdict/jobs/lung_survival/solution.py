import argparse
import csv
import json
from pathlib import Path

OUTPUTS = Path("/var/outputs")
SEXES = {"male": 1, "female": 2}


def number(text):
    return float(text) if text and text.strip() else None


def read_patients(path):
    patients = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            time, status = number(row["time"]), number(row["status"])
            if time is None or status is None:
                continue
            patients.append(
                {"time": time, "died": status == 1, "sex": number(row["sex"]), "score": number(row["ph.ecog"])}
            )
    return patients


def survival_curve(patients):
    """(time, S) after each time with deaths."""
    curve = []
    survival = 1.0
    for time in sorted({patient["time"] for patient in patients if patient["died"]}):
        at_risk = sum(1 for patient in patients if patient["time"] >= time)
        deaths = sum(1 for patient in patients if patient["time"] == time and patient["died"])
        survival *= 1 - deaths / at_risk
        curve.append((time, survival))
    return curve


def median_time(patients):
    for time, survival in survival_curve(patients):
        if survival <= 0.5 + 1e-12:
            return time
    return None


def survival_at(patients, days):
    survival = 1.0
    for time, value in survival_curve(patients):
        if time > days:
            break
        survival = value
    return survival


def poor_score_deaths(patients):
    return sum(1 for patient in patients if patient["score"] is not None and patient["score"] >= 2 and patient["died"])


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--patients", required=True)
    parser.add_argument("--days", type=int, required=True)
    args = parser.parse_args(argv)
    patients = read_patients(args.patients)
    medians = {name: median_time([p for p in patients if p["sex"] == code]) for name, code in SEXES.items()}
    (OUTPUTS / "median_days").write_text(json.dumps(medians))
    (OUTPUTS / "survival_at").write_text(repr(survival_at(patients, args.days)))
    (OUTPUTS / "poor_score_deaths").write_text(str(poor_score_deaths(patients)))


if __name__ == "__main__":
    main()
