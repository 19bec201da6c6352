"""Replies and their schemas: what providers accept, and what a reply may leave out."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from pydantic import BaseModel

from flyteplugins_codegen.llm import replies
from flyteplugins_codegen.llm.protocol import portable_schema
from flyteplugins_codegen.llm.replies import RepairReply, SolutionReply, TestsReply

PLAIN = {"replace", "name", "value", "input", "expected", "why"}  # their names say it
REPLIES = [SolutionReply, TestsReply, RepairReply]


def objects_in(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield node
        for child in node.values():
            yield from objects_in(child)
    elif isinstance(node, list):
        for child in node:
            yield from objects_in(child)


@pytest.mark.parametrize("reply_type", REPLIES)
def test_every_object_of_a_schema_is_closed_and_requires_all_its_fields(reply_type):
    found = list(objects_in(portable_schema(reply_type)))
    assert found
    for node in found:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


@pytest.mark.parametrize("reply_type", REPLIES)
def test_no_schema_holds_what_some_provider_refuses(reply_type):
    text = str(portable_schema(reply_type))
    for refused in ("$ref", "$defs", "'default'", "oneOf", "allOf", "minLength"):
        assert refused not in text


@pytest.mark.parametrize("reply_type", REPLIES)
def test_the_anthropic_client_moves_nothing_of_a_schema_into_descriptions(reply_type):
    def descriptions(schema):
        return [node.get("description") for node in objects_in(schema)]

    plain = portable_schema(reply_type)
    transformed = anthropic.transform_schema(plain)
    assert transformed["title"] == reply_type.__name__
    assert descriptions(transformed) == descriptions(plain)
    assert transformed["properties"].keys() == plain["properties"].keys()


def test_a_schema_says_what_each_field_is_for():
    for _, reply_type in inspect.getmembers(replies, inspect.isclass):
        if issubclass(reply_type, BaseModel) and reply_type.model_fields:
            fields = reply_type.model_fields.items()
            assert all(field.description for name, field in fields if name not in PLAIN), reply_type


class _Open(BaseModel):
    values: dict[str, int]


class _Anything(BaseModel):
    value: Any


class _Recursive(BaseModel):
    child: _Recursive | None = None


@pytest.mark.parametrize("reply_type", [_Open, _Anything, _Recursive])
def test_a_reply_that_no_provider_takes_is_refused_when_it_is_written(reply_type):
    with pytest.raises(TypeError):
        portable_schema(reply_type)


def test_null_and_absent_are_the_same_and_unknown_fields_are_ignored():
    reply = RepairReply.model_validate(
        {"cause": "c", "error_type": "logic", "edits": None, "code": None, "packages": None, "mood": "good"}
    )
    assert reply == RepairReply(cause="c", error_type="logic")
    assert reply.edits == []


def test_an_edit_without_a_replacement_deletes():
    reply = RepairReply.model_validate({"cause": "c", "error_type": "logic", "edits": [{"search": "x"}]})
    assert reply.edits[0].replace == ""


@pytest.mark.parametrize("code", ["", None])
def test_a_solution_without_code_is_no_solution(code):
    with pytest.raises(ValueError, match="code"):
        SolutionReply.model_validate({"description": "d", "approach": "a", "code": code})


def test_what_accompanies_the_code_is_never_a_reason_to_ask_again():
    plain = {"description": "d", "approach": "a", "code": "c"}
    odd = {"assumptions": "ties: the first", "arguments": [{"name": "top", "value": 5}, "top", {"value": None}]}
    reply = SolutionReply.model_validate({**plain, **odd})
    assert reply.assumptions == ["ties: the first"]
    assert [(argument.name, argument.value) for argument in reply.arguments] == [("top", "5"), ("", "")]
    assert SolutionReply.model_validate({**plain, "assumptions": [" ", {"ties": 1}]}).assumptions == ['{"ties": 1}']
    cases = [{"input": [1, 2], "expected": 3, "why": None}, "no case"]
    (case,) = TestsReply.model_validate({"test_code": "t", "cases": cases}).cases
    assert (case.input, case.expected, case.why) == ("[1, 2]", "3", "")
    assert TestsReply.model_validate({"test_code": "t", "cases": "none"}).cases == []


def test_a_reply_of_an_earlier_version_lacks_nothing():
    assert SolutionReply(description="d", approach="a", code="c").arguments == []
    assert TestsReply(test_code="t").cases == []


def test_a_field_that_is_not_asked_for_is_not_in_the_schema():
    schema = portable_schema(SolutionReply, ("arguments",))
    assert "arguments" not in schema["properties"]
    assert {*schema["required"], "arguments"} == set(portable_schema(SolutionReply)["required"])
