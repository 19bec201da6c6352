"""Masks profiles and texts for a model: sensitive values are replaced by fakes, and the replacements are counted."""

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
    SensitiveKind,
    SensitiveMatch,
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

_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:([T ])(\d\d):(\d\d)(.*))?\Z", re.DOTALL)
_PREFIX = re.compile(r"(?:[A-Za-z]{2,6}[-_])+|(?:AKI|ASI)A|eyJ|-----BEGIN [A-Z ]*-----")
_SCRYPT_COST = 1 << 12
_CUT = re.compile(r"…\(\+\d+ characters\)\Z")
_HEX_BYTES = re.compile(r"(?:\b[0-9a-f]{2} ?){4,}")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_FEWEST_DIGITS: Mapping[SensitiveKind, int] = {"phone": 7, "national id": 5}
_FEWEST_SECRET_CHARACTERS = 4
_TEXT = ""
"""The name under which a report counts values outside of columns."""


@functools.lru_cache(maxsize=8)
def masking_key(*contents: str) -> bytes:
    """Derive a key from the contents of the samples; the same samples give the same key.

    By scrypt (RFC 7914), which is slow, because the content of a very small sample could be guessed.
    """
    contents_digest = hashlib.sha256("\0".join(contents).encode()).digest()
    return hashlib.scrypt(contents_digest, salt=b"flyteplugins_codegen masking", n=_SCRYPT_COST, r=8, p=1, dklen=32)


class Fakes:
    """Fakes under one key.

    A fake has the form of its value: the same length, letters for letters, digits for digits, valid checksums.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, value: str, kind: SensitiveKind) -> str:
        """Return the fake of a text that is one value of this kind; the text itself if it has no letter or digit."""
        kind = kind_of(value) or kind
        for attempt in range(20):
            fake = self._fake(value, kind, attempt)
            if fake != value:
                return fake
        return value

    def of_number(self, value: float) -> float:
        """Return the fake of a number, with as many digits and the same sign and type."""
        text = repr(value)
        if "e" in text or "n" in text:
            return float(self.of(f"{len(text)}.5", "private"))
        fake = self.of(text, "private")
        return int(fake) if isinstance(value, int) else float(fake)

    def _fake(self, value: str, kind: SensitiveKind, attempt: int) -> str:
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
        return value[:start] + _replace_characters(value[start:end], stream, is_hex=is_hex) + value[end:]

    def _stream(self, value: str, attempt: int) -> Iterator[int]:
        block = 0
        while True:
            yield from hmac.digest(self._key, f"{attempt}:{block}:{value}".encode(errors="surrogatepass"), "sha256")
            block += 1


def _replace_characters(text: str, stream: Iterator[int], *, is_hex: bool = False) -> str:
    fakes = [_replace_character(character, stream, is_hex=is_hex) for character in text]
    digit = None if is_hex or len(text) == 1 else re.search(r"\d", text)
    if digit:
        # A leading zero stays, and another first digit does not become zero, so that a number keeps its length.
        fakes[digit.start()] = "0" if digit[0] == "0" else str(1 + next(stream) % 9)
    return "".join(fakes)


def _replace_character(character: str, stream: Iterator[int], *, is_hex: bool) -> str:
    if is_hex and character in string.hexdigits:
        digit = "0123456789abcdef"[next(stream) % 16]
        return digit.upper() if character.isupper() else digit
    if character.isdecimal():
        return str(next(stream) % 10)
    if character.isalpha():
        letters = string.ascii_uppercase if character.isupper() else string.ascii_lowercase
        return letters[next(stream) % 26]
    return character


def _fill_form(form: str, characters: Iterable[str]) -> str:
    """Replace the letters and digits of the form in order; blanks and hyphens stay, lower case stays lower case."""
    source = iter(characters)
    filled = ((character, next(source) if character.isalnum() else character) for character in form)
    return "".join(new.lower() if old.islower() else new for old, new in filled)


def _fake_iban(value: str, stream: Iterator[int]) -> str:
    compact = re.sub(r"[^A-Za-z0-9]", "", value).upper()
    account = _replace_characters(compact[4:], stream)
    check = 98 - iban_remainder(f"{compact[:2]}00{account}")
    return _fill_form(value, f"{compact[:2]}{check:02d}{account}")


def _fake_card(value: str, stream: Iterator[int]) -> str:
    digits = re.sub(r"\D", "", value)
    front = digits[0] + "".join(str(next(stream) % 10) for _ in digits[2:])
    return _fill_form(value, f"{front}{-luhn_sum(f'{front}0') % 10}")


def _fake_date(date: re.Match[str], stream: Iterator[int]) -> str:
    """Return another day within two years, at another time of day."""
    day = dt.date(min(max(int(date[1]), 3), 9990), 1, 1) + dt.timedelta(days=next(stream) * 3 - 380)
    clock = f"{date[4]}{next(stream) % 24:02d}:{next(stream) % 60:02d}{date[7]}" if date[4] else ""
    return f"{day.isoformat()}{clock}"


class Masked(NamedTuple):
    """A masked text, and how many values of each kind were replaced."""

    text: str
    replaced: Counter[SensitiveKind]


class Masker:
    """Replaces values under the rules of `privacy`; the same value always has the same fake."""

    def __init__(self, privacy: Privacy, fakes: Fakes) -> None:
        self.privacy, self._fakes = privacy, fakes

    def text(self, text: str) -> Masked:
        """Replace every value in the text that is detected by its form."""
        find: Callable[[str], list[SensitiveMatch]] = find_secrets if self.privacy.mode == "rows" else find_personal
        parts, position, replaced = [], 0, Counter[SensitiveKind]()
        for start, end, kind in find(text):
            parts += [text[position:start], self._fakes.of(text[start:end], kind)]
            position = end
            replaced[kind] += 1
        return Masked("".join([*parts, text[position:]]), replaced)

    def whole(self, text: str, kind: SensitiveKind) -> str:
        """Return the fake of a text that is one value; the mark of a shortened text stays."""
        cut = _CUT.search(text)
        end = cut.start() if cut else len(text)
        return self._fakes.of(text[:end], kind) + text[end:] if end else text

    def cell(self, value: JsonValue, kind: SensitiveKind | None) -> tuple[JsonValue, Counter[SensitiveKind]]:
        """Mask a value of a column of this kind; None for an ordinary column."""
        if value is None or value == "":
            return value, Counter()
        if kind is not None and _is_of(value, kind):
            return self._fake_cell(value, kind), Counter([kind])
        if isinstance(value, str):
            masked = self.text(value)
            return masked.text, masked.replaced
        is_card = isinstance(value, int) and self.privacy.mode != "rows" and is_card_number(str(value))
        return (int(self._fakes.of(str(value), "card")), Counter(["card"])) if is_card else (value, Counter())

    def _fake_cell(self, value: JsonValue, kind: SensitiveKind) -> JsonValue:
        if isinstance(value, bool):
            return self._fakes.of(str(value), kind) > "N"
        if isinstance(value, int | float):
            return self._fakes.of_number(value)
        return self.whole(str(value), kind)

    def column_kind(self, sample: str, column: str) -> SensitiveKind | None:
        """Return the kind of a column's values, if the user names the column or its name indicates a kind."""
        if self.privacy.mode != "rows" and self.privacy.names(sample, column):
            return "private"
        kind = kind_of_name(column)
        return kind if kind == "secret" or self.privacy.mode != "rows" else None


