"""`generate_assertions` returns a model's assertions without the useless ones."""

from __future__ import annotations

import inspect
import json

import pytest
from model_server import ModelServer, Reply

from flyteplugins_codegen import generate_assertions
from flyteplugins_codegen.errors import ArgumentTypeError, InvalidReplyError, RequestError

DEFINITION = 'def double(x: int) -> int:\n    """Twice as much.\n\n    >>> double(2)\n    4\n    """\n'
WRITTEN = {
    "assertions": [
        "assert double(2) == 4",
        "assert double(2)==4",
        "assert double(0) == 0\nassert double(-1) == -2",
        "assert double(3) == 6",
        "assert double(3) == 7",
        "assert triple(1) == 3",
        "double(1) == 2",
        "assert double(",
    ]
}
CHOSEN = "assert double(2) == 4\nassert double(0) == 0\nassert double(-1) == -2"


def test_each_is_python_calls_the_function_and_contradicts_no_other(scene):
    server = scene.serve("AssertionsReply", Reply(WRITTEN, input_tokens=10, output_tokens=10))
    assert generate_assertions(DEFINITION, **scene.config(server)) == (CHOSEN, pytest.approx(0.02))
    assert ">>> double(2)" in json.dumps(server.calls[0].body["messages"])


async def test_awaited_and_paid_for_once(scene):
    server = scene.serve("AssertionsReply", WRITTEN)
    await generate_assertions.aio(DEFINITION, **scene.config(server))
    assert await generate_assertions.aio(DEFINITION, **scene.config(server)) == (CHOSEN, 0.0)
    assert len(server.calls) == 1


def test_nothing_that_a_model_writes_is_run(scene, tmp_path):
    trap = tmp_path / "trap"
    text = f"assert double(open({str(trap)!r}, 'w').write('x')) == 2"
    server = scene.serve("AssertionsReply", {"assertions": [text]})
    assert generate_assertions(DEFINITION, **scene.config(server))[0] == text
    assert not trap.exists()


@pytest.mark.parametrize(
    "useless",
    [
        {"assertions": []},
        {"assertions": ["assert True"]},
        {"assertions": ["assert double(1) == 2", "assert not double(1)"]},
    ],
)
def test_where_none_is_of_use_the_model_is_told_why_and_asked_once_more(scene, useless):
    server = scene.serve("AssertionsReply", useless, WRITTEN)
    assert generate_assertions(DEFINITION, **scene.config(server))[0] == CHOSEN
    twice = scene.serve("AssertionsReply", useless, useless)
    with pytest.raises(InvalidReplyError):
        generate_assertions(DEFINITION, **scene.config(twice))


def test_the_last_function_of_several_is_the_one_that_is_asked_for(scene):
    server = scene.serve("AssertionsReply", WRITTEN)
    helper = "import math\n\ndef helper():\n    return 1\n\n"
    assert generate_assertions(helper + DEFINITION, **scene.config(server))[0] == CHOSEN


@pytest.mark.parametrize(
    ("definition", "error"),
    [
        (None, ArgumentTypeError),
        (3, ArgumentTypeError),
        (b"def f(): pass", ArgumentTypeError),
        ("", RequestError),
        ("  \n", RequestError),
        ("x = 1", RequestError),
        ("class A:\n    pass", RequestError),
        ("Write a function that doubles.", RequestError),
        ("def f(:\n    pass", RequestError),
        ("def f(x):\n    '''\0'''", RequestError),
        ("def f(x):\n    '''\ud800'''", RequestError),
        ("def f(x):\n    '''" + "x" * 10_000_000 + "'''", RequestError),
        ("(" * 100_000, RequestError),
    ],
)
def test_a_definition_that_is_no_function_is_told_before_anything_is_sent(definition, error):
    with ModelServer({}) as server:
        with pytest.raises(error, match="definition"):
            generate_assertions(definition, model="m", api_base=server.url)
        assert not server.calls


def test_what_only_generate_code_takes_is_refused(scene):
    with pytest.raises(RequestError, match="see generate_code"):
        generate_assertions(DEFINITION, prompt="Write tests for {definition}.", model="openai/m")


def test_its_signature_is_that_of_autogen():
    assert list(inspect.signature(generate_assertions).parameters) == ["definition", "config"]
