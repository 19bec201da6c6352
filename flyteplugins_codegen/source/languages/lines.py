"""How strongly a text reads as Python, shell commands, markup, prose or settings, judged by its syntax or its lines."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from threading import Lock
from typing import Final

from flyteplugins_codegen.source.languages.evidence import names
from flyteplugins_codegen.source.languages.patterns_data import (
    ALONE,
    PROGRAMS,
    PROGRAMS_OR_WORDS,
    SUBCOMMANDS,
    TAKING_A_NAME,
)
from flyteplugins_codegen.source.python import PARSE_ERRORS, parse_python

# --- Python -----------------------------------------------------------------------------------------------------------

_PARSES: Final = 2.0
_IS_CUT_OFF: Final = 1.0
_PARSES_NOT: Final = -1.5
# JSON was tried before, so what begins with a brace and parses is a dict display.
_IS_DISPLAY: Final = 6.5
_CUT_OFF: Final = re.compile(r"never closed|expected an indented block|unterminated triple|unexpected EOF")
_WARNINGS: Final = Lock()  # the filters of warnings belong to the whole process
_DISTINCTIVE: Final = (
    ast.Call,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Subscript,
    ast.JoinedStr,
    ast.Await,
    ast.Set,
)
_FOREIGN_NAMES: Final = frozenset({"true", "false", "null", "undefined"})


def weigh_python(text: str) -> float:
    """The parser's evidence for Python: above 0.0 for statements, below for text that does not parse.

    Prose, commands and settings often parse as Python too, as names and operators; those count 0.0.
    """
    try:
        module = _parse(textwrap.dedent(text))
    except SyntaxError as error:
        return _IS_CUT_OFF if _CUT_OFF.search(str(error)) else _PARSES_NOT
    except PARSE_ERRORS:
        return _PARSES_NOT
    if text.rstrip().endswith(";"):
        return 0.0
    return max((_weigh_statement(node) for node in module.body), default=0.0)


def _parse(text: str) -> ast.Module:
    """The syntax tree. Warnings of the parser, such as on invalid escapes or `1 is 1`, are suppressed."""
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse_python(text)


def _weigh_statement(node: ast.stmt) -> float:
    if isinstance(node, ast.AnnAssign):
        return _PARSES if node.value else 0.0  # `key: value` is an annotation as well
    return _weigh_expression(node.value) if isinstance(node, ast.Expr) else _PARSES


def _weigh_expression(node: ast.expr) -> float:
    """0.0 for names, numbers and their combinations: `word`, `a - b` and `1, 2` occur in prose too."""
    if isinstance(node, ast.Dict):
        return _weigh_display(node)
    if isinstance(node, ast.List | ast.Set):
        return 0.0 if all(isinstance(element, ast.Name) for element in node.elts) else _PARSES
    if isinstance(node, ast.BinOp | ast.Compare):
        return _PARSES if any(isinstance(part, _DISTINCTIVE) or _is_string(part) for part in ast.walk(node)) else 0.0
    return _PARSES if isinstance(node, _DISTINCTIVE) else 0.0


def _weigh_display(node: ast.Dict) -> float:
    """0.0 for an object of JavaScript or YAML, whose keys or values are names that Python does not have."""
    keys = any(isinstance(key, ast.Name) for key in node.keys)
    values = any(isinstance(part, ast.Name) and part.id in _FOREIGN_NAMES for part in ast.walk(node))
    return 0.0 if keys or values else _IS_DISPLAY


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


# --- shell commands ---------------------------------------------------------------------------------------------------

# After a program's name, these begin a sentence about it.
_SENTENCE_WORDS: Final = names(
    "is are was were and or the a an has have can will does did up that which makes lets it you i we for in of to"
)
_PROMPT: Final = re.compile(r"(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+(?::| )?[^\s$#]{0,60})?[$%#] (?=[\w./~])")
# May precede a program: the `>` of a quoted command, a subshell, a negation, variables set for the program.
_BEFORE: Final = re.compile(r"(?:[>!] |\( ?)?(?:[A-Za-z_]\w*=(?:\"\"|''|[^\s\"';(){}]*) +){0,6}(?=[\w./~])")
_ARGUMENT: Final = re.compile(
    r"(?:^|\s)(?:-{1,2}[A-Za-z0-9]|[.~]{0,2}/|\.(?:\s|$)|\*|\"\"|''|\$[\w({@]|[\w./*-]*\.[a-z0-9]{1,5}(?:\s|$)|[\w.-]+/|"
    r"\+%|>|\||&&)"
)
_CODE: Final = re.compile(r"\s*(?:=|\(|\)|:|,|\.\s|->|\+=|\[\w*\]\s*=)|[^;]*\{\s*$")
_NEXT: Final = re.compile(r"; (?=\w)| && |; do | \|\| |\{ ")
_MAX_LINES: Final = 30
_MAX_COUNTED: Final = 6
_STRONG: Final = 5.0
_WEAK: Final = 3.5


def weigh_commands(lines: tuple[str, ...]) -> float:
    """How strongly these lines, with strings and comments emptied, read as shell commands; 0.0 if they do not.

    A line that begins with a tab is the recipe of a Makefile and does not count.
    """
    weights = sorted((_weigh_line(line) for line in lines[:_MAX_LINES] if line[0] != "\t"), reverse=True)
    return sum(weight / 2.0**rank for rank, weight in enumerate(weights[:_MAX_COUNTED]))


def is_prompt(line: str) -> bool:
    """Whether a line is a shell prompt with a command: `$ ls`, `user@host:~/x$ ls`."""
    text = line.lstrip()
    return bool(_PROMPT.match(text)) and not text.startswith(("# ", "% "))


def _weigh_line(line: str) -> float:
    """The weight of the line's first command, or less of the heaviest other one if the first is not a command."""
    first, *others = _NEXT.split(line.strip(), maxsplit=3)
    return _weigh_command(first) or max((_weigh_command(other) for other in others), default=0.0) * 0.7


