"""Other bills: few different values, so that sizes at the border, equal means and missing tips occur."""

from __future__ import annotations

from random import Random


def inputs(random: Random) -> dict[str, str | int]:
    """Between 0 and 40 bills, and the least size."""
    lines = ['"","total_bill","tip","sex","smoker","day","time","size"']
    for number in range(random.choice([0, 3, 12, 40])):
        bill = random.randint(500, 4000) / 100
        tip = random.choice(["", "1", "2", "2.5", "3"])
        day = random.choice(["Thur", "Fri", "Sat", "Sun"])
        time = random.choice(["Lunch", "Dinner"])
        lines.append(f'"{number + 1}",{bill},{tip},"Male","No","{day}","{time}",{random.randint(1, 5)}')
    return {"bills": "\n".join(lines) + "\n", "min_size": random.randint(1, 3)}
