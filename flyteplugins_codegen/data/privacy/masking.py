"""Profiles and texts as a model may see them, and what was replaced in them."""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import hmac
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import JsonValue

from flyteplugins_codegen.data.privacy.detection import (
    Found,
    Kind,
    find_personal,
    find_secrets,
    iban_remainder,
    is_card_number,
    kind_of,
    kind_of_name,
    luhn_sum,
)
from flyteplugins_codegen.models.data import ColumnProfile, MaskingReport, SampleProfile, TextProfile
from flyteplugins_codegen.models.settings import Privacy

# Fakes that keep the form of a value: as long, letters for letters and digits for digits, checksums right.

_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:([T ])(\d\d):(\d\d)(.*))?\Z", re.DOTALL)
_PREFIX = re.compile(r"(?:[A-Za-z]{2,6}[-_])+|(?:AKI|ASI)A|eyJ|-----BEGIN [A-Z ]*-----")
_SCRYPT_COST = 1 << 12


@functools.lru_cache(maxsize=8)
def masking_key(*contents: str) -> bytes:
    """A key made of what the samples hold, told by their digests: it is as secret as they are, and always the same.

    Made slowly (RFC 7914), for a sample of one short row can be guessed.
    """
    whole = hashlib.sha256("\0".join(contents).encode()).digest()
    return hashlib.scrypt(whole, salt=b"flyteplugins_codegen masking", n=_SCRYPT_COST, r=8, p=1, dklen=32)