def _weigh_command(command: str) -> float:
    before = _BEFORE.match(command)
    name, _, rest = command[before.end() if before else 0 :].partition(" ")
    if not rest:
        return _WEAK if name.rstrip(";") in ALONE else 0.0
    if name not in PROGRAMS and name not in PROGRAMS_OR_WORDS:
        return 0.0
    is_sentence = rest.partition(" ")[0] in _SENTENCE_WORDS and not _ARGUMENT.search(rest)
    if is_sentence or _CODE.match(rest):
        return 0.0
    return _STRONG if name in PROGRAMS else _weigh_argued(name, rest)


def _weigh_argued(name: str, rest: str) -> float:
    if rest.endswith((";", ":")):
        return 0.0
    is_named = name in TAKING_A_NAME and rest.replace("-", "").isalnum()
    is_argued = name == "echo" or is_named or rest.partition(" ")[0] in SUBCOMMANDS or _ARGUMENT.search(rest)
    return _WEAK if is_argued else 0.0


# --- markup -----------------------------------------------------------------------------------------------------------

_HTML_TAGS: Final = names(
    """
    html head body div span p a ul ol li dl dt dd h1 h2 h3 h4 h5 h6 table thead tbody tfoot tr th td form input button
    select option textarea label img br hr script style link meta nav header footer main section article aside figure
    figcaption strong em b i u s small code pre blockquote iframe video audio source canvas details summary dialog
    template fieldset legend noscript picture sup sub mark abbr time progress center font slot kbd
    """
)
# These are common element names in other documents too.
_SHARED_TAGS: Final = names("link a b i s p title source time label option section summary head body header code")
_TAG: Final = re.compile(r"</?([A-Za-z][\w.:-]{0,60})")
_JSX: Final = re.compile(r"\bclassName=|\w=\{|\{/\*|>\s*\{\w[\w.]*(?:\.map\(|\})|<>")
_LONE_COMPONENT: Final = re.compile(r"<[A-Z]\w*(?:\.\w+)?(?: [^<>:]{0,200})?/>;?$")
_PLACEHOLDER: Final = re.compile(r"<[\w -]+>\s*$")
_PREAMBLE: Final = re.compile(r"(?:\s*(?:\{[%#][^%\n]*[%#]\}|<!--[\s\S]*?-->|<\?(?!xml|php|=)[^>]*>))+")
_DOCTYPE: Final = "<!doctype html"


