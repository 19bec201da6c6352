"""Parses constraints in words: `sales.price between 0 and 10000`, `no nulls in x`, `end is after start`.

A sentence is one or more columns and a condition, or a form such as `no nulls in` and the columns. The whole sentence
must be understood, and must make sense for what the columns hold: else the result has no rules. Nothing is guessed.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TypeAlias

from flyteplugins_codegen.data.constraints.conditions import Reader
from flyteplugins_codegen.data.constraints.terms import NotApplicableError, Subject, Vocabulary
from flyteplugins_codegen.data.constraints.words import Conditions, Terms
from flyteplugins_codegen.models.data import AppliedConstraint, Rule

Stated: TypeAlias = list[tuple[Subject, Terms]]

_LEADS = re.compile(
    r"(?:(?:all|every|each|any|the|an?)\s+)*(?:(?:values?|entries|cells)\s+(?:of|in)\s+)?(?:the\s+)?(?:columns?\s+)?(?:the\s+)?",
    re.IGNORECASE,
)
_SIGN = re.compile(r"\s*(<=|>=|\u2264|\u2265|(?<![<>=!])[<>](?!=))\s*")
_MIRRORED = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<=", "\u2264": ">=", "\u2265": "<="})
# Words that say nothing beyond what every rule does: nulls satisfy it, and it holds in every row.
_EMPTY_WORDS = re.compile(
    r",? (?:if|when|where) (?:it is |they are )?(?:present|given|set|available|known|not (?:null|empty|missing))\Z"
    r"|,? (?:in|for) (?:all|every|each) (?:rows?|records?)\Z|,? please\Z",
    re.IGNORECASE,
)
_OR_NULL = re.compile(
    r"^(?:(?:is|must be|should be|may be|can be|be) )?(?:null|empty|missing|blank) or (?=\w)", re.IGNORECASE
)
_IF_PRESENT = re.compile(r", (?:if|when) (?:present|given|set|available),", re.IGNORECASE)


def read_constraint(text: str, vocabulary: Vocabulary) -> AppliedConstraint:
    """Parse a constraint into rules.

    The result has no rules but a reason if the constraint can never be applied, and neither if it is not understood.
    """
    sentence = " ".join(text.split())
    # `starts with 10.` ends with a value.
    is_value = re.search(r" (?:with|in) \d+\.\Z", sentence) is not None
    sentence = sentence if is_value else sentence.rstrip(".;! ")
    try:
        stated = _read_sentence(sentence, vocabulary) or []
    except NotApplicableError as error:
        return AppliedConstraint(text=text, read_by="grammar", reason=str(error))
    tables = {subject.table for subject, _ in stated}
    if len(tables) != 1:
        return AppliedConstraint(text=text)
    rules = tuple(Rule(column=subject.column, **terms) for subject, terms in stated)
    return AppliedConstraint(text=text, table=tables.pop(), rules=rules, read_by="grammar")


def _read_sentence(sentence: str, vocabulary: Vocabulary) -> Stated | None:
    """Read the whole sentence, or its clauses if every one of them is a sentence by itself."""
    sentence = _EMPTY_WORDS.sub("", _IF_PRESENT.sub("", sentence))
    stated = _read_clause(sentence, vocabulary)
    if stated is not None:
        return stated
    for joint in re.finditer(r"[,;]?\s+and\s+|[,;]\s+", sentence):
        first = _read_clause(sentence[: joint.start()], vocabulary)
        second = _read_sentence(sentence[joint.end() :], vocabulary) if first is not None else None
        if first is not None and second is not None:
            return first + second
    return None


def _read_clause(clause: str, vocabulary: Vocabulary) -> Stated | None:
    for read in (_read_table, _read_plainly, _read_chain, _read_form):
        stated = read(clause, vocabulary)
        if stated is not None:
            return stated
    return None


def _read_table(clause: str, vocabulary: Vocabulary) -> Stated | None:
    """`in orders, quantity is positive`."""
    for form in (
        r"in (?:the )?(?:table |sample )?(?P<table>\w+)[,:] (?P<rest>.+)",
        (
            r"(?:the )?(?:column )?(?P<rest>\S+) (?:in|of) (?:the )?(?:table |sample )?(?P<table>\w+)"
            r"(?P<end> (?:is|must|should|has|may|can)\b.+)"
        ),
    ):
        match = re.fullmatch(form, clause, re.IGNORECASE)
        if match is not None and match["table"] in vocabulary.tables:
            rest = match["rest"] + match.groupdict().get("end", "")
            return _read_clause(rest, vocabulary.within(match["table"]))
    return None


def _read_plainly(clause: str, vocabulary: Vocabulary) -> Stated | None:
    """Columns and a condition."""
    parsed = _read_subjects(clause, vocabulary) or _read_subjects(_spaced(clause), vocabulary)
    return None if parsed is None else _apply(parsed[0], parsed[1], vocabulary)


def _apply(subjects: list[Subject], condition: str, vocabulary: Vocabulary) -> Stated | None:
    """The condition on every subject; None if it makes no sense for one of them."""
    if len(subjects) == 2:  # noqa: PLR2004 - a pair
        pair = _read_pair(subjects, condition, vocabulary)
        if pair is not None:
            return pair
    condition = _OR_NULL.sub("", condition, count=1)
    stated: Stated = []
    for subject in subjects:
        terms = Reader(subject, vocabulary).read(condition)
        if terms is None or (len(subjects) > 1 and _may_mean_all_together(terms, condition)):
            return None
        stated += [(subject, term) for term in terms]
    return stated or None


def _may_mean_all_together(terms: Conditions, condition: str) -> bool:
    """`a and b are unique` may speak of the pair; `both unique` does not."""
    is_each = re.search(r"\b(?:both|each|all|individually|separately)\b", condition, re.IGNORECASE)
    return any(term["kind"] == "unique" for term in terms) and not is_each


def _read_pair(subjects: list[Subject], condition: str, vocabulary: Vocabulary) -> Stated | None:
    modal = r"(?:(?:must|should|are|have to|need to)\s+)?(?:always\s+)?(?:be\s+)?(?:(?P<no>not|never) )?"
    words = r"(?P<word>differ|different|distinct from each other|equal|identical|the same)"
    differ = re.fullmatch(modal + words, condition, re.IGNORECASE)
    if differ is None:
        return None
    is_different = differ["word"].casefold().startswith("di") == (differ["no"] is None)
    terms = Reader(subjects[0], vocabulary).against("!=" if is_different else "==", subjects[1])
    return None if terms is None else [(subjects[0], terms[0])]


def _spaced(sentence: str) -> str:
    """Put blanks around comparison signs: `end>start` becomes `end > start`."""
    return _SIGN.sub(r" \1 ", sentence.replace("!=", " != ").replace("==", " == ")).strip()


def _read_subjects(sentence: str, vocabulary: Vocabulary) -> tuple[list[Subject], str] | None:
    """Read the columns at the beginning of the sentence, joined by commas and `and`; return them and the rest."""
    subjects: list[Subject] = []
    rest = sentence
    while True:
        # First with its leading words, because a column may be called `value` or `the`.
        parsed = vocabulary.read(rest) or vocabulary.read(_without_lead(rest))
        if parsed is None:
            return None
        subjects.append(parsed[0])
        joint = re.match(r"\s*(?:,\s*(?:and\s+)?|and\s+|\s+and\s+)", parsed[1])
        following = parsed[1][joint.end() :] if joint else ""
        if joint is None or not (vocabulary.read(following) or vocabulary.read(_without_lead(following))):
            return subjects, _without_tail(parsed[1], subjects[-1].table)
        rest = following


def _without_lead(text: str) -> str:
    lead = _LEADS.match(text)
    return text[lead.end() :] if lead else text


def _without_tail(rest: str, table: str) -> str:
    """The rest without the words that say only once more what it is: `column`, `values`, `of the table t`."""
    rest = re.sub(rf"^\s*(?:in|of) (?:the )?(?:table )?{re.escape(table)}\b", "", rest)
    return re.sub(
        r"^\s*(?:values?|entries|columns?|field)\s+(?=(?:must|should|shall|is|are|has|have|needs?|can|may)\b)", "", rest
    ).strip()


# --- chains: `0 <= discount < 1`, `a <= b <= c` ---


def _read_chain(clause: str, vocabulary: Vocabulary) -> Stated | None:
    parts = _SIGN.split(clause)
    if len(parts) not in {3, 5} or not all(parts):
        return None
    stated: Stated = []
    for position in range(0, len(parts) - 1, 2):
        link = _read_link(parts[position], parts[position + 1], parts[position + 2], vocabulary)
        if link is None:
            return None
        stated += link
    return _merged(stated)


def _read_link(left: str, sign: str, right: str, vocabulary: Vocabulary) -> Stated | None:
    left, right = left.strip(), right.strip()
    for first, second, comparison in ((left, right, sign), (right, left, _MIRRORED[sign])):
        parsed = vocabulary.read(first)
        if parsed is not None and not parsed[1].strip():
            terms = Reader(parsed[0], vocabulary).read(f"{comparison} {second}")
            return None if terms is None else [(parsed[0], term) for term in terms]
    return None


def _merged(stated: Stated) -> Stated:
    """Two open ranges of one column as one: `0 < x` and `x < 1`."""
    if len(stated) == 2 and stated[0][0] == stated[1][0]:  # noqa: PLR2004 - a pair
        (subject, one), (_, other) = stated
        set_ends = [{name for name, end in terms.items() if end not in {None, False}} for terms in (one, other)]
        if one["kind"] == other["kind"] == "range" and set_ends[0] & set_ends[1] == {"kind"}:
            return [(subject, {**one, **{name: other[name] for name in set_ends[1]}})]
    return stated


# --- forms in which the column does not come first ---

_NULLS = r"nulls?|missing values?|empty (?:values?|cells?)|blanks?|null values?"
_REPEATED = r"duplicates?|duplicate values?|repeated values?|repeated|duplicate"
_ONE_LIMIT = r"(?:the )?(?P<columns>.+?)(?: is|:| =|) (?P<limit>[^\s:=]+)"
_ALLOWED = r"(?:allowed|valid|possible|permitted|accepted)"
_COMPARED = r"(?:above|over|below|under|before|after|(?:more|less|greater|larger|smaller) than|exceeds)"
# The form, and the condition on its columns; `{}` stands for what the form calls so.
_FORMS = (
    (rf"no (?:{_NULLS})(?: values?)?(?: allowed)? (?:in|for|of|within) (?P<columns>.+)", "not null"),
    (rf"no (?:{_REPEATED})(?: values?)?(?: allowed)?(?: in| for| of| within)? (?P<columns>.+)", "unique"),
    (r"no (?:missing|empty|null) (?P<columns>.+)", "not null"),
    (r"no negative (?:values?|numbers?)(?: allowed)? (?:in|for|of|within) (?P<columns>.+)", "not negative"),
    (r"no negative (?P<columns>.+)", "not negative"),
    (r"negative (?P<columns>.+?)(?: values?)? (?:is|are) (?:not allowed|forbidden|invalid)", "not negative"),
    (r"no two (?:rows|records|\w+s) (?:may |can |must )?(?:share|have) the same (?P<columns>.+)", "unique"),
    (
        (
            r"(?:each|every) (?P<columns>.+?) (?:must |should |may |can )?(?:(?:only )?(?:occurs?|appears?)|is listed) "
            r"(?:only |exactly |at most )?once(?: only)?"
        ),
        "unique",
    ),
    (r"(?:exactly )?one (?:row|record|line) (?:per|for each|for every) (?P<columns>.+)", "unique"),
    (
        r"(?:each|every) (?P<noun>[a-z]+) (?:must )?(?:has|have|needs|contains?) (?:an? |the )?(?P<columns>.+)",
        "not null",
    ),
    (rf"the max(?:imum)?\.? (?:value )?(?:of|for) {_ONE_LIMIT}", "at most {limit}"),
    (rf"(?:the )?max(?:imum)?\.? (?:allowed )?{_ONE_LIMIT}", "at most {limit}"),
    (rf"the min(?:imum)?\.? (?:value )?(?:of|for) {_ONE_LIMIT}", "at least {limit}"),
    (rf"(?:the )?min(?:imum)?\.? (?:allowed )?{_ONE_LIMIT}", "at least {limit}"),
    (r"max\((?P<columns>[^()]+)\) (?P<sign><=?) (?P<limit>\S+)", "{sign} {limit}"),
    (r"min\((?P<columns>[^()]+)\) (?P<sign>>=?) (?P<limit>\S+)", "{sign} {limit}"),
    (
        (
            rf"(?:the )?{_ALLOWED} (?:values? )?(?:for |of |in )?(?P<columns>[\w.]+)(?: values?)?(?: are| is|:)+ "
            r"(?P<items>.+)"
        ),
        "one of {items}",
    ),
    (rf"only (?P<items>.+?) (?:is|are) {_ALLOWED} (?:in|for|as) (?P<columns>[\w. ]+)", "one of {items}"),
    (
        (
            rf"(?P<columns>[\w. ]+?)(?: values)? other than (?P<items>.+?) (?:is|are) "
            rf"(?:not {_ALLOWED}|invalid|forbidden)"
        ),
        "one of {items}",
    ),
    (
        r"the length of (?P<columns>[\w. ]+?) (?P<rest>(?:is|must|should|has|may|can).+?)(?: characters| chars)?",
        "{rest} characters",
    ),
    (r"neither (?P<columns>.+) (?:is|are|may be|may|can be|must be|should be) (?P<rest>.+)", "not {rest}"),
    (
        r"(?P<rest>(?:no|at) (?:more|less|fewer|most|least)\b(?: than)? \S+) (?:in|for) (?P<columns>[\w. ]+)",
        "{rest}",
    ),
    (rf"no (?P<columns>[\w.]+) (?:is |are |may be |can be |must be )?(?P<rest>{_COMPARED} .+)", "not {rest}"),
)


def _read_form(clause: str, vocabulary: Vocabulary) -> Stated | None:
    clause = re.sub(r"^there (?:are|is|must be|should be|may be|can be) (?=no )", "", clause, flags=re.IGNORECASE)
    for pattern, condition in _FORMS:
        match = re.fullmatch(pattern, clause, re.IGNORECASE)
        subjects = _only_columns(match["columns"], vocabulary) if match else None
        if match is None or subjects is None:
            continue
        noun = match.groupdict().get("noun")
        if noun and vocabulary.read(noun):
            return None  # `every carrier has a name` speaks of carriers, not of rows
        stated = _apply(subjects, condition.format(**match.groupdict()), vocabulary)
        if stated is not None:
            return stated
    return None


def _only_columns(text: str, vocabulary: Vocabulary) -> list[Subject] | None:
    """The columns that the text lists, None if it holds anything else."""
    parsed = _read_subjects(re.sub(r"\s+(?:nor|or)\s+", " and ", text.strip()), vocabulary)
    return None if parsed is None or parsed[1] else parsed[0]