class Fakes:
    """The fakes under one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, value: str, kind: Kind) -> str:
        """The fake of a text that is of this kind as a whole; never the text itself, where it can be told from it."""
        kind = kind_of(value) or kind
        for attempt in range(20):
            fake = self._fake(value, kind, attempt)
            if fake != value:
                return fake
        return value  # no letter and no digit

    def of_number(self, value: float) -> float:
        """A number with as many digits, of the same sign and type."""
        text = repr(value)
        if "e" in text or "n" in text:
            return float(self.of(f"{len(text)}.5", "private"))
        fake = self.of(text, "private")
        return int(fake) if isinstance(value, int) else float(fake)

    def _fake(self, value: str, kind: Kind, attempt: int) -> str:
        stream = self._stream(value, attempt)
        if kind == "iban":
            return _fake_iban(value, stream)
        if kind == "card":
            return _fake_card(value, stream)
        if kind == "ip address" and "." in value:
            return ".".join(str(1 + next(stream) % 254) for _ in range(4))
        date = _ISO_DATE.match(value)
        if date:
            return _fake_date(date, stream)
        kept = _PREFIX.match(value) if kind == "secret" else re.match(r"(?!)", value)
        start = kept.end() if kept and kept.end() < len(value) else 0
        end = value.rfind(".") if kind == "e-mail" else len(value)
        end = end if end > start else len(value)
        is_hex = kind in {"ip address", "token"}
        return value[:start] + _replaced(value[start:end], stream, is_hex=is_hex) + value[end:]

    def _stream(self, value: str, attempt: int) -> Iterator[int]:
        block = 0
        while True:
            yield from hmac.digest(self._key, f"{attempt}:{block}:{value}".encode(errors="surrogatepass"), "sha256")
            block += 1


def _replaced(text: str, stream: Iterator[int], *, is_hex: bool = False) -> str:
    made = [_character(character, stream, is_hex=is_hex) for character in text]
    digit = None if is_hex or len(text) == 1 else re.search(r"\d", text)
    if digit:
        # A zero in front of others stays one, and any other digit becomes none: a number keeps its length.
        made[digit.start()] = "0" if digit[0] == "0" else str(1 + next(stream) % 9)
    return "".join(made)


def _character(character: str, stream: Iterator[int], *, is_hex: bool) -> str:
    if is_hex and character in string.hexdigits:
        found = "0123456789abcdef"[next(stream) % 16]
        return found.upper() if character.isupper() else found
    if character.isdecimal():
        return str(next(stream) % 10)
    if character.isalpha():
        letters = string.ascii_uppercase if character.isupper() else string.ascii_lowercase
        return letters[next(stream) % 26]
    return character


def _refilled(form: str, characters: Iterable[str]) -> str:
    """The form with its letters and digits replaced in order; blanks and hyphens stay, and small letters small."""
    source = iter(characters)
    filled = ((character, next(source) if character.isalnum() else character) for character in form)
    return "".join(new.lower() if old.islower() else new for old, new in filled)


def _fake_iban(value: str, stream: Iterator[int]) -> str:
    compact = re.sub(r"[^A-Za-z0-9]", "", value).upper()
    account = _replaced(compact[4:], stream)
    check = 98 - iban_remainder(f"{compact[:2]}00{account}")
    return _refilled(value, f"{compact[:2]}{check:02d}{account}")


def _fake_card(value: str, stream: Iterator[int]) -> str:
    digits = re.sub(r"\D", "", value)
    front = digits[0] + "".join(str(next(stream) % 10) for _ in digits[2:])
    return _refilled(value, f"{front}{-luhn_sum(f'{front}0') % 10}")


def _fake_date(date: re.Match[str], stream: Iterator[int]) -> str:
    """Another day within two years, at another time of day."""
    day = dt.date(min(max(int(date[1]), 3), 9990), 1, 1) + dt.timedelta(days=next(stream) * 3 - 380)
    clock = f"{date[4]}{next(stream) % 24:02d}:{next(stream) % 60:02d}{date[7]}" if date[4] else ""
    return f"{day.isoformat()}{clock}"


_CUT = re.compile(r"…\(\+\d+ characters\)\Z")
_HEX_BYTES = re.compile(r"(?:\b[0-9a-f]{2} ?){4,}")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_FEWEST_DIGITS: Mapping[Kind, int] = {"phone": 7, "national id": 5}
_FEWEST_SECRET_CHARACTERS = 4
_TEXT = ""
"""The column that a report counts values under which stand in no column."""


class Masked(NamedTuple):
    """A text without what must not be seen, and how many values of each kind were replaced."""

    text: str
    replaced: Counter[Kind]


class Masker:
    """Replaces by the rules of `privacy`, always the same value by the same fake."""

    def __init__(self, privacy: Privacy, fakes: Fakes) -> None:
        self.privacy, self._fakes = privacy, fakes

    def text(self, text: str) -> Masked:
        """The text with every value in it replaced that is told by its form."""
        find: Callable[[str], list[Found]] = find_secrets if self.privacy.mode == "rows" else find_personal
        parts, position, replaced = [], 0, Counter[Kind]()
        for start, end, kind in find(text):
            parts += [text[position:start], self._fakes.of(text[start:end], kind)]
            position = end
            replaced[kind] += 1
        return Masked("".join([*parts, text[position:]]), replaced)

    def whole(self, text: str, kind: Kind) -> str:
        """The fake of a text that is one value; a mark at its end, that it was shortened, stays."""
        cut = _CUT.search(text)
        end = cut.start() if cut else len(text)
        return self._fakes.of(text[:end], kind) + text[end:] if end else text

    def cell(self, value: JsonValue, kind: Kind | None) -> tuple[JsonValue, Counter[Kind]]:
        """A value of a column of this kind; None: a column like any other."""
        if value is None or value == "":
            return value, Counter()
        if kind is not None and _is_of(value, kind):
            return self._fake_cell(value, kind), Counter([kind])
        if isinstance(value, str):
            masked = self.text(value)
            return masked.text, masked.replaced
        is_card = isinstance(value, int) and self.privacy.mode != "rows" and is_card_number(str(value))
        return (int(self._fakes.of(str(value), "card")), Counter(["card"])) if is_card else (value, Counter())

    def _fake_cell(self, value: JsonValue, kind: Kind) -> JsonValue:
        if isinstance(value, bool):
            return self._fakes.of(str(value), kind) > "N"
        if isinstance(value, int | float):
            return self._fakes.of_number(value)
        return self.whole(str(value), kind)

    def column_kind(self, sample: str, column: str) -> Kind | None:
        """What the user or its name says of all values of a column."""
        if self.privacy.mode != "rows" and self.privacy.names(sample, column):
            return "private"
        kind = kind_of_name(column)
        return kind if kind == "secret" or self.privacy.mode != "rows" else None


def _is_of(value: JsonValue, kind: Kind) -> bool:
    """Whether a value in a column of this kind is one: a column `phone` may hold names of phones."""
    if kind == "private":
        return True
    if kind == "secret":
        return isinstance(value, str) and len(value) >= _FEWEST_SECRET_CHARACTERS
    digits = re.sub(r"[\s()+./-]", "", str(value))
    return digits.isdecimal() and len(digits) >= _FEWEST_DIGITS.get(kind, 1)


def mask_profile(profile: SampleProfile, masker: Masker) -> tuple[SampleProfile, MaskingReport]:
    """The profile as a model may see it, and what was replaced in it."""
    work = _ProfileMasking(profile, masker)
    rows = tuple({name: work.cell(name, value) for name, value in row.items()} for row in profile.sample_rows)
    columns = {name: work.column(column) for name, column in profile.columns.items()}
    changes: dict[str, Any] = {
        "columns": columns,
        "sample_rows": rows,
        "file_name": work.text(profile.file_name),
        "text_excerpt": work.excerpt(),
        "notes": tuple(work.text(note) for note in profile.notes),
        "line_shapes": tuple((work.text(shape), count) for shape, count in profile.line_shapes),
    }
    if masker.privacy.mode == "profile":
        changes |= _statistics_only(profile, columns, masker.privacy.min_rows)
    changes |= _renamed(profile, changes, {name: work.text(name) for name in profile.columns})
    report = MaskingReport(mode=masker.privacy.mode, replaced=work.report())
    return profile.model_copy(update=changes), report


def _renamed(profile: SampleProfile, changes: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """What names columns, by the names that may be seen: of a file without a header they are its first row."""
    if all(name == shown for name, shown in names.items()):
        return {}
    return {
        "columns": {
            names[name]: column.model_copy(update={"name": names[name]}) for name, column in changes["columns"].items()
        },
        "sample_rows": tuple(
            {names.get(name, name): value for name, value in row.items()} for row in changes["sample_rows"]
        ),
        "candidate_keys": tuple(tuple(names.get(name, name) for name in key) for key in profile.candidate_keys),
        "mirrors": tuple((names.get(one, one), names.get(other, other)) for one, other in profile.mirrors),
    }


class _ProfileMasking:
    """One profile on its way: what was replaced is counted as it goes."""

    def __init__(self, profile: SampleProfile, masker: Masker) -> None:
        self._profile, self._masker = profile, masker
        self._kinds = {name: masker.column_kind(profile.name, name) for name in profile.columns}
        self._replaced: dict[str, Counter[Kind]] = {}

    def cell(self, column: str, value: Any) -> Any:
        fake, replaced = self._masker.cell(value, self._kinds.get(column))
        self._replaced.setdefault(column, Counter()).update(replaced)
        return fake

    def text(self, text: str) -> str:
        masked = self._masker.text(text)
        self._replaced.setdefault(_TEXT, Counter()).update(masked.replaced)
        return masked.text

    def column(self, column: ColumnProfile) -> ColumnProfile:
        name = column.name
        changes: dict[str, Any] = {
            "minimum": self.cell(name, column.minimum),
            "maximum": self.cell(name, column.maximum),
            "quartiles": tuple(self.cell(name, value) for value in column.quartiles) if column.quartiles else None,
            "top_values": tuple((self.cell(name, value), count) for value, count in column.top_values),
        }
        if self._kinds[name] is not None or self._replaced[name]:
            # Of one row, or of all that are equal, the mean is the value.
            changes |= {"mean": None, "deviation": None, "quartiles": None, "text": _without_dates(column.text)}
        return column.model_copy(update=changes)

    def excerpt(self) -> str | None:
        """The file's first lines; of a table with private columns only the header: a line tells no columns apart."""
        excerpt = self._profile.text_excerpt
        private = [name for name, kind in self._kinds.items() if kind is not None]
        if excerpt is None or not private:
            return None if excerpt is None else self.text(excerpt)
        header = excerpt.partition("\n")[0]
        is_header = self._profile.format == "csv" and all(name in header for name in self._profile.columns)
        return self.text(header) if is_header else None

    def report(self) -> dict[str, dict[str, int]]:
        return {name: dict(sorted(counts.items())) for name, counts in self._replaced.items() if counts}


