"""Settings line by line: YAML's `key: value`, TOML's and INI's `key = value` under `[sections]`."""

from __future__ import annotations

import re
from typing import Final

_MAX_LINES: Final = 30
_YAML_LINE: Final = re.compile(
    r"\s*(?:- )*(?:[\w./$-]+|\"\"|''|<<|\?)(?: [\w-]+)?:(?: +(?![=:])[^;{]*(?:[^;{,]|\{[^}]*\}|\[\{[^\[\]]*\}\])| \{\}|)$|"
    r"\s*-(?: [^;{}()=]*)?$|---$|\.\.\.$"
)
_YAML_BLOCK: Final = re.compile(r"\s*(?:- )?[\w.-]+: *[|>][-+]?$")
_PHRASE: Final = re.compile(r"(?:[A-Z][\w -]*: |- )[A-Za-z][\w',]* [\w',]+ [\w',]+|[A-Z]\w*: [a-z]\w* |\s+[*-] [A-Z]\w* \w+ \w+")
_LONE_PHRASE: Final = re.compile(r"[\w-]+: [A-Za-z][\w',]* [\w',]+ [\w',]+")
_KEY_VALUE: Final = re.compile(r"[ \t]*[\w.\"' -]+?[ \t]*=[ \t]*(?P<value>[^=\s;{][^;]*|\{[^{}]*\}|)$")
_TOML_VALUE: Final = re.compile(r"\"\"|''|\"\"\"|\[|\{|true\b|false\b|[-+]?\d[\d_.:TZe+-]*\s*(?:#|$)")
_TOML_ITEM: Final = re.compile(r"\s+(?:\"\"|''|[\d.]+|\{[^{}]*\})?\]?,?$|\],?$|\s*(?:\"\"|''),?$")
_SECTION: Final = re.compile(r"\[{1,2}[\w.\"':/ -]+\]{1,2}\s*$")
_COMMENT: Final = ("#", ";")


def weigh_yaml(lines: tuple[str, ...]) -> float:
    """How strongly these lines, free of what strings and comments say, read as YAML: 0.0 to some 6.0."""
    told = [line for line in _without_blocks(lines[:_MAX_LINES]) if not line.lstrip().startswith("#")]
    if not told:
        return 0.0
    share = sum(bool(_YAML_LINE.match(line)) for line in told) / len(told)
    keyed = sum(": " in line or line.endswith(":") for line in told)
    if len(told) == 1 and told[0][0].isupper() and not told[0].endswith(":"):
        return 0.0  # `Note: see below`, as people write
    phrases = sum(bool(_PHRASE.match(line)) for line in told) + (len(told) == 1 and bool(_LONE_PHRASE.match(told[0])))
    if share < 0.8 or phrases >= len(told) / 2:
        return 0.0
    if not keyed:
        return 2.5 if len(told) > 1 else 0.0
    return 3.0 * share + min(keyed, 4) * 0.5


def _without_blocks(lines: tuple[str, ...]) -> list[str]:
    """The lines without those of block scalars, which hold text of any kind."""
    kept: list[str] = []
    depth = -1
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if depth >= 0 and indent > depth:
            continue
        depth = indent if _YAML_BLOCK.match(line) else -1
        kept.append(line)
    return kept


def weigh_sections(lines: tuple[str, ...]) -> dict[str, float]:
    """How strongly these lines read as TOML and as INI; which of the two, their values say."""
    told = [line for line in lines[:_MAX_LINES] if not line.lstrip().startswith(_COMMENT)]
    pairs = [pair for line in told if (pair := _KEY_VALUE.match(line))]
    sections = sum(bool(_SECTION.match(line)) for line in told)
    items = sum(bool(_TOML_ITEM.match(line)) for line in told)
    typed = sum(bool(_TOML_VALUE.match(pair["value"])) for pair in pairs)
    if not told or not pairs or (len(pairs) + sections + items) / len(told) < 0.7:
        return {}
    if not sections:
        return {"toml": 1.0} if typed == len(pairs) > 1 else {}
    is_typed = typed == len(pairs) and any('"' in pair["value"] or pair["value"] in {"true", "false"} for pair in pairs)
    return {"toml": 7.0} if is_typed else {"ini": 7.0 - 3.0 * typed / len(pairs)}
