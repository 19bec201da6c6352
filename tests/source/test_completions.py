"""Definitions, and the programs that they and responses make."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.source.completions import complete_definition
from flyteplugins_codegen.source.python import read_definition

PREAMBLE = "from typing import List\n\n\ndef double(x):\n    return x * 2\n\n\n"
DEFINITION = f'''{PREAMBLE}def last(xs: List[int], n):
    """Twice the n-th from the end.

    >>> last([1, 2], 1)
    4
    """
'''
BODY = "    x = xs[-n]\n    return double(x)"
WHOLE = f"def last(xs, n):\n{BODY}"

RESPONSES = {
    "the body as it goes on": f"{BODY}\n",
    "a body without its indentation": "x = xs[-n]\nreturn double(x)",
    "a body that lost its first indentation": "x = xs[-n]\n    return double(x)",
    "a body behind an empty line": f"\n{BODY}",
    "the whole function": WHOLE,
    "the whole function with its imports": f"from typing import List\nimport math\n\n{WHOLE}",
    "an import from the future": f"from __future__ import annotations\n\n{WHOLE}",
    "Windows line ends": WHOLE.replace("\n", "\r\n"),
    "a fence": f"```python\n{WHOLE}\n```",
    "a fence without a language": f"```\n{WHOLE}\n```",
    "a fenced body": f"```python\n{BODY}\n```",
    "prose around a fence": f"Sure, here it is:\n\n```python\n{WHOLE}\n```\n\nIt takes the n-th from the end.",
    "prose without a fence": f"Here is the function:\n\n{WHOLE}\n\nHope this helps!",
    "an example after it": f"```python\n{WHOLE}\n```\n\nUse it so:\n\n```python\nprint(last([1], 1))\n```",
    "a shell block before it": f"```bash\npip install x\n```\n\n```python\n{WHOLE}\n```",
    "a draft, then a better one": f"```python\ndef last(xs, n):\n    return xs\n```\nNo:\n```python\n{WHOLE}\n```",
    "JSON": '{"code": "def last(xs, n):\\n    return double(xs[-n])"}',
    "a lambda": "last = lambda xs, n: double(xs[-n])",
    "prose after the body": f"{BODY}\n\nThis is the n-th from the end, doubled.",
    "a last line cut off": f"{BODY}\n\nprint(last([1, 2",
    "a fence that is never closed": f"```python\n{WHOLE}",
    "a check of its own that fails": f"{BODY}\n\n\ndef check(candidate):\n    assert False\n\ncheck(last)",
    "a body that begins with a check": "def check(x):\n    return double(x)\nreturn check(xs[-n])",
    "a fence in a string of its code": f'{WHOLE}\n\nTEXT = """\n```python\ndef last(xs, n):\n    return 0\n```\n"""',
}


def last_of(program: str, name: str = "last") -> Any:
    names: dict[str, Any] = {}
    exec(program, names)  # noqa: S102 - the programs stand in this file
    return names[name]


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_a_response_becomes_the_whole_program_whatever_its_form(response: str) -> None:
    program = complete_definition(read_definition(DEFINITION), response)
    assert last_of(program)([1, 2, 3], 2) == 4


@pytest.mark.parametrize("stub", ["    pass", "    ...", "    # to be written", ""])
@pytest.mark.parametrize("response", ["return x + 1", "    return x + 1", "def f(x):\n    return x + 1"])
def test_a_definition_need_not_have_a_body(stub: str, response: str) -> None:
    assert last_of(complete_definition(read_definition(f"def f(x):\n{stub}"), response), "f")(1) == 2


def test_a_body_takes_on_the_indentation_of_the_definition() -> None:
    definition = read_definition('def f(x):\n  """One more."""')
    assert last_of(complete_definition(definition, "if x:\n    x += 1\nreturn x"), "f")(1) == 2


def test_any_function_of_a_definition_can_be_chosen_by_name() -> None:
    definition = read_definition("import math\n\n\ndef f(x):\n    pass\n\n\ndef g(x):\n    return math.floor(x)\n", "f")
    assert last_of(complete_definition(definition, "return g(x) + 1"), "f")(1.5) == 2


@pytest.mark.parametrize("response", ["", "I cannot do that.", "\0", "\ud800", "(" * 10_000, "```python\n```"])
def test_a_response_without_code_is_appended_to_the_definition(response: str) -> None:
    program = complete_definition(read_definition(DEFINITION), response)
    assert program.startswith(DEFINITION)


@given(
    response=st.text(max_size=300), around=st.sampled_from(["{}", "```python\n{}\n```", "{}\n" + BODY, WHOLE + "\n{}"])
)
def test_no_response_raises(response: str, around: str) -> None:
    assert complete_definition(read_definition(DEFINITION), around.format(response)).endswith("\n")


def test_ten_megabytes_take_a_moment() -> None:
    started = time.perf_counter()
    complete_definition(read_definition(DEFINITION), "x = ('a')\n" * 1_000_000)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ("", "holds no function"),
        ("x = 1", "holds no function"),
        ("class A:\n    def f(self):\n        pass", "holds no function"),
        ("Write a function that adds.", "is no Python, line 1"),
        ("def f(x", "is no Python, line 1"),
        ("def f():\0", "null bytes"),
        ("def f():\n    '\ud800'", "surrogates"),
        ("def f(" + "(" * 1_000, "is no Python"),
        ("x = 1\n" * 200_000 + "def f(): pass", "more than 1,000,000"),
    ],
)
def test_a_text_without_a_function_is_refused_with_the_remedy(definition: str, said: str) -> None:
    with pytest.raises(RequestError, match=said) as raised:
        read_definition(definition)
    assert "give a signature" in str(raised.value)


def test_an_undefined_name_is_reported_with_the_defined_ones() -> None:
    with pytest.raises(RequestError, match="no function 'first'; it defines double, last"):
        read_definition(DEFINITION, "first")


@pytest.mark.parametrize(("definition", "name"), [(None, None), (b"def f(): pass", None), ("def f(): pass", 3)])
def test_an_argument_that_is_not_a_str_is_named_by_its_type(definition: Any, name: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="pass "):
        read_definition(definition, name)