def _statistics_only(profile: SampleProfile, columns: Mapping[str, ColumnProfile], min_rows: int) -> dict[str, Any]:
    return {
        "columns": {name: _without_rare(column, profile.row_count or 0, min_rows) for name, column in columns.items()},
        "sample_rows": (),
        "text_excerpt": None,
        "file_name": profile.file_name.rpartition(".")[2],
        "notes": tuple(_without_values(note, set(profile.columns)) for note in profile.notes),
        "line_shapes": tuple((shape, count) for shape, count in profile.line_shapes if count >= min_rows),
    }


def _without_rare(column: ColumnProfile, row_count: int, min_rows: int) -> ColumnProfile:
    common = tuple((value, count) for value, count in column.top_values if count >= min_rows)
    known = [value for value, _ in common]
    is_aggregate = row_count - column.null_count >= min_rows
    return column.model_copy(
        update={
            "minimum": column.minimum if column.minimum in known else None,
            "maximum": column.maximum if column.maximum in known else None,
            "quartiles": column.quartiles if column.quartiles and set(column.quartiles) <= set(known) else None,
            "mean": column.mean if is_aggregate else None,
            "deviation": column.deviation if is_aggregate else None,
            "top_values": common,
            "text": _common_shapes(column.text, min_rows) if column.text else None,
        }
    )


def _common_shapes(text: TextProfile, min_rows: int) -> TextProfile:
    shapes = tuple((shape, count) for shape, count in text.shapes if count >= min_rows)
    return text.model_copy(update={"shapes": shapes, "date_range": None})


def _without_dates(text: TextProfile | None) -> TextProfile | None:
    return None if text is None else text.model_copy(update={"date_range": None})


def _without_values(note: str, names: set[str]) -> str:
    """The note without what it quotes, column names excepted, and without the bytes of a file."""
    plain = _QUOTED.sub(lambda quoted: quoted[0] if quoted[0][1:-1] in names else "'...'", note)
    return _HEX_BYTES.sub("...", plain)
