import json
from pathlib import Path

import pytest

from solution import main

HEADER = '"name","genus","vore","order","conservation","sleep_total","sleep_rem","sleep_cycle","awake","brainwt","bodywt"'


def mammal(name="Cat", vore='"carni"', sleep=10, rem="NA", brain="NA", body="NA"):
    return f'"{name}","Genus",{vore},"Order","lc",{sleep},{rem},NA,{24 - sleep},{brain},{body}'


def run(tmp_path, *mammals, k=3):
    path = tmp_path / "mammals"
    path.write_text("\n".join([HEADER, *mammals]) + "\n")
    main(["--mammals", str(path), "--k", str(k)])
    diets = json.loads(Path("/var/outputs/diets").read_text())
    return diets, Path("/var/outputs/brainiest").read_text().strip(), Path("/var/outputs/day_sleeper").read_text()


def test_diets_by_median(tmp_path):
    diets, _, _ = run(
        tmp_path,
        mammal("a", '"carni"', 12),
        mammal("b", '"carni"', 14),
        mammal("c", '"carni"', 2),
        mammal("d", '"omni"', 16),
        mammal("e", '"omni"', 18),
        mammal("f", "NA", 3),
    )
    assert [(entry["diet"], entry["mammals"], entry["median_sleep_h"]) for entry in diets] == [
        ("omni", 2, 17),
        ("carni", 3, 12),
        ("unknown", 1, 3),
    ]


def test_equal_medians_by_name(tmp_path):
    diets, _, _ = run(tmp_path, mammal("a", '"omni"'), mammal("b", '"herbi"'), mammal("c", '"insecti"', 11))
    assert [entry["diet"] for entry in diets] == ["insecti", "herbi", "omni"]


def test_rem_is_a_ratio_of_sums(tmp_path):
    diets, _, _ = run(
        tmp_path, mammal("a", sleep=10, rem=1), mammal("b", sleep=20, rem=5), mammal("c", sleep=10), mammal("d", '"omni"')
    )
    percent = {entry["diet"]: entry["rem_percent"] for entry in diets}
    assert percent == {"carni": pytest.approx(20.0), "omni": None}


def test_brainiest(tmp_path):
    mammals = [
        mammal("half", brain=0.01, body=0.02),
        mammal("unknown body", brain=5),
        mammal("unknown brain", body=0.001),
        mammal("tenth", brain=0.2, body=2),
        mammal("quarter b", brain=0.25, body=1),
        mammal("quarter a", brain=0.5, body=2),
    ]
    assert run(tmp_path, *mammals, k=3)[1] == "half; quarter a; quarter b"
    assert run(tmp_path, *mammals, k=9)[1] == "half; quarter a; quarter b; tenth"


@pytest.mark.parametrize(
    ("herbivores", "carnivores", "expected"),
    [([5, 13], [12, 3], "true"), ([12], [12], "false"), ([5, 6], [4, 9], "false"), ([], [5], "false"), ([5], [], "false")],
)
def test_day_sleeper(tmp_path, herbivores, carnivores, expected):
    rows = [mammal(f"h{n}", '"herbi"', sleep) for n, sleep in enumerate(herbivores)]
    rows += [mammal(f"c{n}", '"carni"', sleep) for n, sleep in enumerate(carnivores)]
    assert run(tmp_path, *rows)[2].strip() == expected
