import argparse
import json
from pathlib import Path
from statistics import fmean, median

OUTPUTS = Path("/var/outputs")
LITRES_PER_100_KM = 235.214583
KW_PER_HORSEPOWER = 0.7457
TONNES_PER_POUND = 0.00045359237


def is_usable(car):
    return car["Miles_per_Gallon"] is not None and car["Horsepower"] is not None


def consumption(car):
    return LITRES_PER_100_KM / car["Miles_per_Gallon"]


def power_to_weight(car):
    return car["Horsepower"] * KW_PER_HORSEPOWER / (car["Weight_in_lbs"] * TONNES_PER_POUND)


def year_of(car):
    return int(car["Year"][:4])


def summarise(cars):
    summary = []
    for origin in sorted({car["Origin"] for car in cars}):
        own = [car for car in cars if car["Origin"] == origin]
        summary.append(
            {
                "origin": origin,
                "cars": len(own),
                "median_l_per_100km": median(consumption(car) for car in own),
                "mean_kw_per_tonne": fmean(power_to_weight(car) for car in own),
            }
        )
    return summary


def thriftiest(cars, year_from):
    recent = [car for car in cars if year_of(car) >= year_from]
    if not recent:
        return "none"
    best = min(recent, key=lambda car: (-car["Miles_per_Gallon"], -year_of(car), car["Name"]))
    return best["Name"]


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--cars", required=True)
    parser.add_argument("--year_from", type=int, required=True)
    arguments = parser.parse_args(argv)
    cars = json.loads(Path(arguments.cars).read_text(encoding="utf-8"))
    usable = [car for car in cars if is_usable(car)]
    with open(OUTPUTS / "by_origin", "w", encoding="utf-8") as file:
        for entry in summarise(usable):
            file.write(json.dumps(entry) + "\n")
    (OUTPUTS / "unusable").write_text(str(len(cars) - len(usable)))
    (OUTPUTS / "thriftiest").write_text(thriftiest(usable, arguments.year_from), encoding="utf-8")


if __name__ == "__main__":
    main()