def infer_markup(text: str) -> str:
    """`html`, `xml` or `javascript` (JSX) for a text that begins with a tag, "" for any other text."""
    preamble = _PREAMBLE.match(text)
    start = text[preamble.end() if preamble else 0 :].lstrip()
    head = start[:1_000].lower()
    if head.startswith((_DOCTYPE, "<html")):
        return "html"
    if head.startswith("<?xml"):
        return "html" if _DOCTYPE in head else "xml"
    return _infer_by_tags(start) if _TAG.match(start) or head.startswith("<!") else ""


def _infer_by_tags(start: str) -> str:
    tags = [tag.lower() for tag in _TAG.findall(start)]
    if not tags:
        return ""
    if _PLACEHOLDER.match(start) and tags[0] not in _HTML_TAGS:
        return "unknown"
    if (_JSX.search(start) or _LONE_COMPONENT.match(start)) and "xmlns" not in start:
        return "javascript"
    return "html" if _is_html(tags) else "xml"


def _is_html(tags: list[str]) -> bool:
    certain = sum(tag in _HTML_TAGS and tag not in _SHARED_TAGS for tag in tags)
    is_own_element = "-" in tags[0] and ":" not in tags[0]
    return (
        all(tag in _HTML_TAGS for tag in tags)
        or 2 * certain > len(tags)
        or (certain > 0 and (tags[0] in _HTML_TAGS or is_own_element))
    )


# --- prose ------------------------------------------------------------------------------------------------------------

_FUNCTION_WORDS: Final = names(
    """
    the a an is are was were be been of to you your we our they their it its this that these those there here have has
    had will would can could should may might must do does did not no but so than too very please how what why when who
    i my me he she his her them on at by about into over under after before again all any each few more most other some
    such only own same both once just also need want make sure let's it's don't you're i'm if and or then with as for in
    """
)
# Keywords and names in code too: no evidence without another function word.
_SHARED_WORDS: Final = names("if and or then with as for in not on by is let all any this no do when")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z']+")
_SIGN: Final = re.compile(r"[{}()\[\];=<>$|&\\_@`~^%]|::|->|--| -\w")
_SENTENCE: Final = re.compile(r"[a-z)][.!?:](?:\s|$)|[a-z], [a-z]")
_CAPITAL: Final = re.compile(r"^(?:[-*#>\d.]+ )*[A-Z][a-z']*,? [a-z]", re.MULTILINE)
_FEWEST_WORDS: Final = 3
_MOST: Final = 10.0


def weigh_prose(code: str) -> float:
    """How strongly a text, with strings and comments emptied, reads as English prose: 0.0 to 10.0.

    Function words and sentences count for it, the special characters of code against it.
    """
    words = [word.lower() for word in _WORD.findall(code)]
    if len(words) < _FEWEST_WORDS:
        return 0.0
    function_words = sum(word in _FUNCTION_WORDS for word in words)
    certain = sum(word in _FUNCTION_WORDS and word not in _SHARED_WORDS for word in words)
    if not certain and function_words < _FEWEST_WORDS:
        return 0.0
    weight = 16.0 * function_words / len(words) if certain else 0.0
    weight += 1.5 * bool(_SENTENCE.search(code)) + 1.5 * bool(_CAPITAL.search(code))
    signs = len(_SIGN.findall(code)) / len(words)
    return max(0.0, min(weight, _MOST) * (1.0 - 1.6 * signs))


# --- settings: YAML, TOML, INI ----------------------------------------------------------------------------------------

