"""Fakes that keep the form of a value: as long, letters for letters and digits for digits, checksums right.

Which fake stands for a value is decided by an HMAC (RFC 2104) under a key that no model sees: the same value always has
the same one, here and on any machine, and nobody can turn a fake back or try values out.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import hmac
import re
import string
from collections.abc import Iterable, Iterator

from flyteplugins_codegen.data.privacy.detection import Kind, iban_remainder, kind_of, luhn_sum

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
