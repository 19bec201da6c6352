"""Masking: which values are found, the form of fakes, equal fakes for equal values, and no planted value remains."""

from __future__ import annotations

import datetime as dt
import json
import re
import string
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.data.privacy.detection import find_personal, find_secrets, is_card_number, is_iban, kind_of
from flyteplugins_codegen.data.privacy.failures import Cells, failure_mask
from flyteplugins_codegen.data.privacy.masking import Fakes, Masker, mask_profile, masking_key
from flyteplugins_codegen.data.profile import profile_sample
from flyteplugins_codegen.models.data import ColumnProfile, SampleProfile, TextProfile
from flyteplugins_codegen.models.settings import Privacy

FAKES = Fakes(masking_key("a sample's digest"))
# Put together here, so that this file holds nothing that looks like a credential.
KEYS = {
    "a model provider's": "sk" + "-proj-" + "a8Kd02mXq71LzPw3Vb9Tn5Ry",
    "a cloud's": "AKI" + "A" + "IOSFODNN7EXAMPLE",
    "a code host's": "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "a chat's": "xox" + "b-" + "123456789012-abcdefghijkl",
    "a web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "a random one": "q7Zt4LmX0vKc9RbN2wPs8HdY5fGj3TaE",
}
PERSONAL = {
    "e-mail": ["ada.lovelace+x@mail.example.co.uk", "o'neil_7@firma.de", "x@y.io"],
    "iban": ["DE89370400440532013000", "GB82 WEST 1234 5698 7654 32", "fr1420041010050500013m02606"],
    "card": ["4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005"],
    "ip address": ["192.168.10.254", "2001:db8:85a3::8a2e:370:7334", "fe80::1ff:fe23:4567:890a"],
    "phone": ["+49 30 901820", "+1 (555) 010-9999", "(212) 555-0187", "0171/1234567", "0044 20 7946 0958"],
    "national id": ["078-05-1120"],
    "token": ["5d41402abc4b2a76b9719d911017c592"],
}


def masker(mode: str = "masked", *columns: str, min_rows: int = 5) -> Masker:
    return Masker(Privacy.model_validate({"mode": mode, "columns": columns, "min_rows": min_rows}), FAKES)


def form(text: str) -> str:
    return re.sub("[a-z]", "a", re.sub("[A-Z]", "A", re.sub("[0-9]", "9", text)))


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in PERSONAL.items() for value in values])
def test_a_personal_value_is_found_alone_and_in_a_text_and_its_fake_has_its_form(kind: str, value: str) -> None:
    assert kind_of(value) == kind
    masked = masker().text(f"row 3: {value}, paid")
    assert masked.replaced == {kind: 1}
    assert value not in masked.text
    assert masked.text.startswith("row 3: ")
    assert masked.text.endswith(", paid")
    fake = FAKES.of(value, "private")
    assert kind_of(fake) == kind
    if kind not in {"ip address", "token"}:
        assert form(fake) == form(value)


def test_fakes_have_valid_checksums() -> None:
    assert all(is_iban(FAKES.of(value, "iban")) for value in PERSONAL["iban"])
    assert all(is_card_number(FAKES.of(value, "card")) for value in PERSONAL["card"])


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("mode", ["masked", "rows", "profile"])
def test_what_looks_like_a_key_is_replaced_in_every_mode(kind: str, mode: str) -> None:
    masked = masker(mode).text(f'{{"url": "https://x.example/?k={KEYS[kind]}&a=1"}} {KEYS[kind]}')
    assert KEYS[kind] not in masked.text
    assert set(masked.replaced) == {"secret"}


def test_a_phone_number_among_other_numbers_is_found() -> None:
    masked = masker().text("+49 30 901820 12 17 2024 31 and (212) 555-0187, 3 times")
    assert "901820" not in masked.text
    assert "555-0187" not in masked.text


