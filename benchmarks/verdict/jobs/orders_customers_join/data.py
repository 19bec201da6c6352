"""Orders, and the customers who made most of them."""

from __future__ import annotations

from random import Random

COUNTRIES = ["Austria", "Belgium", "Chile", "Denmark", "Estonia", "France", "Ghana"]
NAMES = ["Ann", "Bo", "Carla", "Dev", "Eva", "Finn", "Gita", "Hugo"]


def _tables(random: Random, orders: int, customers: int, countries: list[str]) -> dict[str, str]:
    people = ["customer_id,name,country"]
    for number in range(1, customers + 1):
        country = random.choice([*countries, ""])
        people.append(f"C{number:03},{random.choice(NAMES)},{country}")
    sales = ["order_id,customer_id,amount"]
    for number in range(1, orders + 1):
        # Some customers never order, and some orders are of customers who are not listed.
        customer = random.randint(1, customers + max(1, customers // 10))
        customer += customer % 5 == 0
        sales.append(f"{number},C{customer:03},{random.randint(100, 20000) / 100}")
    return {"orders": "\n".join(sales) + "\n", "customers": "\n".join(people) + "\n"}


def sample() -> dict[str, str]:
    """900 orders of 150 customers."""
    return _tables(Random(11), 900, 150, COUNTRIES[:6])


def inputs(random: Random) -> dict[str, str]:
    """Small tables, the orders sometimes none."""
    return _tables(random, random.choice([0, 1, 8, 30]), random.randint(1, 12), random.sample(COUNTRIES, 4))
