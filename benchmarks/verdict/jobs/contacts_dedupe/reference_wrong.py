import csv
import json
import sys

rows = []
for row in csv.DictReader(open(sys.argv[2], newline="")):
    name = row["name"].strip()
    while "  " in name:
        name = name.replace("  ", " ")
    phone = ""
    for letter in row["phone"]:
        if letter in "0123456789":
            phone += letter
    if phone.startswith("00"):
        phone = phone[2:]
    email = row["email"].strip().lower()
    if email != "":
        rows.append((email, name, phone, row["updated"]))

emails = sorted({row[0] for row in rows})
domains = {}
with open("/var/outputs/clean", "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["email", "name", "phone", "updated"])
    for email in emails:
        same = [row for row in rows if row[0] == email]
        last = max(row[3] for row in same)
        writer.writerow([row for row in same if row[3] == last][-1])
        domain = email.split("@")[1]
        domains[domain] = domains.get(domain, 0) + 1
open("/var/outputs/duplicates", "w").write(str(len(rows) - len(emails)))
open("/var/outputs/domains", "w").write(json.dumps(domains))
