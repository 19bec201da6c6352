"""Other mammals: few hours and weights, so that medians and ratios are equal; whole groups may be missing."""

from __future__ import annotations

from random import Random

HEADER = (
    '"name","genus","vore","order","conservation","sleep_total","sleep_rem","sleep_cycle","awake","brainwt","bodywt"'
)


def inputs(random: Random) -> dict[str, str | int]:
    """Between 1 and 24 mammals; names are unique."""
    vores = random.choice(
        [["carni", "herbi"], ["omni", "carni", "herbi", "NA"], ["herbi"], ["insecti", "omni", "carni"]]
    )
    hours = random.choice([["8.5", "10"], ["10"], ["3", "8.5", "10", "14"]])
    names = random.sample([f"{kind} {beast}" for kind in ("Lesser", "Giant", "Grey") for beast in "ABCDEFGH"], 24)
    lines = [HEADER]
    for name in names[: random.choice([1, 6, 12, 24])]:
        vore = random.choice(vores)
        shown = "NA" if vore == "NA" else f'"{vore}"'
        rem = random.choice(["NA", "1", "1.5", "2.5"])
        brain = random.choice(["NA", "0.01", "0.02", "0.04"])
        body = random.choice(["NA", "1", "2", "2", "4"])
        total = random.choice(hours)
        lines.append(f'"{name}","Genus",{shown},"Order",NA,{total},{rem},NA,{24 - float(total)},{brain},{body}')
    return {"mammals": "\n".join(lines) + "\n", "k": random.choice([1, 2, 3, 30])}