def test_a_password_in_a_url_is_replaced_and_the_url_stays() -> None:
    masked = masker("rows").text("postgres://shop:hunter22@db.example/orders")
    assert "hunter22" not in masked.text
    assert re.fullmatch(r"postgres://shop:\w+@db\.example/orders", masked.text)


ORDINARY = [
    "2024-01-31T12:30:45.123Z",
    "12:30:45",
    "3.14159 2.71828",
    "version 1.2.3",
    "1,234,567.89",
    "order 20240131-000017",
    "1700000000000000000",
    "550e8400-e29b-41d4-a716-446655440000",
    "https://example.org/a/b?c=1#d",
    "the quick brown fox jumps over 13 lazy dogs",
    "def total_price(quantity: int, unit_price: float) -> float:",
    "ValueError: could not convert string to float: 'n/a'",
    "seattle-weather.csv, 1461 rows, 6 columns, 48219 bytes",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert not find_personal(text)


@given(st.text(max_size=200))
def test_any_text_can_be_masked_and_secrets_are_a_subset_of_personal_values(text: str) -> None:
    masked = masker().text(text)
    assert masked == masker().text(text)
    if not masked.replaced:
        assert masked.text == text
    assert len(find_secrets(text)) <= len(find_personal(text))


EMAILS = st.builds(
    "{}@{}.{}".format,
    st.text(string.ascii_letters + string.digits, min_size=3, max_size=12),
    st.text(string.ascii_lowercase, min_size=3, max_size=10),
    st.sampled_from(["com", "org", "co.uk"]),
)
VALUES = st.one_of(EMAILS, *(st.sampled_from(values) for values in PERSONAL.values()))
JOINTS = st.sampled_from([" and ", ", ", "\n", '"', "<", "|", "; ", " -> "])


@given(st.lists(VALUES, min_size=1, max_size=6), JOINTS)
def test_planted_values_are_replaced_and_equal_values_have_equal_fakes(values: list[str], joint: str) -> None:
    whole = masker().text(joint.join(["start", *values, *values, "end"]))
    assert not [value for value in values if value in whole.text]
    parts = whole.text.split(joint)
    if len(parts) == 2 * len(values) + 2:
        assert parts[1 : len(values) + 1] == parts[len(values) + 1 : -1]


@given(st.text(min_size=1, max_size=40))
def test_a_fake_is_a_different_text_of_the_same_form(value: str) -> None:
    fake = FAKES.of(value, "private")
    assert fake == FAKES.of(value, "private")
    assert (fake != value) == any(character.isalpha() or character.isdecimal() for character in value)
    if kind_of(value) is None and not re.match(r"\d{4}-\d\d-\d\d", value):
        assert len(fake) == len(value)
        assert [c for c in fake if not c.isalnum()] == [
            c for c in value if not (c.isalpha() or c.isdecimal() or c.isalnum())
        ]


@given(st.one_of(st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False)))
def test_the_fake_of_a_number_is_a_number_of_its_kind(value: float) -> None:
    fake = FAKES.of_number(value)
    assert type(fake) is type(value)
    if isinstance(value, int):
        assert len(str(fake)) == len(str(value))
        assert (fake < 0) == (value < 0)


