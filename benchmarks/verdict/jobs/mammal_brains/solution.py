import argparse
import csv
import json
from pathlib import Path
from statistics import median

OUTPUTS = Path("/var/outputs")


def known(text):
    return text not in ("", "NA")


def read_mammals(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rem_percent(rows):
    dreaming = [row for row in rows if known(row["sleep_rem"])]
    if not dreaming:
        return None
    total = sum(float(row["sleep_total"]) for row in dreaming)
    return 100 * sum(float(row["sleep_rem"]) for row in dreaming) / total


def diets(rows):
    groups = {}
    for row in rows:
        diet = row["vore"] if known(row["vore"]) else "unknown"
        groups.setdefault(diet, []).append(row)
    result = [
        {
            "diet": diet,
            "mammals": len(own),
            "median_sleep_h": median(float(row["sleep_total"]) for row in own),
            "rem_percent": rem_percent(own),
        }
        for diet, own in groups.items()
    ]
    return sorted(result, key=lambda entry: (-entry["median_sleep_h"], entry["diet"]))


def brainiest(rows, k):
    ratios = []
    for row in rows:
        if known(row["brainwt"]) and known(row["bodywt"]):
            ratios.append((-float(row["brainwt"]) / float(row["bodywt"]), row["name"]))
    return "; ".join(name for _, name in sorted(ratios)[:k])


def day_sleeper(rows):
    herbivores = [float(row["sleep_total"]) for row in rows if row["vore"] == "herbi"]
    carnivores = [float(row["sleep_total"]) for row in rows if row["vore"] == "carni"]
    if not herbivores or not carnivores:
        return False
    return max(herbivores) > max(carnivores)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mammals", required=True)
    parser.add_argument("--k", type=int, required=True)
    args = parser.parse_args(argv)
    rows = read_mammals(args.mammals)
    (OUTPUTS / "diets").write_text(json.dumps(diets(rows), indent=2), encoding="utf-8")
    (OUTPUTS / "brainiest").write_text(brainiest(rows, args.k), encoding="utf-8")
    (OUTPUTS / "day_sleeper").write_text("true" if day_sleeper(rows) else "false")


if __name__ == "__main__":
    main()
