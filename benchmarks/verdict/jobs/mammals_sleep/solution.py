import argparse
import csv
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

OUTPUTS = Path("/var/outputs")


def number(text):
    return None if text.strip() in ("", "NA") else float(text)


def read_mammals(path):
    mammals = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            vore = row["vore"].strip()
            mammals.append(
                {
                    "name": row["name"],
                    "vore": "none" if vore in ("", "NA") else vore,
                    "total": float(row["sleep_total"]),
                    "rem": number(row["sleep_rem"]),
                    "brain": number(row["brainwt"]),
                    "body": number(row["bodywt"]),
                }
            )
    return mammals


def rem_share(mammals):
    shares = [animal["rem"] / animal["total"] for animal in mammals if animal["rem"] is not None]
    return round(100 * mean(shares), 2) if shares else 0.0


def by_vore(mammals):
    groups = defaultdict(list)
    for animal in mammals:
        groups[animal["vore"]].append(animal)
    rows = []
    for vore, animals in groups.items():
        sleep = median(animal["total"] for animal in animals)
        with_rem = sum(animal["rem"] is not None for animal in animals)
        rows.append((vore, len(animals), sleep, with_rem))
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def smartest(mammals):
    known = [animal for animal in mammals if animal["brain"] is not None]
    return max(known, key=lambda animal: animal["brain"] / animal["body"])["name"] if known else ""


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mammals", required=True)
    args = parser.parse_args(argv)
    mammals = read_mammals(args.mammals)
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    (OUTPUTS / "rem_share").write_text(str(rem_share(mammals)))
    with open(OUTPUTS / "by_vore", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["vore", "animals", "median_sleep", "with_rem"])
        writer.writerows(by_vore(mammals))
    (OUTPUTS / "smartest").write_text(smartest(mammals), encoding="utf-8")
    (OUTPUTS / "unknown_brains").write_text(str(sum(animal["brain"] is None for animal in mammals)))


if __name__ == "__main__":
    main()
