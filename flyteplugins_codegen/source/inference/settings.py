"""Settings line by line: YAML's `key: value`, TOML's and INI's `key = value` under `[sections]`."""

from __future__ import annotations

import re
from typing import Final

_MAX_LINES: Final = 30
_MOST_OF_YAML: Final = 0.8
_MOST_OF_SECTIONS: Final = 0.7
_MAX_KEYS: Final = 4

_YAML_LINE: Final = re.compile(
    r"\s*(?:- )*(?:[\w./$-]+|\"\"|''|<<|\?)(?: [\w-]+)?:"  # a key
    r"(?: +(?![=:])[^;{]*(?:[^;{,]|\{[^}]*\}|\[\{[^\[\]]*\}\])| \{\}|)$"  # its value, which ends in no sign of code
    r"|\s*-(?: [^;{}()=]*)?$|---$|\.\.\.$"
)
_YAML_BLOCK: Final = re.compile(r"\s*(?:- )?[\w.-]+: *[|>][-+]?$")
# What people write in prose: `Steps: first the flour`, `- clean the missing values`.
_PHRASE: Final = re.compile(
    r"(?:[A-Z][\w -]*: |- )[A-Za-z][\w',]* [\w',]+ [\w',]+|[A-Z]\w*: [a-z]\w* |\s+[*-] [A-Z]\w* \w+ \w+"
)
_LONE_PHRASE: Final = re.compile(r"[\w -]+: [A-Za-z][\w',]* [\w',]+ [\w',]+|[A-Z][^:]*:.")
_KEY_VALUE: Final = re.compile(r"[ \t]*[\w.\"' -]+?[ \t]*=[ \t]*(?P<value>[^=\s;{][^;]*|\{[^{}]*\}|)$")
_TOML_VALUE: Final = re.compile(r"\"\"|''|\"\"\"|\[|\{|true\b|false\b|[-+]?\d[\d_.:TZe+-]*\s*(?:#|$)")
_TOML_ITEM: Final = re.compile(r"\s+(?:\"\"|''|[\d.]+|\{[^{}]*\})?\]?,?$|\],?$|\s*(?:\"\"|''),?$")
_SECTION: Final = re.compile(r"\[{1,2}[\w.\"':/ -]+\]{1,2}\s*$")


def weigh_yaml(lines: tuple[str, ...]) -> float:
    """How strongly these lines, without what strings and comments say, read as YAML: 0.0 to 5.0."""
    told = [line for line in _without_blocks(lines[:_MAX_LINES]) if not line.lstrip().startswith("#")]
    fits = sum(bool(_YAML_LINE.match(line)) for line in told)
    if not told or fits < _MOST_OF_YAML * len(told) or _is_prose(told):
        return 0.0
    keyed = sum(": " in line or line.endswith(":") for line in told)
    if not keyed:
        return 2.5 if len(told) > 1 else 0.0
    return 3.0 * fits / len(told) + min(keyed, _MAX_KEYS) / 2


def _is_prose(told: list[str]) -> bool:
    if len(told) == 1:
        return bool(_LONE_PHRASE.match(told[0]))
    return 2 * sum(bool(_PHRASE.match(line)) for line in told) >= len(told)


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
    """How strongly these lines read as TOML or as INI; which of the two, their values say."""
    told = [line for line in lines[:_MAX_LINES] if not line.lstrip().startswith(("#", ";"))]
    values = [pair["value"] for line in told if (pair := _KEY_VALUE.match(line))]
    sections = sum(bool(_SECTION.match(line)) for line in told)
    items = sum(bool(_TOML_ITEM.match(line)) for line in told)
    if not values or len(values) + sections + items < _MOST_OF_SECTIONS * len(told):
        return {}
    typed = sum(bool(_TOML_VALUE.match(value)) for value in values)
    if not sections:
        return {"toml": 1.0} if typed == len(values) > 1 else {}
    if typed == len(values) and any('"' in value or value in {"true", "false"} for value in values):
        return {"toml": 7.0}
    return {"ini": 7.0 - 3.0 * typed / len(values)}
