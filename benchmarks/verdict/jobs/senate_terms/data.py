"""Other terms: a few days of one year at which terms begin and end, each with its own start."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

HEADER = (
    "Name,Political Affiliation at Appointment,Province / Territory,Appointed on the advice of,"
    "Term (yyyy.mm.dd),start_date,end_date,reason,diff_days,observed"
)


def inputs(random: Random) -> dict[str, str | int]:
    """Between 3 and 18 terms; the day is often one at which a term begins or ends."""
    provinces = random.choice([["Quebec"], ["Quebec", "Quebec (Division)", "Ontario"], ["Yukon", "Ontario", "Alberta"]])
    reasons = random.choice(
        [["", "Appointment declined"], ["Death", "Retirement", ""], ["Death", "Appointment declined"]]
    )
    lines = [HEADER]
    days = []
    for number in random.sample(range(20), random.choice([3, 6, 12, 18])):
        start = date(1960, 1, 1) + timedelta(days=number)
        end = start + timedelta(days=random.choice([5, 10, 10]))
        reason = random.choice(reasons)
        shown = f"{end} 22:20:10.165196" if reason == "" else f"{end} 00:00:00"
        name = random.choice([f'"Roy, Philippe {number}"', f'"Enverga, Jr., Tobias {number}"', f"Nancy {number}"])
        lines.append(
            f"{name},None,{random.choice(provinces)},None,1960.01.01,{start} 00:00:00,{shown},{reason},"
            f"{(end - start).days},{reason != ''}"
        )
        days += [start, end]
    on = random.choice([*days, date(1960, 1, 12)])
    return {"senators": "\n".join(lines) + "\n", "on": on.isoformat()}
