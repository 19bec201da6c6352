import argparse
import json
from collections import defaultdict
from pathlib import Path

OUTPUTS = Path("/var/outputs")


def read_events(path):
    events = []
    skipped = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.strip():
                continue
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                skipped += 1
                continue
            if not isinstance(event, dict) or not event.get("user"):
                skipped += 1
                continue
            events.append(event)
    return events, skipped


def has_converted(events):
    clicks = [event["at"] for event in events if event["type"] == "click"]
    buys = [event["at"] for event in events if event["type"] == "buy"]
    return bool(clicks and buys) and max(buys) > min(clicks)


def describe(events):
    times = [event["at"] for event in events]
    return {
        "events": len(events),
        "pages": sorted({event["page"] for event in events}),
        "minutes": (max(times) - min(times)) / 60,
        "spent": round(sum(event["amount"] for event in events if event["type"] == "buy"), 2),
        "converted": has_converted(events),
    }


def busiest(users):
    if not users:
        return ""
    return min(users, key=lambda user: (-users[user]["events"], user))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", required=True)
    args = parser.parse_args(argv)
    events, skipped = read_events(args.events)
    by_user = defaultdict(list)
    for event in events:
        by_user[event["user"]].append(event)
    users = {user: describe(own) for user, own in by_user.items()}
    OUTPUTS.mkdir(parents=True, exist_ok=True)
    (OUTPUTS / "users").write_text(json.dumps(users, indent=2), encoding="utf-8")
    (OUTPUTS / "skipped").write_text(str(skipped))
    (OUTPUTS / "busiest").write_text(busiest(users), encoding="utf-8")


if __name__ == "__main__":
    main()
