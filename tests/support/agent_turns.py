"""What scripted agents say, and what they are answered, for the job that counts rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from model_server import ModelServer, Reply
from row_count_job import TESTS, code

WRONG, RIGHT = code(0), code(1)
SUITE: str = TESTS["test_code"]
SUBMIT = ("submit", {"description": "Counts rows.", "approach": "By lines."})

Call = tuple[str, dict[str, Any] | str]


def turn(*calls: Call, **reply: Any) -> Reply:
    """A reply that makes these calls."""
    return Reply(calls=calls, **reply)


def write(name: str, text: str) -> Call:
    """A call that writes a file."""
    return "write", {"path": name, "content": text}


def sent(server: ModelServer) -> str:
    """All that the server was ever sent."""
    return "\n".join(json.dumps(call.body, ensure_ascii=False) + str(call.headers) for call in server.calls)


def answers(server: ModelServer) -> list[list[str]]:
    """What the calls of each turn were answered, as far as there was a next request to tell it."""
    return [_results(call.body) for call in server.calls[1:]]


def _results(body: dict[str, Any]) -> list[str]:
    if "input" in body:
        return [item["output"] for item in _newest(body["input"], lambda item: "output" in item)]
    if "system" in body:
        blocks = [block for block in body["messages"][-1]["content"] if isinstance(block, dict)]
        return [block["content"] for block in blocks if block["type"] == "tool_result"]
    return [message["content"] for message in _newest(body["messages"], lambda item: item["role"] == "tool")]


def _newest(items: list[Any], is_result: Callable[[Any], bool]) -> list[Any]:
    """The results that stand together at the end, before what the user says beside them."""
    end = next((number for number in range(len(items), 0, -1) if is_result(items[number - 1])), 0)
    start = next((number for number in range(end, 0, -1) if not is_result(items[number - 1])), 0)
    return items[start:end]
