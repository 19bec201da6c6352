"""Numbers and dates as people write them in a sentence: `1,000`, `30k`, `50 %`, `Jan 1, 2025`, `2024`, `5 kg`.

What has two readings for the column at hand gives None: `1.000`, `03/04/2024`, or a unit that is not the column's.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from dataclasses import dataclass

from flyteplugins_codegen.data.constraints.facts import ColumnFacts
from flyteplugins_codegen.data.constraints.terms import NotApplicableError, Subject
from flyteplugins_codegen.models.data import Bound

_FEW = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905 - a list of words
_WORDS = {word: number for number, word in enumerate(_FEW)} | {
    "twenty": 20, "hundred": 100, "a hundred": 100, "one hundred": 100, "thousand": 1000, "a thousand": 1000,
}  # fmt: skip
_SCALES = {"k": 1_000, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_AMOUNT = re.compile(
    r"(?P<sign>[+\-\u2212]?)(?P<before>US\$|[$\u20ac\u00a3\u00a5\u20b9]|[A-Z]{3}(?=[\s\d]))?\s?(?P<inner>[+\-\u2212]?)"
    r"(?P<digits>(?:\d[\d.,]*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?P<scale>(?:k|\s?thousand|\s?million|\s?billion)\b)?"
    r"\s?(?P<unit>[^\d\s].*)?\Z",
    re.ASCII,
)
_GROUPED_BY_COMMAS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?P<fraction>\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"[1-9]\d{0,2}(?:(?:\.\d{3})+(?P<fraction>,\d+)|(?:\.\d{3}){2,})")
_MAYBE_GROUPED = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_GROUP_DIGITS = 3
_MONTH_COUNT = 12
_PERCENT = re.compile(r"(?:%|percent|per cent|pct\.?)")
_MONEY = {"€": "eur", "euro": "eur", "euros": "eur", "$": "usd", "us$": "usd", "dollar": "usd", "dollars": "usd"} | {
    "us dollars": "usd", "£": "gbp", "pounds": "gbp", "¥": "jpy", "yen": "jpy", "₹": "inr", "rupees": "inr",
}  # fmt: skip
_CODES = frozenset(
    "eur usd gbp jpy inr chf cad aud cny sek nok dkk pln czk huf brl mxn krw sgd hkd nzd zar".split()  # noqa: SIM905 - a list
)
_UNITS = {
    spelling: names[0]
    for names in (
        ("kg", "kgs", "kilogram", "kilograms", "kilos"),
        ("g", "gram", "grams"),
        ("mg", "milligram", "milligrams"),
        ("km", "kilometer", "kilometers", "kilometre", "kilometres"),
        ("m", "meter", "meters", "metre", "metres"),
        ("cm", "centimeter", "centimeters", "centimetre", "centimetres"),
        ("mm", "millimeter", "millimeters", "millimetre", "millimetres"),
        ("min", "mins", "minute", "minutes"),
        ("ms", "millis", "millisecond", "milliseconds"),
        ("s", "sec", "secs", "second", "seconds"),
        ("h", "hr", "hrs", "hour", "hours"),
        ("days", "day"),
        ("years", "year", "age"),
        ("c", "celsius", "\u00b0c", "degrees celsius", "degrees c", "degrees", "\u00b0"),
        ("hpa", "hectopascal"),
        ("mmhg",),
        ("bpm", "beats per minute"),
        ("stars", "star"),
    )
    for spelling in names
}
# Units without a larger or smaller sister, which a column need not name.
_ONLY_UNITS = frozenset({"mmhg", "bpm", "stars"})
_MONTHS = {
    name.casefold(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound: a number, which is its own first and last, or a time from its first to its last day, such as a year."""

    first: Bound
    last: Bound

    @property
    def is_time(self) -> bool:
        """Whether it is a date, a time stamp or a period."""
        return isinstance(self.first, str)


def read_limit(text: str, subject: Subject) -> Limit | None:
    """Return the number or the time that the text is for this column; None for anything else, and if it is not sure.

    Raises:
        NotApplicableError: the text is a date that no calendar has.
    """
    text = re.sub(r"^(?:about )?the (?=year|end|start|beginning)", "", text.strip(), flags=re.IGNORECASE)
    kind = subject.facts.kind
    if kind == "time":
        return _read_period(text, subject.facts)
    if kind == "number":
        return _read_amount(text, subject)
    # Without a sample only what has one reading is read.
    return (_read_amount(text, subject) or _read_day(text, subject.facts)) if kind == "unknown" else None


def _read_amount(text: str, subject: Subject) -> Limit | None:
    if text.casefold() in _WORDS:
        number: int | float | None = _WORDS[text.casefold()]
        return None if number is None else Limit(number, number)
    match = _AMOUNT.match(text)
    if match is None:
        return None
    number = read_numeral(match["digits"], subject.facts)
    if number is None or (match["sign"] and match["inner"]):
        return None
    number = number * _SCALES[match["scale"].strip()] if match["scale"] else number
    number = -number if (match["sign"] or match["inner"]) in {"-", "\u2212"} else number
    scaled = _in_column(number, (match["before"] or "").lower(), (match["unit"] or "").strip().lower(), subject)
    return None if scaled is None else Limit(scaled, scaled)


