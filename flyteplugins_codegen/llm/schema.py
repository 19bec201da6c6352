"""JSON schemas that every provider takes: strict, without references, without what some of them refuse."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_DROPPED = ("title", "default", "minLength", "$defs")


def portable_schema(reply_type: type[BaseModel]) -> dict[str, Any]:
    """The reply's schema in the subset that OpenAI's strict mode, Anthropic, vLLM and llama.cpp have in common.

    References are written out, every field is required (what is optional may be null or empty), nothing else is
    allowed. Only the outermost object keeps its title, the reply's name. Bounds are left to our own validation.

    Raises TypeError for a model that the subset cannot express: a dict field, `Any`, a recursive model.
    """
    schema = reply_type.model_json_schema()
    try:
        return {"title": reply_type.__name__, **_portable(schema, schema.get("$defs", {}))}
    except RecursionError:
        raise TypeError(f"{reply_type.__name__} contains itself: no provider takes a recursive schema") from None


def _portable(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is not None:
        target = definitions[reference.rpartition("/")[2]]
        return _portable({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    plain = {key: value for key, value in node.items() if key not in _DROPPED}
    if "anyOf" in plain:
        return {**plain, "anyOf": [_portable(choice, definitions) for choice in plain["anyOf"]]}
    if plain.get("type") == "array":
        return {**plain, "items": _portable(plain.get("items", {}), definitions)}
    return _portable_object(plain, definitions) if plain.get("type") == "object" else _checked(plain)


def _portable_object(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    fields = node.get("properties")
    if not fields:
        raise TypeError("a reply's field is an open dict: write a list of objects instead")
    return {
        **node,
        "properties": {name: _portable(field, definitions) for name, field in fields.items()},
        "required": list(fields),
        "additionalProperties": False,
    }


def _checked(node: dict[str, Any]) -> dict[str, Any]:
    if "type" not in node and "enum" not in node and "const" not in node:
        raise TypeError("a reply's field is of any type: name one")
    return node
