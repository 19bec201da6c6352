import argparse
import csv
from pathlib import Path
from statistics import median


def load(path, cut):
    with open(path, newline="", encoding="utf-8") as f:
        return [row for row in csv.DictReader(f) if row["cut"] == cut]


def pick_top(rows, top):
    ranked = sorted(rows, key=lambda r: (-int(r["price"]), float(r["carat"])))
    picked = ranked[:top]
    for row in ranked[top:]:
        if int(row["price"]) != int(picked[-1]["price"]):
            break
        picked.append(row)
    return picked


def dearest_color(rows):
    prices = {}
    for row in rows:
        prices.setdefault(row["color"], []).append(int(row["price"]))
    best = ""
    best_median = None
    for color in sorted(prices):
        value = median(prices[color])
        if best_median is None or value > best_median:
            best, best_median = color, value
    return best


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--stones")
    parser.add_argument("--cut")
    parser.add_argument("--top", type=int)
    ns = parser.parse_args(argv)
    rows = load(ns.stones, ns.cut)
    out = Path("/var/outputs")
    with (out / "top_stones").open("w", newline="") as f:
        writer = csv.DictWriter(f, ["carat", "color", "clarity", "price"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(pick_top(rows, ns.top))
    (out / "n").write_text(f"{len(rows)}\n")
    (out / "best_color").write_text(dearest_color(rows))


if __name__ == "__main__":
    main()
