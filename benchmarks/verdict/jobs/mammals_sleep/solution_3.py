import argparse
import csv
from statistics import median


def known(row, column):
    return row[column] not in ("", "NA")


def output(name, text):
    with open("/var/outputs/" + name, "w", newline="") as f:
        f.write(text)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mammals", required=True)
    with open(parser.parse_args(argv).mammals, newline="") as f:
        mammals = list(csv.DictReader(f))

    dreaming = [m for m in mammals if known(m, "sleep_rem")]
    shares = sum(float(m["sleep_rem"]) / float(m["sleep_total"]) for m in dreaming)
    output("rem_share", str(round(shares / len(dreaming) * 100, 2) if dreaming else 0.0))

    groups = {}
    for m in mammals:
        groups.setdefault(m["vore"] if known(m, "vore") else "none", []).append(m)
    lines = []
    for vore, members in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        middle = median(float(m["sleep_total"]) for m in members)
        lines.append(f"{vore},{len(members)},{middle},{sum(known(m, 'sleep_rem') for m in members)}")
    output("by_vore", "\n".join(["vore,animals,median_sleep,with_rem", *lines]) + "\n")

    brains = [m for m in mammals if known(m, "brainwt")]
    brains.sort(key=lambda m: float(m["brainwt"]) / float(m["bodywt"]), reverse=True)
    output("smartest", brains[0]["name"] if brains else "")
    output("unknown_brains", str(len(mammals) - len(brains)))


if __name__ == "__main__":
    main()
