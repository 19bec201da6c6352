"""Other mammals: much is unknown, some are equal."""

from __future__ import annotations

from random import Random


def inputs(random: Random) -> dict[str, str]:
    """Between 2 and 30 animals; the first is known in full."""
    lines = [
        '"","name","genus","vore","order","conservation","sleep_total","sleep_rem","sleep_cycle","awake","brainwt","bodywt"',
        '"1","Vole","Microtus","herbi","Rodentia","lc",12.5,2.5,NA,11.5,0.001,0.2',
    ]
    for number in range(2, random.choice([3, 6, 12, 31])):
        vore = random.choice(['"carni"', '"herbi"', '"omni"', "NA"])
        total = random.choice([4, 7.5, 10, 12.5, 16])
        rem = random.choice(["NA", 1, 2, 2.5])
        body = random.choice([0.2, 0.5, 2, 50])
        brain = random.choice(["NA", "NA", round(body / 200, 5), round(body / 100, 5)])
        lines.append(f'"{number}","Animal {number}","Genus",{vore},"Order","lc",{total},{rem},NA,{24 - total},{brain},{body}')
    return {"mammals": "\n".join(lines) + "\n"}
