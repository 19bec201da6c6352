"""Orders of a web shop."""

from __future__ import annotations

from random import Random

PRODUCTS = {"kettle": 3495, "mug": 899, "teapot": 2750, "tea": 450, "strainer": 620}
ROUND = {"kettle": 900, "mug": 900}
HEADER = "order_id,product,quantity,unit_price_cents,discount_percent,status,ordered_at"


def _orders(random: Random, count: int, days: int, prices: dict[str, int], discounts: list[str]) -> str:
    lines = [HEADER]
    for number in range(count):
        product = random.choice(list(prices))
        discount = random.choice(["", "", "", "0", *discounts])
        status = random.choice([*["paid", "shipped"] * (4 - len(discounts)), "paid", "shipped", "open", "cancelled", "refunded"])
        month, day = divmod(random.randrange(days), 28)
        time = f"2024-{month + 2:02}-{day + 1:02}T{random.randrange(24):02}:{random.randrange(60):02}:00"
        quantity = random.randint(1, len(prices) - 1)
        lines.append(f"{1000 + number},{product},{quantity},{prices[product]},{discount},{status},{time}")
    return "\n".join(lines) + "\n"


def sample() -> dict[str, str]:
    """600 orders of four months."""
    return {"orders": _orders(Random(7), 600, 112, PRODUCTS, ["5", "10", "25"])}


def inputs(random: Random) -> dict[str, str]:
    """Few orders of few days and prices, so that the first day itself and equal revenues occur."""
    text = _orders(random, random.choice([0, 1, 2, 2, 4, 20]), 5, ROUND, ["10"])
    since = f"2024-02-{random.randint(1, 3):02}"
    return {"orders": text, "since": since}