def _is_of(value: JsonValue, kind: SensitiveKind) -> bool:
    """Return whether a value has the kind of its column: a column `phone` may hold the names of phones."""
    if kind == "private":
        return True
    if kind == "secret":
        return isinstance(value, str) and len(value) >= _FEWEST_SECRET_CHARACTERS
    digits = re.sub(r"[\s()+./-]", "", str(value))
    return digits.isdecimal() and len(digits) >= _FEWEST_DIGITS.get(kind, 1)


def mask_profile(profile: SampleProfile, masker: Masker) -> tuple[SampleProfile, MaskingReport]:
    """Mask a profile for a model; return it and a report of what was replaced."""
    masking = _ProfileMasking(profile, masker)
    rows = tuple({name: masking.cell(name, value) for name, value in row.items()} for row in profile.sample_rows)
    columns = {name: masking.column(column) for name, column in profile.columns.items()}
    changes: dict[str, Any] = {
        "columns": columns,
        "sample_rows": rows,
        "file_name": masking.text(profile.file_name),
        "text_excerpt": masking.excerpt(),
        "notes": tuple(masking.text(note) for note in profile.notes),
        "line_shapes": tuple((masking.text(shape), count) for shape, count in profile.line_shapes),
    }
    if masker.privacy.mode == "profile":
        changes |= _statistics_only(profile, columns, masker.privacy.min_rows)
    changes |= _renamed(profile, changes, {name: masking.text(name) for name in profile.columns})
    report = MaskingReport(mode=masker.privacy.mode, replaced=masking.report())
    return profile.model_copy(update=changes), report


def _renamed(profile: SampleProfile, changes: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Rename columns if their names are masked: the names of a file without a header are values of its first row."""
    if all(name == masked for name, masked in names.items()):
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
    """Masks the parts of one profile and counts what was replaced."""

    def __init__(self, profile: SampleProfile, masker: Masker) -> None:
        self._profile, self._masker = profile, masker
        self._kinds = {name: masker.column_kind(profile.name, name) for name in profile.columns}
        self._replaced: dict[str, Counter[SensitiveKind]] = {}

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
            # If all values are equal, the mean is the value.
            changes |= {"mean": None, "deviation": None, "quartiles": None, "text": _without_dates(column.text)}
        return column.model_copy(update=changes)

    def excerpt(self) -> str | None:
        """Mask the file's first lines; of a table with private columns only the header, as lines are not split here."""
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
        "columns": {
            name: _without_rare_values(column, profile.row_count or 0, min_rows) for name, column in columns.items()
        },
        "sample_rows": (),
        "text_excerpt": None,
        "file_name": profile.file_name.rpartition(".")[2],
        "notes": tuple(_without_values(note, set(profile.columns)) for note in profile.notes),
        "line_shapes": tuple((shape, count) for shape, count in profile.line_shapes if count >= min_rows),
    }


def _without_rare_values(column: ColumnProfile, row_count: int, min_rows: int) -> ColumnProfile:
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
    """Remove quoted values from the note, except column names, and the bytes of a file."""
    plain = _QUOTED.sub(lambda quoted: quoted[0] if quoted[0][1:-1] in names else "'...'", note)
    return _HEX_BYTES.sub("...", plain)
