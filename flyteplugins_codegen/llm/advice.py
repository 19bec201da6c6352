"""What a provider's failure says: of what the server lacks, and of what a person can do about it. Pure."""

from __future__ import annotations

from flyteplugins_codegen.llm.endpoint import Endpoint
from flyteplugins_codegen.llm.retries import CallFailure

_FORMAT_WORDS = (
    "response_format",
    "json_schema",
    "json_object",
    "output_config",
    "output_format",
    "schema",
    "structured output",
    "grammar",
    "tools",
    "tool_choice",
)
_TOOLLESS_STATUSES = (400, 404, 405, 422, 500, 501)


def is_about_format(failure: CallFailure) -> bool:
    """Whether the server does not take the way in which JSON was asked for."""
    said = failure.message.lower()
    return failure.status in (400, 422) and any(word in said for word in _FORMAT_WORDS)


def is_about_tools(failure: CallFailure) -> bool:
    """Whether the server, or the model behind it, takes no tools: told in many ways, by many statuses."""
    return failure.status in _TOOLLESS_STATUSES and "tool" in failure.message.lower()


def advice_on(failure: CallFailure, endpoint: Endpoint) -> str:
    """What happened and what to do about it."""
    by_code = {
        "unreadable": "answered with something that is no model's reply; check that api_base is the API's own address",
        "insufficient_quota": f"the quota of the key in {endpoint.key_variable or 'use'} is used up",
    }
    by_status = {
        None: "cannot be reached; check api_base, that the server runs, and the network",
        401: _key_advice(endpoint),
        403: _key_advice(endpoint),
        404: "has no such model or path; check the model's name, and that api_base is the API's root",
    }
    told = by_code.get(failure.code) or by_status.get(failure.status)
    if told is None and failure.retry_after_s is not None:
        told = f"asks to wait {failure.retry_after_s:g} s, longer than the deadline or the retries allow"
    return told or "answered with an error"


def _key_advice(endpoint: Endpoint) -> str:
    if endpoint.key_variable:
        return f"refused the key in {endpoint.key_variable}; check the variable, and that the key may use this model"
    return "wants a key; pass api_key='NAME', the name of the environment variable that holds it"
