"""Lines that read as commands: a known program first, and what follows it like its arguments."""

from __future__ import annotations

import re
from typing import Final

from flyteplugins_codegen.source.inference.evidence import names
from flyteplugins_codegen.source.inference.programs import (
    ALONE,
    PROGRAMS,
    PROGRAMS_OR_WORDS,
    SUBCOMMANDS,
    TAKING_A_NAME,
)

# After a program's name, these tell a sentence about it.
_PROSE: Final = names(
    "is are was were and or the a an has have can will does did up that which makes lets it you i we for in of to"
)
_PROMPT: Final = re.compile(r"(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+(?::| )?[^\s$#]{0,60})?[$%#] (?=[\w./~])")
# What may stand before a program: a quoted command's `>`, a subshell, a negation, variables set for it alone.
_BEFORE: Final = re.compile(r"(?:[>!] |\( ?)?(?:[A-Za-z_]\w*=(?:\"\"|''|[^\s\"';(){}]*) +){0,6}(?=[\w./~])")
_ARGUMENT: Final = re.compile(
    r"(?:^|\s)(?:-{1,2}[A-Za-z0-9]|[.~]{0,2}/|\.(?:\s|$)|\*|\"\"|''|\$[\w({@]|[\w./*-]*\.[a-z0-9]{1,5}(?:\s|$)|[\w.-]+/|"
    r"\+%|>|\||&&)"
)
_CODE: Final = re.compile(r"\s*(?:=|\(|\)|:|,|\.\s|->|\+=|\[\w*\]\s*=)|[^;]*\{\s*$")
_NEXT: Final = re.compile(r"; (?=\w)| && |; do | \|\| |\{ ")
_MAX_LINES: Final = 30
_MAX_TOLD: Final = 6
_STRONG: Final = 5.0
_WEAK: Final = 3.5


def weigh_commands(lines: tuple[str, ...]) -> float:
    """How strongly these lines, without what strings and comments say, read as a shell's commands; 0.0 if they do not.

    A line that begins with a tab is a recipe's, as Makefiles have it, and says nothing.
    """
    weights = sorted((_weigh_line(line) for line in lines[:_MAX_LINES] if line[0] != "\t"), reverse=True)
    return sum(weight / 2.0**rank for rank, weight in enumerate(weights[:_MAX_TOLD]))


def is_prompt(line: str) -> bool:
    """Whether a line is a shell's prompt with a command after it: `$ ls`, `user@host:~/x$ ls`."""
    prompted = line.lstrip()
    return bool(_PROMPT.match(prompted)) and not prompted.startswith(("# ", "% "))


def _weigh_line(line: str) -> float:
    """The weight of the first command of the line, or of the next ones if that is none; a little less for those."""
    first, *others = _NEXT.split(line.strip(), maxsplit=3)
    return _weigh_command(first) or max((_weigh_command(other) for other in others), default=0.0) * 0.7


def _weigh_command(command: str) -> float:
    before = _BEFORE.match(command)
    name, _, rest = command[before.end() if before else 0 :].partition(" ")
    if not rest:
        return _WEAK if name.rstrip(";") in ALONE else 0.0
    if name not in PROGRAMS and name not in PROGRAMS_OR_WORDS:
        return 0.0
    if _CODE.match(rest) or _is_sentence(rest):
        return 0.0
    return _STRONG if name in PROGRAMS else _weigh_argued(name, rest)


def _is_sentence(rest: str) -> bool:
    return rest.partition(" ")[0] in _PROSE and not _ARGUMENT.search(rest)


def _weigh_argued(name: str, rest: str) -> float:
    if rest.endswith((";", ":")):
        return 0.0
    is_named = name in TAKING_A_NAME and rest.replace("-", "").isalnum()
    is_argued = name == "echo" or is_named or rest.partition(" ")[0] in SUBCOMMANDS or _ARGUMENT.search(rest)
    return _WEAK if is_argued else 0.0
