import json
import sys
from datetime import datetime

args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
limit = int(args["--idle_minutes"]) * 60
lines = open(args["--visits"]).read().splitlines()
columns = lines[0].split(";")

requests = []
for line in lines[1:]:
    row = dict(zip(columns, line.split(";")))
    user = row["user"].strip()
    if user == "" or user.lower()[:4] == "bot-":
        continue
    if int(row["status"]) >= 400:
        continue
    second = (datetime.strptime(row["time"], "%Y-%m-%d %H:%M:%S") - datetime(1970, 1, 1)).total_seconds()
    requests.append((second, user, row["time"], row["path"], int(row["bytes"]) if row["bytes"] else 0))
requests.sort()

open_sessions = {}
sessions = []
for second, user, time, path, size in requests:
    session = open_sessions.get(user)
    if session is None or second - session["last"] > limit:
        session = {"user": user, "first": second, "start": time, "requests": 0, "bytes": 0, "bought": False}
        open_sessions[user] = session
        sessions.append(session)
    session["last"] = second
    session["end"] = time
    session["requests"] += 1
    session["bytes"] += size
    if path == "/checkout" or path[:10] == "/checkout/":
        session["bought"] = True

sessions.sort(key=lambda session: (session["first"], session["user"]))
longest = 0
bought = 0
with open("/var/outputs/sessions", "w") as out:
    for session in sessions:
        line = {key: session[key] for key in ("user", "start", "end", "requests", "bought")}
        line["kib"] = session["bytes"] / 1024
        print(json.dumps(line), file=out)
        longest = max(longest, session["last"] - session["first"])
        bought += session["bought"]
open("/var/outputs/longest", "w").write(str(int(longest)) + "s")
open("/var/outputs/conversion", "w").write(str(bought / len(sessions) if sessions else 0.0))
