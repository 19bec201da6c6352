"""Finds personal values and secrets in a text, by their form and, if they have one, their checksum.

Checksums: Luhn's (ISO/IEC 7812-1) of card numbers, ISO 7064 mod 97-10 of IBANs (ISO 13616).
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

SensitiveKind: TypeAlias = Literal[
    "secret", "e-mail", "iban", "card", "ip address", "phone", "national id", "token", "private"
]
_ENTROPY_BITS = 3.5
_CARD_DIGITS = range(13, 20)
_PHONE_DIGITS = range(7, 16)
_IBAN_CHARACTERS = range(15, 35)


class SensitiveMatch(NamedTuple):
    """The kind and position of a sensitive value in a text."""

    start: int
    end: int
    kind: SensitiveKind


def find_personal(text: str) -> list[SensitiveMatch]:
    """Find all personal values and secrets, in order; of overlapping matches, the more certain kind is returned."""
    return _without_overlaps(_find(text, _PERSONAL))


def find_keys(text: str) -> list[SensitiveMatch]:
    """Find only certain secrets: keys of known services and passwords in URLs."""
    return _without_overlaps(_find(text, _KEYS))


def find_secrets(text: str) -> list[SensitiveMatch]:
    """Find certain secrets, and long runs of random letters and digits, which may be keys."""
    return _without_overlaps(_find(text, _SECRETS))


def kind_of(text: str) -> SensitiveKind | None:
    """Return the kind if the whole text is one sensitive value."""
    matches = find_personal(text)
    return matches[0].kind if len(matches) == 1 and matches[0][:2] == (0, len(text)) else None


def kind_of_name(column: str) -> SensitiveKind | None:
    """Return the kind that a column's name indicates, regardless of the form of its values."""
    words = set(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", " ", column).casefold().split())
    joined = "".join(re.split(r"[^a-z0-9]+", column.casefold()))
    if words & {"phone", "telephone", "mobile", "tel", "fax", "cellphone"} or joined.endswith(("phone", "phonenumber")):
        return "phone"
    if words & {"password", "passwd", "pwd", "secret", "passphrase", "apikey"} or joined.endswith(
        ("apikey", "secretkey")
    ):
        return "secret"
    if joined.endswith(("accesstoken", "authtoken", "refreshtoken", "sessiontoken")) or joined == "token":
        return "secret"
    return "national id" if words & {"ssn"} or joined in {"socialsecuritynumber", "taxid", "nationalid"} else None


_Pattern = tuple[SensitiveKind, re.Pattern[str], Callable[[str], bool]]


def _find(text: str, patterns: tuple[_Pattern, ...]) -> Iterator[SensitiveMatch]:
    for kind, pattern, is_valid in patterns:
        for match in pattern.finditer(text):
            group = 1 if pattern.groups else 0
            value = _first_number(match[group]) if kind == "phone" else match[group]
            if value and is_valid(value):
                yield SensitiveMatch(match.start(group), match.start(group) + len(value), kind)


def _without_overlaps(matches: Iterator[SensitiveMatch]) -> list[SensitiveMatch]:
    """Drop matches that overlap an earlier one; the most certain patterns come first."""
    kept: list[SensitiveMatch] = []
    for match in matches:
        if all(match.end <= other.start or match.start >= other.end for other in kept):
            kept.append(match)
    return sorted(kept)


def _always(_text: str) -> bool:
    return True


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def is_card_number(text: str) -> bool:
    """Return whether the text is a payment card number: its first digit, 13 to 19 digits, and Luhn's checksum."""
    digits = _digits(text)
    if len(digits) not in _CARD_DIGITS or digits[0] not in "23456" or len(set(digits)) == 1:
        return False
    return luhn_sum(digits) % 10 == 0


def luhn_sum(digits: str) -> int:
    """Return Luhn's sum, a multiple of ten for a valid number."""
    doubled = (int(digit) * (1 + position % 2) for position, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled)  # noqa: PLR2004 - the sum of both digits


def is_iban(text: str) -> bool:
    """Return whether the text has the length and the checksum of an IBAN."""
    compact = text.replace(" ", "").upper()
    return len(compact) in _IBAN_CHARACTERS and iban_remainder(compact) == 1


def iban_remainder(compact: str) -> int:
    """Return the remainder modulo 97 of the number that an IBAN encodes, 1 for a valid IBAN."""
    return int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97


def _first_number(phone: str) -> str:
    """Return the phone number without other numbers after it: a phone number has at most 15 digits (E.164)."""
    while len(_digits(phone)) >= _PHONE_DIGITS.stop and (parts := re.match(r"(.+[0-9)])[ ./-]+", phone)):
        phone = parts[1]
    return phone


def _is_phone(text: str) -> bool:
    return len(_digits(text)) in _PHONE_DIGITS


def _is_ipv4(text: str) -> bool:
    return all(int(part) <= 255 for part in text.split("."))  # noqa: PLR2004 - an octet


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return len(text) > 3 and any(character in "0123456789abcdefABCDEF" for character in text)  # noqa: PLR2004 - `::1` identifies nobody


def _is_random(text: str) -> bool:
    """Return whether the text mixes upper case, lower case and digits, with high entropy."""
    if not (re.search("[a-z]", text) and re.search("[A-Z]", text) and len(re.findall("[0-9]", text)) > 1):
        return False
    counts = Counter(text)
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values()) > _ENTROPY_BITS


