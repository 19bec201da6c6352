import argparse
import csv
import json
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

OUTPUTS = Path("/var/outputs")
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


def counts(row):
    user = row["user"].strip()
    if not user or user.lower().startswith("bot-"):
        return False
    return int(row["status"]) < 400


def read_requests(path):
    by_user = defaultdict(list)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter=";"):
            if counts(row):
                row["time"] = datetime.strptime(row["time"], TIME_FORMAT)
                by_user[row["user"].strip()].append(row)
    return by_user


def split_sessions(requests, idle):
    sessions = []
    for request in sorted(requests, key=lambda request: request["time"]):
        if not sessions or request["time"] - sessions[-1][-1]["time"] > idle:
            sessions.append([])
        sessions[-1].append(request)
    return sessions


def is_checkout(path):
    return path == "/checkout" or path.startswith("/checkout/")


def describe(user, requests):
    return {
        "user": user,
        "start": requests[0]["time"],
        "end": requests[-1]["time"],
        "requests": len(requests),
        "kib": sum(int(request["bytes"] or 0) for request in requests) / 1024,
        "bought": any(is_checkout(request["path"]) for request in requests),
    }


def find_sessions(by_user, idle):
    sessions = [
        describe(user, session) for user, requests in by_user.items() for session in split_sessions(requests, idle)
    ]
    return sorted(sessions, key=lambda session: (session["start"], session["user"]))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--visits", required=True)
    parser.add_argument("--idle_minutes", type=int, required=True)
    args = parser.parse_args(argv)
    sessions = find_sessions(read_requests(args.visits), timedelta(minutes=args.idle_minutes))
    longest = max((session["end"] - session["start"] for session in sessions), default=timedelta())
    bought = sum(session["bought"] for session in sessions)
    with open(OUTPUTS / "sessions", "w", encoding="utf-8") as file:
        for session in sessions:
            times = {key: session[key].strftime(TIME_FORMAT) for key in ("start", "end")}
            file.write(json.dumps({**session, **times}) + "\n")
    (OUTPUTS / "longest").write_text(f"{int(longest.total_seconds())}s")
    (OUTPUTS / "conversion").write_text(str(bought / len(sessions) if sessions else 0.0))


if __name__ == "__main__":
    main()
