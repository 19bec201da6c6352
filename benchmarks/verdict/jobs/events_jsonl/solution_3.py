import argparse
import json
from itertools import groupby


def load(path):
    good, bad = [], 0
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if line:
            try:
                event = json.loads(line)
                assert event["user"] is not None
                good.append(event)
            except Exception:
                bad += 1
    return good, bad


def profile(events):
    events = sorted(events, key=lambda e: e["at"])
    first_click = next((e["at"] for e in events if e["type"] == "click"), None)
    buys = [e for e in events if e["type"] == "buy"]
    return dict(
        events=len(events),
        pages=sorted(set(e["page"] for e in events)),
        minutes=(events[-1]["at"] - events[0]["at"]) / 60,
        spent=sum(e["amount"] for e in buys),
        converted=first_click is not None and any(e["at"] > first_click for e in buys),
    )


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--events")
    args = parser.parse_args(argv)
    events, skipped = load(args.events)
    events.sort(key=lambda e: e["user"])
    users = {user: profile(list(own)) for user, own in groupby(events, key=lambda e: e["user"])}
    busiest = sorted(users, key=lambda u: users[u]["events"], reverse=True)[:1]
    with open("/var/outputs/users", "w") as f:
        json.dump(users, f)
    with open("/var/outputs/skipped", "w") as f:
        f.write(str(skipped))
    with open("/var/outputs/busiest", "w") as f:
        f.write("".join(busiest))


if __name__ == "__main__":
    main()