_MOST_OF_YAML: Final = 0.8
_MOST_OF_SECTIONS: Final = 0.7
_MAX_KEYS: Final = 4

_YAML_LINE: Final = re.compile(
    r"\s*(?:- )*(?:[\w./$-]+|\"\"|''|<<|\?)(?: [\w-]+)?:"  # a key
    r"(?: +(?![=:])[^;{]*(?:[^;{,]|\{[^}]*\}|\[\{[^\[\]]*\}\])| \{\}|)$"  # its value, which does not end like code
    r"|\s*-(?: [^;{}()=]*)?$|---$|\.\.\.$"
)
_YAML_BLOCK: Final = re.compile(r"\s*(?:- )?[\w.-]+: *[|>][-+]?$")
# Prose in the form of YAML: `Steps: first the flour`, `- clean the missing values`.
_PHRASE: Final = re.compile(
    r"(?:[A-Z][\w -]*: |- )[A-Za-z][\w',]* [\w',]+ [\w',]+|[A-Z]\w*: [a-z]\w* |\s+[*-] [A-Z]\w* \w+ \w+"
)
_LONE_PHRASE: Final = re.compile(r"[\w -]+: [A-Za-z][\w',]* [\w',]+ [\w',]+|[A-Z][^:]*:.")
_KEY_VALUE: Final = re.compile(r"[ \t]*[\w.\"' -]+?[ \t]*=[ \t]*(?P<value>[^=\s;{][^;]*|\{[^{}]*\}|)$")
_TOML_VALUE: Final = re.compile(r"\"\"|''|\"\"\"|\[|\{|true\b|false\b|[-+]?\d[\d_.:TZe+-]*\s*(?:#|$)")
_TOML_ITEM: Final = re.compile(r"\s+(?:\"\"|''|[\d.]+|\{[^{}]*\})?\]?,?$|\],?$|\s*(?:\"\"|''),?$")
_SECTION: Final = re.compile(r"\[{1,2}[\w.\"':/ -]+\]{1,2}\s*$")


def weigh_yaml(lines: tuple[str, ...]) -> float:
    """How strongly these lines, with strings and comments emptied, read as YAML: 0.0 to 5.0."""
    content = [line for line in _without_blocks(lines[:_MAX_LINES]) if not line.lstrip().startswith("#")]
    fits = sum(bool(_YAML_LINE.match(line)) for line in content)
    if not content or fits < _MOST_OF_YAML * len(content) or _is_prose(content):
        return 0.0
    keyed = sum(": " in line or line.endswith(":") for line in content)
    if not keyed:
        return 2.5 if len(content) > 1 else 0.0
    return 3.0 * fits / len(content) + min(keyed, _MAX_KEYS) / 2


def _is_prose(content: list[str]) -> bool:
    if len(content) == 1:
        return bool(_LONE_PHRASE.match(content[0]))
    return 2 * sum(bool(_PHRASE.match(line)) for line in content) >= len(content)


def _without_blocks(lines: tuple[str, ...]) -> list[str]:
    """The lines without those of block scalars, whose text can be anything."""
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
    """The scores of these lines as TOML or INI; their values decide between the two."""
    content = [line for line in lines[:_MAX_LINES] if not line.lstrip().startswith(("#", ";"))]
    values = [pair["value"] for line in content if (pair := _KEY_VALUE.match(line))]
    sections = sum(bool(_SECTION.match(line)) for line in content)
    items = sum(bool(_TOML_ITEM.match(line)) for line in content)
    if not values or len(values) + sections + items < _MOST_OF_SECTIONS * len(content):
        return {}
    typed = sum(bool(_TOML_VALUE.match(value)) for value in values)
    if not sections:
        return {"toml": 1.0} if typed == len(values) > 1 else {}
    if typed == len(values) and any('"' in value or value in {"true", "false"} for value in values):
        return {"toml": 7.0}
    return {"ini": 7.0 - 3.0 * typed / len(values)}
