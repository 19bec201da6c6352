"""What a job's description says that decides which derived files are fair to compare two programs on."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass

# Words after which the order of the rows may matter to the result. Too many rather than too few: each costs a case.
_ROW_ORDER = re.compile(
    r"\b(?:first|last|previous(?:ly)?|prior|preceding|next|following row|running|cumulative(?:ly)?|cumsum|"
    r"consecutive(?:ly)?|successive|lag(?:s|ged)?|rolling|moving|sequen\w+|streaks?|in a row|adjacent|shift(?:ed|s)?|"
    r"neighbou?r\w*|as they (?:appear|stand|come|occur)|position|nth|"
    r"(?:file|input|original|given|row|same) order|order of (?:the )?(?:file|rows?|input|appearance|"
    r"lines?|records?|sample)|"
    r"order in which|(?:row|line) numbers?|at which (?:row|line)|index|forward.?fill\w*|back.?fill\w*|"
    r"ffill|bfill|interpolat\w+|"
    r"exponential\w*|window\w*|gaps?|sessions?|interrupted|yesterday|changes? (?:from|between|since)|drawdown\w*|"
    r"(?:day|week|month|year|row|value|one|reading|record|entry|event|line)s? (?:before|after)|before it|after it|"
    r"stays? (?:above|below)|(?:keep|preserv|maintain|retain)\w* (?:\w+ )?order|earlier rows?|"
    r"later rows?|up to (?:then|that))\b",
    re.IGNORECASE,
)
# Where an output is sorted, or the first day of a month is meant: no order of rows.
_SORTED_FIRST = re.compile(
    r"\b(?:alphabetical(?:ly)?|\w{2,}est|most|least|fewest|worst|best)\b[^.;:]{0,60}?\bfirst\b"
    r"(?! (?:row|line|value|reading|order|entry|record|event|visit|in the)\b)|"
    r"\bfirst (?:day|month|name|letters?|header)\b|\blast names?\b|\binterquartile range\b|"
    r"\blast, by \w+|\bLast, First\b|\bthe next rank\b|\bindex of\b",
    re.IGNORECASE,
)
_UNMATCHED = re.compile(
    r"\b(?:unmatched|no match\w*|without (?:a )?(?:match\w*|counterpart|partner)|unknown \w+s?|"
    r"not (?:found |listed |known |contained )?in (?:the )?(?:other )?\w+|(?:missing|absent) (?:from|in) (?:the )?\w+|"
    r"(?:that|which|who) (?:is|are) (?:not|missing) (?:found |listed )?in|"
    r"has no (?:row|entry|record)s?|have no (?:row|entry|record)s?|no (?:row|entry|record) in)\b",
    re.IGNORECASE,
)
_COLUMN_POSITIONS = re.compile(
    r"\b(?:(?:first|second|third|fourth|fifth|last|leftmost|rightmost|\d+(?:st|nd|rd|th)) (?:\w+ )?columns?|"
    r"columns? (?:number |no\. ?)?\d+|order of (?:the )?columns|column order|other columns|"
    r"remaining columns|all columns|"
    r"same columns|every column)\b",
    re.IGNORECASE,
)
_DUPLICATES = re.compile(
    r"\b(?:duplicat\w*|de-?dup\w*|unique\w*|distinct\w*|different|repeat\w*|ids?|identifiers?|keys?|once|twice|"
    r"one row (?:per|for each|for every|a)|each row is)\b",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"\b(?:missing|nulls?|nans?|empty|blanks?|absent|unknown|not (?:given|known|recorded|available|filled)|"
    r"without an? \w+|no value|incomplete|have one|has one|n/a)\b",
    re.IGNORECASE,
)
# Beside the name of a column: nothing else in a sentence says that its values may be missing.
_MISSING_AFTER = re.compile(
    r"[`'\"]?[ (,]{1,3}(?:which |that )?(?:is |are )?(?:may be|can be|could be|might be|is|are|"
    r"sometimes|often|possibly|or) (?:sometimes |often )?"
    r"(?:missing|null|empty|blank|absent|unknown|not (?:known|given|recorded))\b",
    re.IGNORECASE,
)
_MISSING_BEFORE = re.compile(
    r"\b(?:rows?|lines?|records?|those|entries|readings?) "
    r"(?:without|with no|with an? (?:missing|null|empty|blank|unknown)) (?:an? |the )?[`'\"]?$",
    re.IGNORECASE,
)
_TIES = re.compile(
    r"\b(?:ties?|tied|tie-?break\w*|draws?|"
    r"(?:same|equal|identical) (?:number|count|total|value|frequenc|sum|score|mean|amount|date|length|revenue|rank)\w*|"
    r"equals? (?:totals|counts|values|means|scores|sums|amounts|numbers)|"
    r"(?:are|is) (?:equal|the same)|equally)\b",
    re.IGNORECASE,
)
_SORT = r"(?:sort(?:ed|s|ing)?(?: the \w+)?|order(?:ed|ing)?|arranged?|ranked)"
_SECOND_KEY = re.compile(
    rf"\b(?:then|and then|followed) by\b|, then \w+|"
    rf"\b{_SORT}\b(?: \w+){{0,3}} (?:by|on)\b[^.;:]*?(?:\bwithin\b|\band,? (?:where|for|if|when|in case)\b)|"
    rf"\b{_SORT}\b(?: (?:in )?(?:ascending|descending|increasing|decreasing)(?: order)?)? (?:by|on) (?:the )?"
    r"(?:\(\s*\w+\s*,|\w+(?: \(\w+\))?(?: (?:ascending|descending))?(?:,| and(?: by)?) \(?(?!largest|smallest|"
    r"highest|lowest|most|least|newest|oldest|latest|earliest|biggest|descending|ascending|desc|asc|"
    r"with|where|the|write|"
    r"keep|give|from|both|output|save|return|take|rounded?|round)\w+)",
    re.IGNORECASE,
)

_MEANS_AT_LEAST = (
    r"at least|a? ?minimum(?: of)?|no less than|not less than|not below|not under|>=|≥|"
    r"since|starting (?:from|on|at|with)"
)
_MEANS_MORE = (
    r"(?:strictly )?(?:more|greater|larger|higher|older|bigger|later|longer|heavier) than|"
    r"over|above|exceed(?:s|ing)?|>|after"
)
_MEANS_AT_MOST = r"at most|a? ?maximum(?: of)?|no more than|not more than|not above|not over|up to and including|<=|≤"
_MEANS_LESS = (
    r"(?:strictly )?(?:less|fewer|smaller|lower|younger|earlier|shorter|lighter) than|below|under|<|before|prior to"
)
_CLEAR_BEFORE = re.compile(
    rf"(?:(?<!\w)(?:{_MEANS_AT_LEAST}|{_MEANS_MORE}|{_MEANS_AT_MOST}|{_MEANS_LESS}))(?: (?:or equal to|"
    rf"a|an|the))*\s*[$€£]?$",
    re.IGNORECASE,
)
_CLEAR_AFTER = re.compile(
    r"^[^.;,\d]{0,40}\b(?:or|and) (?:more|above|over|higher|greater|older|later|less|below|"
    r"fewer|lower|under|earlier)\b|"
    r"^[^.;]{0,30}\b(?:inclusive|exclusive|included|excluded)\b",
    re.IGNORECASE,
)
# Numbers that are no values of a column.
_OTHER_NUMBER_BEFORE = re.compile(
    r"(?:\b(?:top|first|last|bottom|best|worst|rounded to|round to|to|every|next|previous|times|bins? of|"
    r"multipl\w+ by|divid\w+ by|plus|minus|version|column|row|line|quarter|percentile|quantile)|[*/^+#_])\s*$",
    re.IGNORECASE,
)
_OTHER_NUMBER_AFTER = re.compile(
    r"^(?:\s*(?:[-\s]?(?:decimals?|digits?|places?|rows?|columns?|lines?|bins?|groups?|characters?|"
    r"letters?|chars|records?|"
    r"times|samples?|st\b|nd\b|rd\b|th\b|observations?|measurements?|readings?|values?|entries|"
    r"percent of|% of))|[*/^_]|-\w)",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[,:(]|\b(?:and|or)\b", re.IGNORECASE)
_TIME_UNIT = re.compile(
    r"^[-\s](?:full |whole )?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|quarters?)\b", re.IGNORECASE
)
_OVER = re.compile(r"\bover (?:the )?$", re.IGNORECASE)
_BREAK_CHARACTERS = 15
_DATE = re.compile(r"(?<![\w-])(\d{4}-\d\d-\d\d)(?![\w-]|:)")
_NUMBER = re.compile(r"(?<![\w.,-])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w]*\d|[.,]\d)")
_COUNT_BEFORE = re.compile(r"(?:at least|more than|fewer than|less than|at most|minimum of)\s*$", re.IGNORECASE)
_LARGEST_COUNT = 50
_CLAUSE_END = re.compile(r"[.;!?](?=\s|$)|\n")


@dataclass(frozen=True, slots=True)
class Border:
    """A number or date that a description names beside a column; `is_clear` if a word says on which side it counts."""

    value: float | dt.date
    column: str
    is_clear: bool


def speaks_of_row_order(description: str) -> bool:
    """Whether the result may depend on the order of the rows."""
    return _ROW_ORDER.search(_SORTED_FIRST.sub(" ", description)) is not None


def speaks_of_column_positions(description: str) -> bool:
    """Whether columns are named by their place."""
    return _COLUMN_POSITIONS.search(description) is not None


def speaks_of_duplicates(description: str) -> bool:
    """Whether it matters that rows or values repeat."""
    return _DUPLICATES.search(description) is not None


def speaks_of_unmatched(description: str) -> bool:
    """Return whether a description says what becomes of a row without a counterpart in another table."""
    return _UNMATCHED.search(description) is not None


def speaks_of_missing_values(description: str, column: str = "") -> bool:
    """Whether it says what becomes of missing values; of those of one column, beside its name."""
    if not column:
        return _MISSING.search(description) is not None
    return any(
        _MISSING_AFTER.match(description[end:]) or _MISSING_BEFORE.search(description[:start])
        for start, end in _column_places(column, description)
    )


def speaks_of_ties(description: str) -> bool:
    """Whether it says what becomes of equal values: by name, or by a second key to sort by."""
    return _TIES.search(description) is not None or _SECOND_KEY.search(description) is not None


def find_column(name: str, text: str) -> int | None:
    """Return where a text names a column, blanks and underscores alike; None where it does not.

    A name of one letter must be quoted, or stand after the word "column".
    """
    return next((start for start, _ in _column_places(name, text)), None)


def find_borders(description: str, columns: tuple[str, ...]) -> tuple[Border, ...]:
    """Return the numbers and dates of a description with the column that is named nearest, in the same sentence."""
    found: dict[tuple[str, float | dt.date], Border] = {}
    start = 0
    for end in [*(match.start() for match in _CLAUSE_END.finditer(description)), len(description)]:
        for border in _borders_of(description[start:end], columns):
            known = found.get((border.column, border.value))
            if known is None or border.is_clear:
                found[border.column, border.value] = border
        start = end + 1
    return tuple(found.values())


def _borders_of(sentence: str, columns: tuple[str, ...]) -> Iterator[Border]:
    places = [(place, name) for name in columns for place in _column_places(name, sentence)]
    dates = list(_DATE.finditer(sentence))
    covered = {position for match in dates for position in range(*match.span())}
    covered |= {position for place, _ in places for position in range(*place)}
    numbers = [match for match in _NUMBER.finditer(sentence) if match.start() not in covered]
    for match in (*dates, *numbers):
        before, after = sentence[: match.start()], sentence[match.end() :]
        is_other = _OTHER_NUMBER_BEFORE.search(before) or _OTHER_NUMBER_AFTER.match(after)
        is_clear = bool(_CLEAR_BEFORE.search(before) or _CLEAR_AFTER.match(after))
        value = _border_value(match[0])
        is_span = _TIME_UNIT.match(after) and (not is_clear or _OVER.search(before))
        if places and value is not None and not is_span and (is_clear or not is_other):
            _, name = min((_distance(place, match, sentence), name) for place, name in places)
            yield Border(value, name, is_clear)


def _distance(place: tuple[int, int], number: re.Match[str], sentence: str) -> int:
    """Return how far a column's name is from a number. A comma, a colon or an "and" between them counts a lot."""
    start, end = place
    between = sentence[end : number.start()] if end <= number.start() else sentence[number.end() : start]
    return len(between) + _BREAK_CHARACTERS * len(_BREAK.findall(between))