_KNOWN_KEYS = (
    r"\b(?:sk|pk|rk)-[A-Za-z0-9][A-Za-z0-9_-]{14,}",
    r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,}",
    r"\b(?:AKI|ASI|ABI|ACC)A[A-Z0-9]{12,}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}",
    r"\bpypi-[A-Za-z0-9_-]{30,}|\bdop_v1_[a-f0-9]{32,}|\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----(?:[\s\S]*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|[\s\S]*)",
)
_KEYS: tuple[_Pattern, ...] = (
    *(("secret", re.compile(pattern), _always) for pattern in _KNOWN_KEYS),
    ("secret", re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://[^\s:/@]{1,80}:([^\s:/@]{3,})@"), _always),
    ("secret", re.compile(r"\b[Bb]earer\s+([A-Za-z0-9._~+/-]{16,}=*)"), _always),
)
_SECRETS: tuple[_Pattern, ...] = (
    *_KEYS,
    ("secret", re.compile(r"(?<![A-Za-z0-9_+/-])[A-Za-z0-9_+/-]{32,}={0,2}(?![A-Za-z0-9_+/=-])"), _is_random),
)
_PHONES = (
    r"(?<![\w.+])(?:\+|00)[1-9][0-9]{0,2}(?:[ ./-]?\(?[0-9]{1,5}\)?){2,6}(?![\w])",
    r"(?<![\w.-])(?:\+?1[ .-]?)?\(?[2-9][0-9]{2}\)?[ .-][0-9]{3}[ .-][0-9]{4}(?![\w-])",
    r"(?<![\w.-])\(?0[0-9]{2,4}\)?[ /-](?:[0-9]{2,4}[ -]){0,3}[0-9]{3,8}(?![\w-])",
)
_PERSONAL: tuple[_Pattern, ...] = (
    *_SECRETS,
    (
        "secret",
        re.compile(
            r"(?:api[_-]?key|secret|token|password|passwd|pwd)[\"']?\s*[:=]\s*[\"']?([^\s\"',;&(){}\[\]]{6,})",
            re.IGNORECASE,
        ),
        _always,
    ),
    # A shortened value may have lost its domain.
    ("e-mail", re.compile(r"(?<![\w.%+'-])[\w.%+'-]+@[\w-]+(?:(?:\.[\w-]+)+|(?=…|\Z))"), _always),
    ("iban", re.compile(r"\b[A-Za-z]{2}[0-9]{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,3})?\b"), is_iban),
    ("card", re.compile(r"(?<![\w.])[0-9](?:[ -]?[0-9]){12,18}(?![\w])"), is_card_number),
    ("ip address", re.compile(r"(?<![\w.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![\w]|\.[0-9])"), _is_ipv4),
    ("ip address", re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])"), _is_ipv6),
    ("national id", re.compile(r"(?<![\w-])[0-9]{3}-[0-9]{2}-[0-9]{4}(?![\w-])"), _always),
    *(("phone", re.compile(pattern), _is_phone) for pattern in _PHONES),
    ("token", re.compile(r"(?<![A-Za-z0-9_-])(?:[0-9a-f]{32,}|[0-9A-F]{32,})(?![A-Za-z0-9_-])"), _always),
)
