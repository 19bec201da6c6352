"""A whole program out of a definition and what a model made of it: the function, its body alone, or a chat's reply."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from flyteplugins_codegen.source.extraction.blocks import extract_blocks
from flyteplugins_codegen.source.extraction.lines import split_lines
from flyteplugins_codegen.source.python import FunctionDefinition, parse_python

_LONGEST = 100_000  # characters that are tried in more than one way
_MAX_BLOCKS = 8
_MAX_CUTS = 8
_FUTURE = re.compile(r"^from __future__ import [^\n]*\n?", re.MULTILINE)
# What a completion model goes on with after the function; a check of its own is none of the solution's.
_CHECK = re.compile(r"^def check\(", re.MULTILINE)
_PROGRAM_LANGUAGES = frozenset({"python", "unknown", ""})


def complete_definition(definition: FunctionDefinition, response: str) -> str:
    """The program that the response makes of the definition, with the definition's imports and helpers.

    A response that goes on, after the function, with what is no Python (prose, a line cut off) is taken up to there.
    What can be read in no way as the function or its body comes back behind the definition as it is. Never raises.
    """
    response = "\n".join(split_lines(response))
    if len(response) > _LONGEST:
        return _continued(definition, response)
    programs = [program for part in _parts(definition, response) for program in _programs(definition, part)]
    whole = (program for program in programs if _answers(program, definition.name))
    cut = (kept for program in programs if _answers(kept := _cut_to_python(program), definition.name))
    return next(whole, None) or next(cut, None) or _continued(definition, response)


def require_completion(definition: FunctionDefinition, response: str) -> None:
    """Raise ValueError for a response that holds neither the function nor a body for it, told to the model's face."""
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
    # What is code from end to end may hold a fence in a string. Of a reply that betters its draft the last one counts.
    defining = [code for code in (response, *reversed(blocks)) if _defines(code, definition.name)]
    parts = [*defining, response, *blocks]
    return [_without_check(part, definition.name) for part in dict.fromkeys(parts)]


def _programs(definition: FunctionDefinition, code: str) -> Iterator[str]:
    """The code as a whole function; else as a body that goes on as it stands, or lost its first or all indentation."""
    if _defines(code, definition.name):
        yield _behind(definition.preamble, code)
        return
    yield _continued(definition, code)
    yield _continued(definition, definition.indent + code.lstrip())
    yield _continued(definition, textwrap.indent(textwrap.dedent(code).strip("\n"), definition.indent))


def _defines(code: str, name: str) -> bool:
    return re.search(rf"^(?:(?:async )?def {name}\b|{name} *(?::[^=\n]*)?=[^=])", code, re.MULTILINE) is not None


def _continued(definition: FunctionDefinition, body: str) -> str:
    return f"{definition.text}{body.rstrip()}\n"


def _behind(preamble: str, code: str) -> str:
    """The code after the definition's imports and helpers; imports from the future come before those."""
    future = "".join(f"{line.rstrip()}\n" for line in _FUTURE.findall(code))
    return f"{future}{preamble}{_FUTURE.sub('', code).rstrip()}\n"


def _without_check(code: str, name: str) -> str:
    found = None if name == "check" else _CHECK.search(code)
    before = code[: found.start()] if found else ""
    return before if before.strip() else code  # a body may begin with a function of that name


def _answers(program: str, name: str) -> bool:
    """Whether the text is Python in which the name means something that does more than the definition itself."""
    if _syntax_error(program) is not None:
        return False
    meanings = [statement for statement in parse_python(program).body if name in _names(statement)]
    return bool(meanings) and _does_something(meanings[-1])


def _names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return {statement.name}
    if isinstance(statement, ast.AnnAssign):
        return {statement.target.id} if isinstance(statement.target, ast.Name) else set()
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _does_something(statement: ast.stmt) -> bool:
    """Whether it is no function that holds its docstring alone."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return True
    first, *others = statement.body
    return bool(others) or not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant))


def _syntax_error(program: str) -> Exception | None:
    try:
        # Compiled, not only parsed: that a `return` stands outside of any function only the compiler minds.
        compile(program, "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error
    return None


def _cut_to_python(program: str) -> str:
    """What stands before the lines that are no Python; "" where that is not found in a few cuts."""
    lines = program.split("\n")
    for _ in range(_MAX_CUTS):
        error = _syntax_error("\n".join(lines))
        if error is None:
            return "\n".join(lines).rstrip() + "\n"
        line = getattr(error, "lineno", None) or 0
        lines = lines[: min(line, len(lines)) - 1] if line > 1 else []
    return ""
