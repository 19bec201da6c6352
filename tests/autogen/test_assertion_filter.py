"""`PassAssertionFilter`, with responses in the forms of OpenAI's client and of AutoGen's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from flyteplugins_codegen.autogen.completions import PassAssertionFilter, response_texts
from flyteplugins_codegen.errors import ArgumentTypeError, RequestError
from flyteplugins_codegen.llm.protocol import ModelReply

CONTEXT = {"definition": 'def add(a, b):\n    """The sum."""\n'}
WRONG, RIGHT = "    return a - b", "    return a + b"
ASSERTIONS = "assert add(1, 2) == 3"


def test_it_tells_whether_any_response_passes_and_what_it_found() -> None:
    judge = PassAssertionFilter(ASSERTIONS)
    assert (judge.metrics, judge.responses, judge.cost) == (None, None, 0.0)
    assert not judge.pass_assertions(CONTEXT, [WRONG])
    assert judge.pass_assertions(CONTEXT, [WRONG, RIGHT], config_id=1)
    assert judge.metrics == {
        "index_selected": 1,
        "succeed_assertions": True,
        "gen_cost": 0.0,
        "assertions": ASSERTIONS,
    }
    assert (judge.responses, judge.cost) == ([WRONG, RIGHT], 0.0)


@pytest.mark.parametrize("cost", [0.5, None])
async def test_assertions_are_made_once_and_their_cost_is_kept(cost: float | None) -> None:
    made: list[str] = []

    def make(definition: str) -> tuple[str, float | None]:
        made.append(definition)
        return ASSERTIONS, cost

    judge = PassAssertionFilter(make)
    assert not await judge.pass_assertions.aio(CONTEXT, [])
    assert made == []
    assert await judge.pass_assertions.aio(CONTEXT, RIGHT)
    assert await judge.pass_assertions.aio(CONTEXT, RIGHT)
    assert made == [CONTEXT["definition"]]
    assert judge.cost == cost


def test_making_no_assertion_is_paid_for_once_too() -> None:
    judge = PassAssertionFilter(lambda _: ("", 0.5))
    assert not judge.pass_assertions(CONTEXT, RIGHT)
    assert not judge.pass_assertions(CONTEXT, RIGHT)
    assert judge.cost == 0.5


CHOICES = [{"message": {"content": WRONG}}, {"text": RIGHT}, {"message": {"content": None}}]


@pytest.mark.parametrize(
    ("response", "texts"),
    [
        ("a", ["a"]),
        (["a", "b"], ["a", "b"]),
        ([], []),
        ({"choices": CHOICES, "cost": 1}, [WRONG, RIGHT, ""]),
        (
            SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="a"))]),
            ["a"],
        ),
        (ModelReply(text="a"), ["a"]),
    ],
)
def test_the_texts_of_every_form_of_response_are_found(response: Any, texts: list[str]) -> None:
    assert response_texts(response) == texts


@pytest.mark.parametrize("response", [None, 3, [1], {"text": "a"}, {"choices": 3}])
def test_what_is_no_response_is_refused(response: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="pass OpenAI's response, or its texts"):
        PassAssertionFilter(ASSERTIONS).pass_assertions(CONTEXT, response)


@pytest.mark.parametrize("context", [{}, None, "def f(): pass"])
def test_a_context_holds_the_definition(context: Any) -> None:
    with pytest.raises(RequestError, match="the context holds no definition"):
        PassAssertionFilter(ASSERTIONS).pass_assertions(context, RIGHT)
