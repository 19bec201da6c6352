"""A whole program from a definition and a model's response to it: the function, its body alone, or a chat reply."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from flyteplugins_codegen.source.extraction.blocks import extract_blocks
from flyteplugins_codegen.source.extraction.lines import split_lines
from flyteplugins_codegen.source.python import PARSE_ERRORS, FunctionDefinition, FunctionNode, bound_names, parse_python

_LONGEST_CHARS = 100_000  # longer responses are only appended to the definition
_MAX_BLOCKS = 8
_MAX_CUTS = 8
_FUTURE = re.compile(r"^from __future__ import [^\n]*\n?", re.MULTILINE)
# Completion models often go on with a test function, which is not part of the solution.
_CHECK = re.compile(r"^def check\(", re.MULTILINE)
_PROGRAM_LANGUAGES = frozenset({"python", "unknown", ""})


def complete_definition(definition: FunctionDefinition, response: str) -> str:
    """The program that the definition and the response make, with the definition's imports and helpers.

    If text that is not Python (prose, a line cut off) follows the function, the response is used up to there. A
    response that is neither the function nor its body is appended to the definition unchanged. Never raises.
    """
    response = "\n".join(split_lines(response))
    if len(response) > _LONGEST_CHARS:
        return _continued(definition, response)
    programs = [program for part in _parts(definition, response) for program in _programs(definition, part)]
    whole = (program for program in programs if _answers(program, definition.name))
    cut = (kept for program in programs if _answers(kept := _cut_to_python(program), definition.name))
    return next(whole, None) or next(cut, None) or _continued(definition, response)


def require_completion(definition: FunctionDefinition, response: str) -> None:
    """Raise ValueError for a response that holds neither the function nor a body for it; a model reads the message."""
    program = complete_definition(definition, response)
    if not _answers(program, definition.name):
        error = _syntax_error(program)
        raise ValueError(f"it is no Python function {definition.name}: {error or 'its body does nothing'}")


def _parts(definition: FunctionDefinition, response: str) -> list[str]:
    """The texts that may hold the function or its body, the likeliest first."""
    blocks = [
        block.code
        for block in extract_blocks(response)
        if block.kind == "code" and block.language in _PROGRAM_LANGUAGES
    ][-_MAX_BLOCKS:]
    # A response that is code throughout may hold a fence in a string. Of several drafts in a reply the last one counts.
    defining = [code for code in (response, *reversed(blocks)) if _defines(code, definition.name)]
    parts = [*defining, response, *blocks]
    return [_without_check(part, definition.name) for part in dict.fromkeys(parts)]


def _programs(definition: FunctionDefinition, code: str) -> Iterator[str]:
    """The code as a whole function, or else as a body: as it is, or with the first line or all lines indented anew."""
    if _defines(code, definition.name):
        yield _after_preamble(definition.preamble, code)
        return
    yield _continued(definition, code)
    yield _continued(definition, definition.indent + code.lstrip())
    yield _continued(definition, textwrap.indent(textwrap.dedent(code).strip("\n"), definition.indent))


def _defines(code: str, name: str) -> bool:
    return re.search(rf"^(?:(?:async )?def {name}\b|{name} *(?::[^=\n]*)?=[^=])", code, re.MULTILINE) is not None


def _continued(definition: FunctionDefinition, body: str) -> str:
    return f"{definition.text}{body.rstrip()}\n"


def _after_preamble(preamble: str, code: str) -> str:
    """The code after the definition's imports and helpers, with `from __future__` imports moved to the top."""
    future = "".join(f"{line.rstrip()}\n" for line in _FUTURE.findall(code))
    return f"{future}{preamble}{_FUTURE.sub('', code).rstrip()}\n"


def _without_check(code: str, name: str) -> str:
    match = None if name == "check" else _CHECK.search(code)
    before = code[: match.start()] if match else ""
    return before if before.strip() else code  # a body may begin with a function of that name


def _answers(program: str, name: str) -> bool:
    """Whether the text is Python that binds the name to more than a function without a body."""
    if _syntax_error(program) is not None:
        return False
    binding = [statement for statement in parse_python(program).body if name in bound_names([statement])]
    return bool(binding) and not _is_docstring_only(binding[-1])


def _is_docstring_only(statement: ast.stmt) -> bool:
    """Whether the statement is a function whose body is nothing but a docstring."""
    if not isinstance(statement, FunctionNode):
        return False
    first, *others = statement.body
    return not others and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)


def _syntax_error(program: str) -> Exception | None:
    try:
        # Compiled, not only parsed: only the compiler rejects a `return` outside of a function.
        compile(program, "solution.py", "exec", dont_inherit=True)
    except PARSE_ERRORS as error:
        return error
    return None


def _cut_to_python(program: str) -> str:
    """The program up to the first line that is not Python; "" if a few cuts do not find it."""
    lines = program.split("\n")
    for _ in range(_MAX_CUTS):
        error = _syntax_error("\n".join(lines))
        if error is None:
            return "\n".join(lines).rstrip() + "\n"
        line = getattr(error, "lineno", None) or 0
        lines = lines[: min(line, len(lines)) - 1] if line > 1 else []
    return ""