def read_numeral(digits: str, facts: ColumnFacts) -> int | float | None:
    """Return the number that the digits with their points and commas are; None where they have two readings."""
    mark = facts.decimal_mark
    if re.fullmatch(r"\d+", digits):
        return int(digits)
    if match := _GROUPED_BY_COMMAS.fullmatch(digits):
        is_sure = match["fraction"] or mark != ","
        return _plain(digits.replace(",", "")) if is_sure else None
    if _GROUPED_BY_POINTS.fullmatch(digits):
        return _plain(digits.replace(".", "").replace(",", "."))
    if _MAYBE_GROUPED.fullmatch(digits) and (mark != "." or digits.endswith("000")):
        return None
    if re.fullmatch(r"\d+,\d+", digits):
        is_decimal = len(digits.partition(",")[2]) != _GROUP_DIGITS
        return _plain(digits.replace(",", ".")) if is_decimal else None
    return _plain(digits) if re.fullmatch(r"(?:\d*\.\d+|\d+)(?:[eE][+-]?\d{1,3})?", digits) else None


def _plain(digits: str) -> int | float:
    return int(digits) if digits.isdigit() else float(digits)


def _in_column(number: float, before: str, unit: str, subject: Subject) -> int | float | None:
    """Return the number in the column's own unit; None if the unit is, or may be, another."""
    facts = subject.facts
    if _PERCENT.fullmatch(unit):
        return None if before else _percent(number, subject)
    # 0.5 of a column whose cells are written with `%` may be a half or half of a percent.
    if facts.is_percent and 0 < abs(number) <= 1:
        return None
    if not before and not unit:
        return number
    if before and unit:
        return None
    words = set(re.findall(r"[a-z]+", subject.column.casefold()))
    money = before or unit
    code = _MONEY.get(money, money if money in _CODES else None)
    if code is not None:
        own = _MONEY.get(facts.currency.casefold(), facts.currency.casefold())
        return number if own in {"", code} and not (words & _CODES) - {code} else None
    known = _UNITS.get(unit)
    is_own = known is not None and (known in _ONLY_UNITS or known in {_UNITS.get(word) for word in words})
    return number if is_own and not before else None


def _percent(number: float, subject: Subject) -> int | float | None:
    facts, name = subject.facts, subject.column.casefold()
    if facts.is_percent or re.search(r"(?:pct|percent|percentage)\Z", name):
        return number
    if facts.minimum is None or facts.maximum is None or facts.minimum < 0:
        return None
    if facts.maximum <= 1 and re.search(r"discount|share|ratio|fraction|probability", name):
        return None if facts.are_whole else round(number / 100, 12)
    return number if 10 < facts.maximum <= 100 else None  # noqa: PLR2004 - no fraction, and no percentage beyond 100


# --- dates ---

_DAY_FORMS = (
    r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})",
    r"(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})",
    r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})",
    r"(?P<name>[A-Za-z]{3,9})\.? (?P<d>\d{1,2})(?:st|nd|rd|th)?,? (?P<y>\d{4})",
    r"(?:the )?(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?[ -](?:of )?(?P<name>[A-Za-z]{3,9})\.?,?[ -](?P<y>\d{4})",
)
_MONTH_FORMS = (r"(?P<y>\d{4})-(?P<m>\d\d)", r"(?P<name>[A-Za-z]{3,9})\.? (?P<y>\d{4})")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?\Z", re.ASCII)


def _read_period(text: str, facts: ColumnFacts) -> Limit | None:
    year = re.fullmatch(
        r"(?:(?P<end>end|start|beginning) of )?(?:the )?(?:year )?(?P<y>[12]\d{3})", text, re.IGNORECASE
    )
    if year is not None:
        first, last = f"{year['y']}-01-01", f"{year['y']}-12-31"
        if year["end"]:
            first = last = last if year["end"].casefold() == "end" else first
        return Limit(first, last)
    for form in _MONTH_FORMS:
        if (match := re.fullmatch(form, text, re.ASCII)) and (number := _month(match)):
            days = calendar.monthrange(int(match["y"]), number)[1]
            return Limit(f"{match['y']}-{number:02}-01", f"{match['y']}-{number:02}-{days}")
    return _read_day(text, facts)


def _read_day(text: str, facts: ColumnFacts) -> Limit | None:
    if _STAMP.match(text):
        return _on_calendar(text, text.replace("Z", "+00:00"))
    forms = [re.fullmatch(form, text, re.ASCII) for form in _DAY_FORMS]
    match = next((match for match in forms if match), None)
    if match is not None:
        month = _month(match)
        return _on_calendar(text, f"{match['y']}-{month:02}-{int(match['d']):02}") if month else None
    slashed = re.fullmatch(r"(\d{1,2})([/-])(\d{1,2})\2(\d{4})", text, re.ASCII)
    if slashed is None:
        return None
    one, two = int(slashed[1]), int(slashed[3])
    first = facts.notation[:2]
    is_decided = first in {"%d", "%m"} and not facts.is_undecided
    if max(one, two) <= _MONTH_COUNT and one != two and not is_decided:
        return None
    # One above 12 is the day; otherwise the column's own order counts.
    is_day_first = one > _MONTH_COUNT if max(one, two) > _MONTH_COUNT else first == "%d"
    day, month = (one, two) if is_day_first else (two, one)
    return _on_calendar(text, f"{slashed[4]}-{month:02}-{day:02}")


def _month(match: re.Match[str]) -> int | None:
    named = match.groupdict().get("name")
    return _MONTHS.get(named.casefold()) if named else int(match["m"])


def _on_calendar(text: str, iso: str) -> Limit:
    try:
        dt.datetime.fromisoformat(iso)
    except ValueError:
        raise NotApplicableError(f"{text} is no date of the calendar") from None
    written = text if len(iso) > len("2020-01-01") else iso
    return Limit(written, written)
