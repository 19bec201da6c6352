from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path


@dataclass
class Sensor:
    name: str
    times: list[datetime] = field(default_factory=list)
    hours: dict[datetime, list[float]] = field(default_factory=dict)
    highest: float = float("-inf")

    def add(self, time: datetime, text: str) -> None:
        self.times.append(time)
        if not text:
            return
        value = float(text)
        self.hours.setdefault(time.replace(minute=0, second=0, microsecond=0), []).append(value)
        self.highest = max(self.highest, value)

    def gaps(self) -> Iterable[float]:
        ordered = sorted(self.times)
        for i in range(1, len(ordered)):
            yield (ordered[i] - ordered[i - 1]).total_seconds() / 60


def collect(path: Path) -> list[Sensor]:
    sensors: dict[str, Sensor] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            sensor = sensors.setdefault(row["sensor"], Sensor(row["sensor"]))
            sensor.add(datetime.fromisoformat(row["time"]), row["celsius"].strip())
    return [sensors[name] for name in sorted(sensors)]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--readings", type=Path, required=True)
    parser.add_argument("--min_readings", type=int, required=True)
    args = parser.parse_args(argv)
    sensors = collect(args.readings)
    out = Path("/var/outputs")
    with (out / "hourly").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("sensor", "hour", "readings", "fahrenheit"))
        for sensor in sensors:
            for hour in sorted(sensor.hours):
                values = sensor.hours[hour]
                if len(values) < args.min_readings:
                    continue
                mean = sum(values) / len(values)
                writer.writerow((sensor.name, hour.strftime("%Y-%m-%dT%H:00:00"), len(values), 32 + 1.8 * mean))
    gaps = [gap for sensor in sensors for gap in sensor.gaps()]
    (out / "longest_gap").write_text(str(int(max(gaps))) if gaps else "0")
    best = max((sensor.highest for sensor in sensors), default=None)
    names = [sensor.name for sensor in sensors if sensor.highest == best]
    (out / "warmest").write_text(names[0] if names else "")


if __name__ == "__main__":
    main()
