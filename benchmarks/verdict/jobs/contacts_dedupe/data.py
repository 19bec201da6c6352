"""Contacts as they were typed in."""

from __future__ import annotations

from random import Random

FIRST = ["Ann", "Bo", "Carla", "Dev", "Eva", "Finn", "Gita", "Hugo", "Ines", "Jan"]
LAST = ["Abel", "Brandt", "Costa", "Dahl", "Eriksen", "Fuchs"]
DOMAINS = ["example.com", "example.org", "mail.test"]


def _contacts(random: Random, count: int, first: list[str], last: list[str]) -> str:
    lines = ["name,email,phone,updated"]
    for _ in range(count):
        given, family = random.choice(first), random.choice(last)
        email = f"{given}.{family}@{random.choice(DOMAINS[: len(last)])}"
        email = random.choice([email, email.lower(), f" {email.lower()} ", email.upper()])
        email = random.choice([*[email] * 9, "", "  "])
        name = random.choice(["{} {}", "{}  {}", " {} {}", "{} {} ", "{} van {}"]).format(given, family)
        number = f"{random.randint(20, 22)} {random.randint(100, 103)}-{random.randint(10, 12)}"
        phone = random.choice([f"+44 {number}", f"0044 {number}", f"(0){number}", number, ""])
        lines.append(f"{name},{email},{phone},2024-0{random.randint(1, 9)}-1{random.randint(0, 3)}")
    return "\n".join(lines) + "\n"


def sample() -> dict[str, str]:
    """300 rows of up to 180 people."""
    return {"contacts": _contacts(Random(19), 300, FIRST, LAST)}


def inputs(random: Random) -> dict[str, str]:
    """Few rows of few people, so that most are there several times."""
    return {"contacts": _contacts(random, random.choice([0, 1, 10, 40]), FIRST[:2], LAST[: random.randint(1, 3)])}
