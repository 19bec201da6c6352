"""Other flights: few carriers, some unknown to the airlines, delays at the border of 15 minutes."""

from __future__ import annotations

from random import Random

HEADER = (
    "year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,"
    "dest,air_time,distance,hour,minute,time_hour"
)
AIRLINES = {"AA": "American Airlines Inc.", "UA": "United Air Lines Inc.", "9E": "Endeavor Air Inc.", "DL": "Delta"}


def inputs(random: Random) -> dict[str, str | int]:
    """Between 1 and 30 flights of up to six carriers, of which two to four are known."""
    carriers = random.sample(["AA", "UA", "9E", "DL", "ZZ", "B6"], random.randint(2, 6))
    grounded = random.choice([*carriers, ""])
    delays = random.choice([[-20, 0, 14], [-3, 15, 16, 95], [-20, 0, 14, 15]])
    lines = [HEADER]
    for number in range(random.choice([1, 6, 12, 30])):
        carrier = random.choice(carriers)
        fate = "cancelled" if carrier == grounded else random.choice(["arrived"] * 8 + ["cancelled", "diverted"])
        departed = "NA" if fate == "cancelled" else "615"
        delay = str(random.choice(delays)) if fate == "arrived" else "NA"
        lines.append(
            f"2013,1,{number % 28 + 1},{departed},600,,,800,{delay},{carrier},{number},N1,JFK,MIA,150,1089,6,0,"
            f"2013-01-{number % 28 + 1:02}T11:00:00Z"
        )
    known = random.sample(sorted(AIRLINES), random.randint(2, 4))
    names = ["carrier,name", *(f"{code},{AIRLINES[code]}" for code in known)]
    return {
        "flights": "\n".join(lines) + "\n",
        "airlines": "\n".join(names) + "\n",
        "min_flights": random.choice([1, 1, 2, 4]),
    }
