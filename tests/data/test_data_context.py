"""The data context of a job: all samples, what a model may see of them, and their foreign keys."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from flyteplugins_codegen.data import DataContext, Privacy, extract_data_context
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.models.data import ForeignKey

WEATHER = Path(__file__).parents[2] / "workflows" / "data" / "seattle-weather.csv"
CUSTOMERS = pd.DataFrame({"id": range(100, 150), "mail": [f"person{number}@firm.org" for number in range(50)]})
ORDERS = pd.DataFrame(
    {
        "number": range(200),
        "customer_id": [100 + number % 50 for number in range(200)],
        "quantity": [1 + number % 7 for number in range(200)],
        "ordered": ["31/12/2023", "01/02/2024"] * 100,
        "code": ["12", "x-1"] * 100,
        "state": [" new", "old"] * 100,
        "same": ["n", "o"] * 100,
    }
)
SAMPLES = {"customers": CUSTOMERS, "orders": ORDERS}


def test_a_context_holds_a_profile_and_a_text_of_every_sample() -> None:
    context = extract_data_context({"weather": WEATHER, "orders": ORDERS})
    assert list(context.samples) == ["weather", "orders"]
    assert context.samples["weather"].row_count == 1461
    assert context.text.index("## weather (seattle-weather.csv): CSV, 1461 rows") < context.text.index("## orders")


def test_contexts_have_the_same_digest_only_if_they_are_equal() -> None:
    first = extract_data_context({"weather": WEATHER})
    assert extract_data_context({"weather": WEATHER}) == first
    assert len(first.digest) == 64
    others = [
        extract_data_context({"rain": WEATHER}),
        extract_data_context({"weather": WEATHER}, 3),
        extract_data_context({"weather": WEATHER}, privacy="profile"),
        extract_data_context({"weather": WEATHER.with_name("new-york-weather.csv")}),
    ]
    assert len({first.digest, *(other.digest for other in others)}) == 5
    assert DataContext.model_validate_json(first.model_dump_json()) == first


def test_columns_that_may_refer_to_another_sample_are_found() -> None:
    context = extract_data_context(SAMPLES)
    key = ForeignKey(sample="orders", column="customer_id", key_sample="customers", key_column="id")
    assert context.foreign_keys == (key,)
    assert "- orders.customer_id may refer to customers.id\n" in context.text


@pytest.mark.parametrize(
    "orders",
    [
        ORDERS.assign(customer_id=ORDERS["customer_id"] + 1),  # one value is no key
        ORDERS.rename(columns={"customer_id": "weight"}),  # numbers alone prove little
        ORDERS.assign(customer_id=100),
    ],
)
def test_columns_that_do_not_refer_are_not_found(orders: pd.DataFrame) -> None:
    assert extract_data_context({"customers": CUSTOMERS, "orders": orders}).foreign_keys == ()


def test_texts_refer_by_their_values_alone() -> None:
    countries = pd.DataFrame({"iso": ["AT", "CH", "DE", "FR"], "population": [9, 9, 84, 68]})
    visits = pd.DataFrame({"to": ["AT", "DE", "FR", "AT"] * 5})
    found = extract_data_context({"countries": countries, "visits": visits}).foreign_keys
    assert found == (ForeignKey(sample="visits", column="to", key_sample="countries", key_column="iso"),)


def test_each_unusual_property_has_a_line() -> None:
    text = extract_data_context({"orders": ORDERS}).text
    assert "|dates %d/%m/%Y, 2023-12-31 to 2024-02-01; 01/02/2024: 100, 31/12/2023: 100|" in text
    assert "Texts of several kinds: code (text 100, whole number 100)\n" in text
    assert "Values with blanks around them: state 100\n" in text
    assert "Columns that tell the same: ordered = code, ordered = state, ordered = same\n" in text


def test_keys_of_two_columns_duplicate_rows_and_outliers_are_reported() -> None:
    frame = pd.DataFrame({"shop": [n // 10 for n in range(100)], "day": [n % 10 for n in range(100)]})
    frame["sales"] = [100 + n % 5 for n in range(99)] + [9999]
    assert "Key: shop + day\n" in extract_data_context({"s": frame}).text
    text = extract_data_context({"s": pd.concat([frame, frame.head(7)])}).text
    assert "Rows that repeat others: 7\n" in text
    assert "Far outliers: sales 1\n" in text


@pytest.mark.parametrize("privacy", ["masked", "profile", Privacy(mode="masked")])
def test_private_values_are_not_in_the_text(privacy: str | Privacy) -> None:
    context = extract_data_context(SAMPLES, privacy=privacy)
    assert "@firm.org" not in context.text
    assert context.samples["customers"].columns["mail"].minimum == "person0@firm.org"


def test_replaced_values_are_reported() -> None:
    context = extract_data_context(SAMPLES)
    assert context.masking["customers"].replaced["mail"]["e-mail"] > 0
    assert context.masking["orders"].replaced == {}
    assert "person0@firm.org" in extract_data_context(SAMPLES, privacy="rows").text


def test_the_key_determines_the_fakes() -> None:
    texts = {extract_data_context(SAMPLES, key=bytes([number] * 32)).text for number in (1, 1, 2)}
    assert len(texts) == 2


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(RequestError, match="privacy='none' is no mode; pass 'masked', 'rows' or 'profile'"):
        extract_data_context(SAMPLES, privacy="none")


@pytest.mark.parametrize("max_tokens", [400, 1000, 4000])
def test_the_text_fits_its_budget_and_cuts_no_value(max_tokens: int) -> None:
    wide = pd.DataFrame({f"column {n}": [f"値{n}-{row}" * 3 for row in range(40)] for n in range(300)})
    wide["gap"] = None
    text = extract_data_context({"wide": wide}, max_tokens=max_tokens).text
    cost = len(text) + 2 * sum(not character.isascii() for character in text)
    assert cost <= 3 * max_tokens
    assert "|gap|" not in text
    rows = text.split("```")[1].strip().split("\n")
    assert all(re.fullmatch(r"(値\d+-\d+)\1\1", cell) for row in rows[1:] for cell in row.split(","))


def test_the_package_imports_its_exports_lazily() -> None:
    program = (
        "import sys, flyteplugins_codegen.data as package\n"
        "for name in package.__all__: getattr(package, name)\n"
        "assert not {'duckdb', 'pyarrow', 'pandas', 'numpy'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