def test_fakes_are_the_same_in_another_process_and_others_under_another_key() -> None:
    program = (
        "from flyteplugins_codegen.data.privacy.masking import Fakes, masking_key\n"
        "print(Fakes(masking_key(\"a sample's digest\")).of('ada@firma.de', 'e-mail'))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == FAKES.of("ada@firma.de", "e-mail")
    assert Fakes(masking_key("another")).of("ada@firma.de", "e-mail") != FAKES.of("ada@firma.de", "e-mail")


def profile() -> SampleProfile:
    """Planted: every value with `planted` in it, the number 98431, and Ada Planted's e-mail, phone and card."""
    row = {
        "name": "Ada Planted",
        "email": "ada.planted@firma.de",
        "phone": 49309018202,
        "card": 4111111111111111,
        "salary": 98431,
        "city": "Bonn",
        "note": "call +49 30 901820 or planted@mail.example",
    }
    columns = {
        name: ColumnProfile(
            name=name,
            arrow_type="string" if isinstance(value, str) else "int64",
            null_count=0,
            minimum=value,
            maximum=value,
            mean=value * 0.97 if isinstance(value, int) else None,
            quartiles=(value, value, value) if isinstance(value, int) else None,
            top_values=((value, 3), ("common", 7)),
            text=TextProfile(shortest=1, longest=9, mean_length=5.0, shapes=(("A+", 7), ("aA9", 2))),
        )
        for name, value in row.items()
    }
    return SampleProfile(
        name="staff",
        file_name="staff of ada.planted@firma.de.csv",
        format="csv",
        size_bytes=10,
        row_count=10,
        columns=columns,
        sample_rows=(row, row | {"city": None}),
        text_excerpt=f"{','.join(row)}\n{','.join(map(str, row.values()))}",
        notes=("row 3 holds 'planted@mail.example'",),
    )


PLANTED = ["ada.planted@firma.de", "49309018202", "4111111111111111", "+49 30 901820", "planted@mail.example"]
PRIVATE = ["Ada Planted", "98431"]


def test_a_masked_profile_has_no_personal_value_and_reports_the_replacements() -> None:
    masked, report = mask_profile(profile(), masker("masked", "name", "staff.salary"))
    text = masked.model_dump_json()
    assert not [value for value in PLANTED + PRIVATE if value in text]
    assert "Bonn" in text
    assert masked.text_excerpt == "name,email,phone,card,salary,city,note"
    assert report.replaced["name"]["private"] >= 4
    assert report.replaced["email"] == {"e-mail": 5}
    assert set(report.replaced["note"]) == {"phone", "e-mail"}
    assert "city" not in report.replaced


def test_a_first_row_that_is_taken_for_the_header_is_masked_too() -> None:
    column = ColumnProfile(name="ada.planted@firma.de", arrow_type="string", null_count=0)
    headless = profile().model_copy(
        update={
            "columns": {column.name: column},
            "sample_rows": ({column.name: "Bonn"},),
            "text_excerpt": "ada.planted@firma.de\nBonn",
            "candidate_keys": ((column.name,),),
            "mirrors": (),
        }
    )
    masked, _ = mask_profile(headless, masker())
    assert "planted" not in masked.model_dump_json().replace("planted@mail", "")
    (name,) = masked.columns
    assert masked.sample_rows == ({name: "Bonn"},)
    assert masked.text_excerpt == f"{name}\nBonn"


def test_a_value_has_the_same_fake_everywhere() -> None:
    masked, _ = mask_profile(profile(), masker())
    column = masked.columns["email"]
    assert column.minimum == column.top_values[0][0] == masked.sample_rows[0]["email"] == masked.sample_rows[1]["email"]


def test_the_mode_rows_replaces_only_secrets() -> None:
    given_profile = profile()
    given_profile = given_profile.model_copy(
        update={"sample_rows": ({"email": "ada.planted@firma.de", "note": KEYS["a cloud's"], "password": "hunter22"},)}
    )
    masked, report = mask_profile(given_profile, masker("rows", "name"))
    assert masked.sample_rows[0]["email"] == "ada.planted@firma.de"
    assert masked.columns["name"].minimum == "Ada Planted"
    assert KEYS["a cloud's"] not in masked.model_dump_json()
    assert report.replaced == {"note": {"secret": 1}}


def test_a_statistical_profile_has_no_value_of_fewer_than_k_rows() -> None:
    masked, _ = mask_profile(profile(), masker("profile", min_rows=5))
    text = masked.model_dump_json()
    assert not [value for value in [*PLANTED, *PRIVATE, "Bonn"] if value in text]
    assert masked.sample_rows == ()
    assert masked.columns["city"].top_values == (("common", 7),)
    assert masked.columns["city"].text is not None
    assert masked.columns["city"].text.shapes == (("A+", 7),)


def mask_failure(text: str, some: list[Cells], hides: Masker) -> str:
    return failure_mask(text, some, hides)(text)


FAILURE = "ValueError: could not convert 'Ada Planted' (98431) of Bonn in line 12, mail ada.planted@firma.de"


def cells() -> list[Cells]:
    return [Cells("staff", name, [value] * 3) for name, value in profile().sample_rows[0].items()]


def test_a_failure_quotes_no_private_value_and_has_the_fakes_of_the_profile() -> None:
    hides = masker("masked", "name", "salary", "email")
    masked = mask_failure(FAILURE, cells(), hides)
    shown, _ = mask_profile(profile(), hides)
    assert str(shown.sample_rows[0]["name"]) in masked
    assert str(shown.sample_rows[0]["email"]) in masked
    assert str(shown.sample_rows[0]["salary"]) in masked
    assert not [value for value in PLANTED + PRIVATE if value in masked]
    assert "of Bonn in line 12" in masked


@pytest.mark.parametrize("quote", [repr, json.dumps, str])
def test_a_private_value_at_the_beginning_of_a_line_is_found_in_every_quoted_form(quote) -> None:
    hides = masker("masked", "name", "salary", "email")
    masked = mask_failure(quote("head\nAda Planted\t98431\x1fAda"), cells(), hides)
    assert not [value for value in ("Ada", "Planted", "98431") if value in masked]


def test_in_the_mode_profile_a_failure_quotes_only_common_values() -> None:
    rare = mask_failure(FAILURE, cells(), masker("profile", min_rows=4))
    assert not [value for value in [*PLANTED, *PRIVATE, "Bonn"] if value in rare]
    assert "in line 12" in rare
    assert "of Bonn" in mask_failure(FAILURE, cells(), masker("profile", min_rows=3))


def test_a_part_of_a_private_name_and_its_quoted_form_are_found() -> None:
    some = [Cells("s", "name", ["Ada O'Planted", "x"])]
    masked = mask_failure(
        f"KeyError: 'Planted' in {json.dumps(str(some))} {some[0].values[0]!r}", some, masker("masked", "name")
    )
    assert "Planted" not in masked


@pytest.mark.parametrize("value", ["1961-03-17", "17.03.1961", "03/17/1961 08:15", " 1961/3/17"])
@pytest.mark.parametrize("read", [dt.date(1961, 3, 17), dt.datetime(1961, 3, 17, 8, 15)])  # noqa: DTZ001 - as read
def test_a_private_date_is_found_in_its_parsed_form(value, read) -> None:
    text = f"born = {read!r}, {read} in line 17"
    masked = mask_failure(text, [Cells("s", "born", [value])], masker("masked", "born"))
    assert "1961" not in masked
    assert "in line 17" in masked


@given(st.lists(st.text(string.ascii_letters + " @.'\\\"é", min_size=3, max_size=20), min_size=1, max_size=5))
def test_no_private_cell_stays_in_any_failure(values: list[str]) -> None:
    hides = masker("masked", "x")
    text = " | ".join(values)
    masked = mask_failure(text, [Cells("s", "x", values)], hides)
    letters: list[Any] = [value.strip() for value in values if any(map(str.isalpha, value)) and len(value.strip()) > 2]
    assert not [value for value in letters if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", masked) and value in text]


@pytest.mark.parametrize(
    ("hides", "expected"),
    [
        (masker(), ("1983-02-01", "1990-12-31")),
        (masker("rows"), ("1983-02-01", "1990-12-31")),
        (masker("masked", "born"), None),
        (masker("profile"), None),
    ],
    ids=["masked", "rows", "named by the user", "profile"],
)
def test_the_range_of_dates_written_as_text_is_kept_if_its_values_may_be_shown(
    hides: Masker, expected: tuple[str, str] | None
) -> None:
    sample = profile_sample(pa.table({"born": ["01.02.1983", "31.12.1990"]}), "staff")
    text = mask_profile(sample, hides)[0].columns["born"].text
    assert text is not None
    assert text.date_range == expected
