"""Ask a model for a value of a type: the reply is validated, and requested once more when it cannot be used."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from flyteplugins_codegen.errors import (
    InvalidReplyError,
    ModelError,
    RefusedReplyError,
    ReplyError,
    TruncatedReplyError,
)
from flyteplugins_codegen.llm.json_reply import find_object
from flyteplugins_codegen.llm.protocol import Model, ModelReply, ModelRequest, portable_schema
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message, ModelCall, Purpose, Usage

ReplyT = TypeVar("ReplyT", bound=BaseModel)

_log = logging.getLogger("flyteplugins_codegen.llm")
# Far above the attempt numbers of callers, so that the two never collide.
_NEW_ATTEMPT = 1_000
_MAX_LISTED_ERRORS = 10


@dataclasses.dataclass(frozen=True)
class ModelAnswer(Generic[ReplyT]):
    """A valid reply, and all calls that were made for it, including failed ones."""

    value: ReplyT
    calls: tuple[ModelCall, ...]


def build_request(
    purpose: Purpose,
    messages: tuple[Message, ...],
    reply_type: type[BaseModel],
    settings: Settings,
    left_out: Collection[str] = (),
) -> ModelRequest:
    """The request for a reply of this type, with the settings' parameters; fields that are `left_out` have defaults."""
    return ModelRequest(
        purpose=purpose,
        messages=messages,
        reply_name=reply_type.__name__,
        reply_schema=portable_schema(reply_type, left_out),
        params=settings.model_params,
    )


@dataclasses.dataclass(frozen=True)
class _ExpectedReply(Generic[ReplyT]):
    """What makes a reply valid: its type, and a check that raises ValueError for a value that cannot be used."""

    reply_type: type[ReplyT]
    check: Callable[[ReplyT], object] = lambda _: None


async def ask(
    model: Model,
    request: ModelRequest,
    reply_type: type[ReplyT],
    check: Callable[[ReplyT], object] = lambda _: None,
    *,
    keeps_unusable: bool = False,
) -> ModelAnswer[ReplyT]:
    """Ask, and ask once more with the error if the reply is not valid.

    `check` raises ValueError for a value that cannot be used, such as an edit that does not apply.

    If both replies come from the cache of an earlier run, the request is made again as a new attempt, unless the caller
    sets `keeps_unusable` to get the error.

    Raises ModelError. Its `calls` are all calls that had a reply, so that their cost is known. TruncatedReplyError,
    RefusedReplyError and InvalidReplyError mean that the second reply could not be used either.
    """
    calls: tuple[ModelCall, ...] = ()
    expected = _ExpectedReply(reply_type, check)
    while True:
        outcome, made = await _ask_twice(model, request, expected, calls)
        calls += made
        if not isinstance(outcome, ReplyError):
            return ModelAnswer(outcome, calls)
        if keeps_unusable or not all(call.is_reused for call in made):
            outcome.calls = calls
            raise outcome
        request = request.model_copy(update={"attempt": request.attempt + _NEW_ATTEMPT})


async def _ask_twice(
    model: Model, request: ModelRequest, expected: _ExpectedReply[ReplyT], before: tuple[ModelCall, ...]
) -> tuple[ReplyT | ReplyError, tuple[ModelCall, ...]]:
    reply, call = await call_once(model, request, before)
    outcome = _read_checked(reply, expected)
    if not isinstance(outcome, ReplyError):
        return outcome, (call,)
    _log.info("%s: the reply cannot be used, asking once more: %s", request.purpose, outcome)
    again, second = await call_once(model, _re_ask(request, reply, outcome), (*before, call))
    return _read_checked(again, expected), (call, second)


def _read_checked(reply: ModelReply, expected: _ExpectedReply[ReplyT]) -> ReplyT | ReplyError:
    value = read_reply(reply, expected.reply_type)
    if isinstance(value, ReplyError):
        return value
    try:
        expected.check(value)
    except ValueError as error:
        return InvalidReplyError(f"the reply cannot be applied: {error}")
    return value