def _border_value(text: str) -> int | float | dt.date | None:
    if _DATE.fullmatch(text):
        try:
            return dt.date.fromisoformat(text)
        except ValueError:
            return None
    number = float(text.replace(",", ""))
    return int(number) if number.is_integer() else number


def _column_places(name: str, text: str) -> Iterator[tuple[int, int]]:
    words = [re.escape(word) for word in re.split(r"[\s_-]+", name.strip()) if word]
    if not words:
        return
    spelled = r"[\s_-]+".join(words)
    if len(name.strip()) > 1:
        pattern = rf"(?<![A-Za-z0-9_]){spelled}(?![A-Za-z0-9_])"
    else:
        pattern = rf"(?<=[`'\"]){spelled}(?=[`'\"])|(?<=\bcolumn ){spelled}\b"
    for match in re.finditer(pattern, text, re.IGNORECASE):
        yield match.span()


def find_counts(description: str) -> tuple[int, ...]:
    """Return the whole numbers that a description sets as a border for how many there are of something."""
    found = []
    for match in _NUMBER.finditer(description):
        before, after = description[: match.start()], description[match.end() :]
        number = _border_value(match[0])
        is_count = _COUNT_BEFORE.search(before) and re.match(r"\s+(?:\w+ ){0,2}\w{2,}s\b", after)
        if is_count and isinstance(number, int) and 1 < number <= _LARGEST_COUNT:
            found.append(number)
    return tuple(dict.fromkeys(found))
