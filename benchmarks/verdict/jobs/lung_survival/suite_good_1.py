import json
from pathlib import Path

import pytest

from solution import main

MALE, FEMALE = 1, 2


@pytest.fixture
def estimate(tmp_path):
    def estimate(*patients, days=100):
        path = tmp_path / "patients"
        with path.open("w") as file:
            file.write("inst,time,status,age,sex,ph.ecog,ph.karno,pat.karno,meal.cal,wt.loss\n")
            for time, status, sex, *score in patients:
                file.write(f"3.0,{time},{status},60,{sex},{score[0] if score else ''},90.0,100.0,,\n")
        main(["--patients", str(path), "--days", str(days)])
        return (
            json.loads(Path("/var/outputs/median_days").read_text()),
            float(Path("/var/outputs/survival_at").read_text()),
            int(Path("/var/outputs/poor_score_deaths").read_text()),
        )

    return estimate


def test_everybody_dies(estimate):
    medians, survival, _ = estimate((10, 1, MALE), (20, 1, MALE), (30, 1, MALE), (40, 1, FEMALE), days=20)
    assert medians == {"male": 20, "female": 40}  # male: 2/3, 1/3, 0
    assert survival == pytest.approx(0.5)


def test_censored_patients_leave_the_risk_set(estimate):
    # S: 10 -> 3/4; 15 censored; 20 -> 3/4 * 1/2
    medians, survival, _ = estimate((10, 1, MALE), (15, 0, MALE), (20, 1, MALE), (30, 0, MALE), days=25)
    assert survival == pytest.approx(0.375)
    assert medians == {"male": 20, "female": None}


def test_censored_at_the_time_of_a_death_is_at_risk(estimate):
    _, survival, _ = estimate((10, 1, MALE), (10, 0, FEMALE), (30, 0, MALE), (40, 0, MALE), days=10)
    assert survival == pytest.approx(0.75)


def test_exactly_one_half_is_the_median(estimate):
    medians, _, _ = estimate((10, 1, FEMALE), (20, 0, FEMALE), (5, 1, MALE), (6, 1, MALE), (7, 1, MALE), (8, 1, MALE))
    assert medians == {"male": 6, "female": 10}


@pytest.mark.parametrize(("days", "expected"), [(9, 1.0), (10, 0.5), (11, 0.5), (500, 0.5)])
def test_survival_on_the_day(estimate, days, expected):
    assert estimate((10, 1, MALE), (20, 0, MALE), days=days)[1] == pytest.approx(expected)


def test_median_is_not_reached(estimate):
    medians, _, _ = estimate((10, 1, MALE), (20, 0, MALE), (20, 0, MALE), (10, 0, FEMALE))
    assert medians == {"male": None, "female": None}


def test_poor_scores(estimate):
    rows = [(10, 1, MALE, "2.0"), (20, 1, FEMALE, "3.0"), (30, 0, MALE, "2.0"), (40, 1, MALE, "1.0"), (50, 1, MALE, "")]
    assert estimate(*rows)[2] == 2


def test_rows_without_time_or_status(estimate):
    medians, survival, deaths = estimate(("", 1, MALE, "2.0"), (10, "", MALE, "2.0"), (20, 1, MALE), (30, 0, MALE))
    assert (medians["male"], survival, deaths) == (20, pytest.approx(0.5), 0)
