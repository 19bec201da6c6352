"""Conditions on a column in words: `between 0 and 10`, `not before start`, `one of A, B`, `unique and not null`.

Every word of a condition must be understood, and must make sense for what the column holds; else it is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flyteplugins_codegen.data.constraints.bounds import Limit, read_limit
from flyteplugins_codegen.data.constraints.terms import NotApplicableError, Subject, Vocabulary, read_pattern
from flyteplugins_codegen.data.constraints.values import read_pattern_in_words, read_values
from flyteplugins_codegen.data.constraints.words import (
    BETWEEN_LEAD,
    ENDS,
    JOINTS,
    LESS,
    MATCHES,
    MORE,
    ONE_OF,
    OPPOSITES,
    SIMPLE,
    SIMPLE_NEGATED,
    TYPED,
    TYPES,
    Conditions,
    Terms,
    bounded,
    read_comparison,
    read_modal,
    spaced,
    span,
)

_NUMERIC = frozenset({"number", "unknown"})
_FIRST_YEAR, _LAST_YEAR = 1000, 2999


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads conditions on one column; other columns of the vocabulary may be compared with it."""

    subject: Subject
    vocabulary: Vocabulary

    def read(self, text: str) -> Conditions | None:
        """Return the conditions that the whole text states, joined by `and`; None if a part of it is not understood.

        Raises:
            NotApplicableError: a condition can never hold, or cannot be checked.
        """
        text = text.strip().lstrip(":,").strip()
        whole = self._read_one(text)
        if whole is not None:
            return whole
        for joint in re.finditer(r"\s+but (?=not )|,?\s+and\s+|,\s+(?=[<>])", text):
            first, second = self._read_one(text[: joint.start()]), self.read(text[joint.end() :])
            if first is not None and second is not None:
                # `4 letters and 4 digits` are parts of one text.
                is_one_text = sum(terms["kind"] == "matches" for terms in (*first, *second)) > 1
                return None if is_one_text else (*first, *second)
        return None

    def _read_one(self, text: str) -> Conditions | None:
        pattern = MATCHES.match(text)
        if pattern is not None:
            written = read_pattern(pattern[1].strip())
            return None if written is None else ({"kind": "matches", "pattern": written},)
        text = spaced(text)
        # What is permitted beside it needs no check: `may be zero but not negative`.
        text = re.sub(r"^(?:may|can) be [\w ]+ but (?=(?:must |may |can )?not )", "", text)
        modal = read_modal(text)
        if modal.is_shared:
            return None
        neither = re.fullmatch(r"neither (.+)", modal.words, re.IGNORECASE)
        if neither is not None and not modal.is_negated:
            return self._none_of(re.sub(r",? nor ", " or ", neither[1]))
        if modal.is_permission:
            items = re.sub(r"\s+only\Z", "", ONE_OF.sub(r"\g<items>", modal.words))
            return self._one_of(items, least=2)
        if modal.is_negated:
            return self._read_negated(modal.words)
        return self._read_stated(modal.words, text)

    # --- stated ---

    def _read_stated(self, words: str, text: str) -> Conditions | None:
        stem = re.sub(r"\s+only\Z", "", words)
        for read in (
            self._simple,
            self._typed,
            self._length,
            self._in_words,
            self._order,
            self._compared,
            self._between,
            self._one_of,
            self._other_than,
        ):
            terms = read(stem)
            if terms is not None:
                return terms
        # `contains "-"` loses its verb as a modal.
        return self._in_words(text)

    def _simple(self, words: str) -> Conditions | None:
        return self._first(SIMPLE, words)

    def _first(self, table: tuple[tuple[str, Conditions], ...], words: str) -> Conditions | None:
        terms = next((terms for pattern, terms in table if re.fullmatch(pattern, words, re.IGNORECASE)), None)
        is_numeric = terms is not None and terms[0]["kind"] in {"range", "none_of"}
        if is_numeric and self.subject.facts.kind not in _NUMERIC:
            return None
        if words.casefold() in {"given", "provided"} and _are_truth_words(self.subject):
            return None  # `consent must be given` is about its value
        return terms

    def _typed(self, words: str) -> Conditions | None:
        match = TYPED.fullmatch(words)
        if match is None:
            return None
        kind = next(kind for kind, pattern in TYPES if re.fullmatch(pattern, match["type"], re.IGNORECASE))
        terms: list[Terms] = [{"kind": "unique"}] if match["unique"] else []
        terms += [{"kind": "type", "type": kind}] if kind else []
        for part in (match["sign"], match["rest"]):
            more = self._read_stated(part, part) if part else ()
            if more is None or (part and more[0]["kind"] not in {"range", "one_of", "none_of"}):
                return None
            terms += more
        return tuple(terms) or None

    def _length(self, words: str) -> Conditions | None:
        named = re.fullmatch(r"(?:exactly )?(?:an? )?(?:length )(?:of |is )?(.+)", words, re.IGNORECASE)
        counted = re.fullmatch(
            r"(?:consists? of )?(.+?)[\s-](?:characters?|chars?)(?: long| in length)?", words, re.IGNORECASE
        )
        longer = re.fullmatch(r"(longer|shorter) than (.+?) (?:characters?|chars)", words, re.IGNORECASE)
        text = longer[2] if longer else counted[1] if counted else named[1] if named else None
        if text is None:
            return None
        lengths = Reader(Subject("", ""), Vocabulary({}))
        plain = re.sub(r"^(?:exactly|of) ", "", text, flags=re.IGNORECASE)
        exact = read_limit(plain, lengths.subject)
        if longer is not None:
            terms = None if exact is None else bounded(">" if longer[1].lower() == "longer" else "<", exact)
        elif exact is not None:
            terms = span(exact.first, exact.first)
        else:
            terms = lengths._compared(plain) or lengths._between(plain)
        if terms is None or not all(isinstance(terms[0].get(end) or 0, int) for end in ("minimum", "maximum")):
            return None
        return ({**terms[0], "kind": "length"},)

    def _in_words(self, words: str) -> Conditions | None:
        pattern = read_pattern_in_words(words, self.subject, is_negated=False)
        return None if pattern is None else ({"kind": "matches", "pattern": pattern},)

    def _order(self, words: str) -> Conditions | None:
        found = read_comparison(words)
        # In `status equals "end"` the quotes mark a value.
        if found is None or found[2][0] in "\"'":
            return None
        sign, is_about_time, rest = found
        other = self.vocabulary.read(re.sub(r"^the ", "", rest)) or self.vocabulary.read(rest)
        if other is None or other[1].strip():
            return None
        return self.against(sign, other[0], is_about_time=is_about_time)

    def against(self, sign: str, other: Subject, *, is_about_time: bool = False) -> Conditions | None:
        """Return the comparison with another column; None if the two hold what cannot be compared so.

        Raises:
            NotApplicableError: the other column is in another table.
        """
        if other.table != self.subject.table:
            raise NotApplicableError(f"{self.subject.column!r} and {other.column!r} are columns of different tables")
        kinds = {self.subject.facts.kind, other.facts.kind} - {"unknown"}
        is_ordered = not kinds or kinds <= {"number"} or kinds <= {"time"} or kinds <= {"clock"}
        if len(kinds) > 1 or not (is_ordered or sign in {"==", "!="}):
            return None
        if is_about_time and kinds == {"number"} and not (self.subject.facts.has_years and other.facts.has_years):
            return None
        return ({"kind": "order", "comparison": sign, "other_column": other.column},)

    def _compared(self, words: str) -> Conditions | None:
        found = read_comparison(words)
        if found is None or found[0] in {"==", "!="}:
            return self._suffixed(words)
        sign, is_about_time, rest = found
        is_open = re.fullmatch(r"from .+? (?:on|onwards?)", words, re.IGNORECASE)
        if words[:5].casefold() == "from " and not is_open:
            return None
        rest = re.sub(r" (?:on|onwards?)\Z", "", rest) if is_open else rest
        limit = self.limit(rest, is_about_time=is_about_time)
        # `until 2024` may or may not mean the year as well.
        is_vague = re.match(r"until|till|by|up to", words, re.IGNORECASE) and limit and limit.first != limit.last
        return None if limit is None or is_vague else bounded(sign, limit)

    def _suffixed(self, words: str) -> Conditions | None:
        match = re.fullmatch(r"(.+?)(?: (?:or|and) (?P<word>\w+)|(?P<plus>\+))", words, re.IGNORECASE)
        word = (match["word"] or "more").casefold() if match else ""
        if match is None or word not in {*MORE, *LESS}:
            return None
        is_age = "age" in re.findall(r"[a-z]+", self.subject.column.casefold())
        if word in {"older", "younger"} and not is_age:
            return None
        limit = self.limit(match[1], is_about_time=word in {"later", "earlier"})
        return None if limit is None else bounded(">=" if word in MORE else "<=", limit)

    def limit(self, text: str, *, is_about_time: bool) -> Limit | None:
        """Return the bound that the text is for the column; a year after `before` only for a column of years."""
        facts = self.subject.facts
        limit = read_limit(text, self.subject)
        if limit is None or limit.is_time or not is_about_time:
            return limit
        is_year = facts.has_years and _FIRST_YEAR <= float(limit.first) <= _LAST_YEAR
        return limit if is_year else None

    def _between(self, words: str) -> Conditions | None:
        lead = BETWEEN_LEAD.match(words)
        assert lead is not None  # noqa: S101 - its last branch is empty
        text = words[lead.end() :]
        ends = ENDS.search(text)
        text = text[: ends.start()] if ends else text
        interval = re.fullmatch(r"(?P<open>[\[(\]])?\s*(?P<inner>.+?)\s*(?P<close>[\])\[])?", text)
        if interval is None or bool(interval["open"]) != bool(interval["close"]):
            return self._period(words)
        # `in [6, 8]` may be a list.
        is_list = re.match(r"in \Z|\Z", lead[0], re.IGNORECASE) and interval["open"] in {"[", "("}
        if is_list and (interval["open"], interval["close"]) in {("[", "]"), ("(", ")")}:
            return None
        limits = self._ends_of(interval["inner"], is_bracketed=bool(interval["open"]), lead=lead[0])
        if limits is None:
            return self._period(words)
        low, high = limits
        if low.is_time != high.is_time or low.first > high.first:  # type: ignore[operator]  # both have one type
            raise NotApplicableError(f"nothing is between {low.first} and {high.last}")
        is_open = bool(lead["strictly"]) or (ends is not None and "ex" in (ends["ends"] or "").casefold())
        excluded = self.limit(ends["end"], is_about_time=False) if ends is not None and ends["end"] else None
        if ends is not None and ends["end"] and excluded not in (low, high):
            return None
        is_out = excluded is not None and ends is not None and ends["fate"].casefold().startswith("ex")
        return span(
            low.last if is_open or interval["open"] == "(" else low.first,
            high.first if is_open or interval["close"] == ")" else high.last,
            excludes_minimum=is_open or interval["open"] in {"(", "]"} or (is_out and excluded == low),
            excludes_maximum=is_open or interval["close"] in {")", "["} or (is_out and excluded == high),
        )

    def _ends_of(self, inner: str, *, is_bracketed: bool, lead: str) -> tuple[Limit, Limit] | None:
        # `0, 1` is a list, `[0, 1]` an interval; `in 1 and 2` is neither.
        is_between = "between" in lead.casefold() or "range" in lead.casefold() or "within" in lead.casefold()
        joints = (r"\s*[,;]\s*",) if is_bracketed else JOINTS if is_between else JOINTS[1:]
        for joint in joints:
            parts = re.split(joint, inner)
            if len(parts) != 2:  # noqa: PLR2004 - an interval has two ends
                continue
            unit = re.search(r"(?<=\d)\s?([^\d\s.,()\-][^\d]*)\Z", parts[1])
            is_bare = re.search(r"\d\Z", parts[0]) is not None
            if unit and is_bare and re.match(r"(?:k|thousand|[mb]illion)\b", unit[1], re.IGNORECASE):
                return None  # `30 to 200k` may begin with 30 or 30,000
            low = f"{parts[0]} {unit[1]}" if unit and is_bare else parts[0]
            limits = self.limit(low, is_about_time=False), self.limit(parts[1], is_about_time=False)
            if limits[0] is not None and limits[1] is not None:
                return limits[0], limits[1]
        return None

    def _period(self, words: str) -> Conditions | None:
        """`in 2024`, `lies in June 2024`, `during the year 2013`."""
        match = re.fullmatch(r"(?:lies? |falls? )?(?:in|during|within) (.+)", words, re.IGNORECASE)
        if match is None or self.subject.facts.kind != "time":
            return None
        limit = read_limit(match[1], self.subject)
        return None if limit is None or limit.first == limit.last else span(limit.first, limit.last)

    def _one_of(self, words: str, *, least: int = 1) -> Conditions | None:
        match = ONE_OF.fullmatch(words)
        text = match["items"] if match else words
        if match is not None and re.match(r"(?:exactly )?one of", words, re.IGNORECASE):
            listed = self._between(text) if re.fullmatch(r"-?\d+\s?(?:-|\u2013|\.\.)\s?\d+", text) else None
            if listed is not None:
                return listed
        is_single = re.match(r"equal|=", words, re.IGNORECASE)
        items = read_values(text, self.subject, least=least)
        # Without a sample, one word may be anything: `is open`.
        if items is None or (is_single and len(items) > 1) or (match is None and self._is_bare(items, text)):
            return None
        if words[:3].casefold() == "in " and len(items) == 1 and text[0] not in "[({":
            return None
        # `in (6, 8)` may be a range.
        is_pair = len(items) == 2 and text[0] in "[("  # noqa: PLR2004 - a pair
        if is_pair and self.subject.facts.kind in _NUMERIC and _are_numbers(items):
            return None
        return ({"kind": "one_of", "values": items},)

    def _is_bare(self, items: tuple[str, ...], text: str) -> bool:
        return self.subject.facts.kind == "unknown" and text[:1] not in "\"'[({" and len(items) == 1

    def _other_than(self, words: str) -> Conditions | None:
        match = re.fullmatch(r"(?:anything (?:but|except)|!=|<>|\u2260|different from) (.+)", words, re.IGNORECASE)
        items = read_values(match[1], self.subject) if match else None
        return ({"kind": "none_of", "values": items},) if items and len(items) == 1 else None

    # --- negated ---

    def _read_negated(self, words: str) -> Conditions | None:
        simple = self._first(SIMPLE_NEGATED, words)
        if simple is not None:
            return simple
        again = re.fullmatch(r"not (.+)", words)
        if again is not None:
            return self._read_stated(again[1], again[1])
        outside = re.fullmatch(r"(?:outside|out of)(?: of)? (?:the )?(?:range )?(?:of )?(.+)", words, re.IGNORECASE)
        if outside is not None:
            return self._between(f"between {outside[1]}") or self._between(outside[1])
        pattern = read_pattern_in_words(words, self.subject, is_negated=True)
        if pattern is not None:
            return ({"kind": "matches", "pattern": pattern},)
        return (
            self._order_negated(words) or self._compared_negated(words) or self._none_of(words) or self._neither(words)
        )

    def _neither(self, words: str) -> Conditions | None:
        """`empty or longer than 255 characters`, of which neither may hold."""
        first, joint, second = words.partition(" or ")
        parts = [self._read_negated(part) for part in (first, second)] if joint else []
        if not (parts and parts[0] and parts[1]):
            return None
        kinds = parts[0][0]["kind"], parts[1][0]["kind"]
        # In `below 5 or 6` and `start with A or B`, the second is a part of the first.
        is_part = kinds[0] == "matches" or (kinds[1] == "none_of" and kinds[0] not in {"none_of", "not_null"})
        return None if is_part else (*parts[0], *parts[1])

    def _order_negated(self, words: str) -> Conditions | None:
        terms = self._order(words)
        return None if terms is None else ({**terms[0], "comparison": OPPOSITES[terms[0]["comparison"]]},)

    def _compared_negated(self, words: str) -> Conditions | None:
        longer = re.fullmatch(r"(longer|shorter) than (.+?) (?:characters?|chars)", words, re.IGNORECASE)
        if longer is not None:
            return self._length(f"at {'most' if longer[1].lower() == 'longer' else 'least'} {longer[2]} characters")
        counted = re.fullmatch(r"(.+?) (?:characters|chars)", words, re.IGNORECASE)
        reader = Reader(Subject("", ""), Vocabulary({})) if counted else self
        found = read_comparison(counted[1] if counted else words)
        if found is None or found[0] in {"==", "!="}:
            return None
        sign, is_about_time, rest = found
        limit = reader.limit(rest, is_about_time=is_about_time)
        terms = None if limit is None else bounded(OPPOSITES[sign], limit)
        return ({**terms[0], "kind": "length"},) if terms and counted else terms

    def _none_of(self, words: str) -> Conditions | None:
        listed = re.fullmatch(r"(?:one of|in|any of|equal to|equals?|either)\s*:?\s*(.+)", words, re.IGNORECASE)
        items = read_values(listed[1] if listed else words, self.subject)
        is_bare = listed is None and items is not None and self._is_bare(items, words)
        # `not A and B` may forbid either, or only both.
        if not items or is_bare or (listed is None and re.search(r"\band\b", words)):
            return None
        return ({"kind": "none_of", "values": items},)


def _are_numbers(items: tuple[str, ...]) -> bool:
    return all(re.fullmatch(r"[+-]?[\d.]+", item) for item in items)


def _are_truth_words(subject: Subject) -> bool:
    return {value.casefold() for value in subject.facts.values} <= {"yes", "no", "y", "n", "true", "false", "0", "1"}
