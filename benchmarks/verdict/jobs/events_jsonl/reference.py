import json
import sys

lines = [line for line in open(sys.argv[2]).read().split("\n") if line.strip() != ""]
events = []
for line in lines:
    try:
        event = json.loads(line)
    except ValueError:
        continue
    if type(event) is dict and event.get("user") is not None:
        events.append(event)

names = sorted(set(event["user"] for event in events))
users = {}
best = ""
for name in names:
    own = [event for event in events if event["user"] == name]
    pages = []
    spent = 0
    converted = False
    for event in own:
        if event["page"] not in pages:
            pages.append(event["page"])
        if event["type"] == "buy":
            spent += event["amount"]
            for other in own:
                if other["type"] == "click" and other["at"] < event["at"]:
                    converted = True
    pages.sort()
    times = sorted(event["at"] for event in own)
    minutes = (times[-1] - times[0]) / 60
    users[name] = {"events": len(own), "pages": pages, "minutes": minutes, "spent": spent, "converted": converted}
    if best == "" or len(own) > users[best]["events"]:
        best = name

open("/var/outputs/users", "w").write(json.dumps(users))
open("/var/outputs/skipped", "w").write(str(len(lines) - len(events)))
open("/var/outputs/busiest", "w").write(best)