async def call_once(
    model: Model, request: ModelRequest, before: tuple[ModelCall, ...] = ()
) -> tuple[ModelReply, ModelCall]:
    """The reply as it was received, and the call as it is recorded.

    The `calls` of a ModelError are those `before` it, and its own call where replies broke off in it.
    """
    _log.info("%s: asking %s", request.purpose, model.name)
    started = time.monotonic()
    try:
        reply = await model.complete(request)
    except ModelError as error:
        error.calls = (*before, *_broken_calls(error, model.name, request, time.monotonic() - started))
        raise
    wall_s = time.monotonic() - started
    usage = reply.usage
    _log.info(
        "%s: %s answered in %.1f s, %d tokens in, %d out%s",
        request.purpose,
        reply.model or model.name,
        wall_s,
        usage.input_tokens,
        usage.output_tokens,
        ", kept from an earlier run" if reply.is_reused else "",
    )
    return reply, ModelCall(
        purpose=request.purpose,
        model=reply.model or model.name,
        usage=usage,
        wall_s=wall_s,
        is_reused=reply.is_reused,
        messages=(*request.messages, reply.message),
    )


def _broken_calls(error: ModelError, name: str, request: ModelRequest, wall_s: float) -> tuple[ModelCall, ...]:
    """A call without a complete reply that was paid for all the same; empty if it cost nothing."""
    usage = getattr(error, "usage", None) or Usage()
    call = ModelCall(purpose=request.purpose, model=name, usage=usage, wall_s=wall_s, messages=request.messages)
    return (call,) if usage != Usage() else ()


def read_reply(reply: ModelReply, reply_type: type[ReplyT]) -> ReplyT | ReplyError:
    """The value in the reply, or the error that says why there is none. Pure."""
    if reply.stop_reason == "truncated":
        return TruncatedReplyError(
            f"the reply was cut off at the length limit after {reply.usage.output_tokens} tokens; "
            "raise the limit in model_params (max_tokens), or ask for less"
        )
    if reply.stop_reason in ("refused", "filtered"):
        who = "the model" if reply.stop_reason == "refused" else "a content filter"
        return RefusedReplyError(f"{who} declined to answer: {reply.text[:200] or 'no reason given'}")
    required = [name for name, field in reply_type.model_fields.items() if field.is_required()]
    try:
        value = reply_type.model_validate(find_object(reply.text, required))
        value.model_dump_json()  # fails for a lone surrogate (`\ud800`), which JSON can contain but no file
    except ValidationError as error:
        return InvalidReplyError(f"the reply is no valid {reply_type.__name__}:\n{_list_errors(error)}")
    except ValueError as error:
        return InvalidReplyError(f"the reply is no valid {reply_type.__name__}: {error}")
    return value


def _list_errors(error: ValidationError) -> str:
    lines = [f"- {'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False)]
    return "\n".join(lines[:_MAX_LISTED_ERRORS])


def _re_ask(request: ModelRequest, reply: ModelReply, problem: ReplyError) -> ModelRequest:
    if not isinstance(problem, InvalidReplyError) or not reply.text.strip():
        return _with_paragraph(request, _complaint(problem))
    answer = Message(role="assistant", content=reply.text)
    complaint = Message(role="user", content=_complaint(problem))
    return request.model_copy(update={"messages": (*request.messages, answer, complaint)})


def _with_paragraph(request: ModelRequest, text: str) -> ModelRequest:
    """The same request with a paragraph more; two user messages in a row break some servers' chat templates."""
    *others, last = request.messages
    amended = last.model_copy(update={"content": f"{last.content}\n\n{text}"})
    return request.model_copy(update={"messages": (*others, amended)})


def _complaint(problem: ReplyError) -> str:
    if isinstance(problem, TruncatedReplyError):
        return "Your last reply to this was cut off at the length limit. Answer in full, and shorter."
    if isinstance(problem, RefusedReplyError):
        return "Your last reply to this was not usable. Answer with the JSON object that is asked for."
    return f"Your reply cannot be used: {problem}\nAnswer again with the whole JSON object and nothing else."
