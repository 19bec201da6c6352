"""The messages of an agent's session: tool results, reminders, and a bound on their length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flyteplugins_codegen.llm.json_reply import describe_tools
from flyteplugins_codegen.llm.protocol import ModelReply
from flyteplugins_codegen.models.run import AgentSession
from flyteplugins_codegen.models.spending import Message, ToolCall, ToolResult
from flyteplugins_codegen.stages.agentic.tools import TOOLS
from flyteplugins_codegen.text import shorten_middle

CUT_OFF: Final = "your reply was cut off at the length limit, and nothing of it was done; write less at once"
_FEW_TURNS: Final = 3
_RESULT_CHARS: Final = 8_000
_MOST_CHARS: Final = 120_000
_OPENING: Final = 2  # the system's message and the job
_RECENT: Final = 4  # the two newest turns
_KEPT_CHARS: Final = 200
_LEFT_OUT: Final = "\n[... left out; call the tool again to see it]"
_EARLIER: Final = "\n\n(Earlier turns are left out here. Your files are as you left them: list and read them.)"


def with_reply(session: AgentSession, reply: ModelReply) -> AgentSession:
    """The session with the model's message, after one more turn."""
    message = reply.message
    if not (reply.tool_calls or reply.text.strip()):
        message = message.model_copy(update={"content": "..."})  # no provider accepts an empty message
    return session.model_copy(update={"messages": (*session.messages, message), "turns": session.turns + 1})


def with_results(session: AgentSession, results: tuple[ToolResult, ...], max_turns: int) -> AgentSession:
    """The session with the results as its next message, with a reminder if few turns remain."""
    remaining = max_turns - session.turns
    reminder = ""
    if 0 < remaining <= _FEW_TURNS:
        reminder = f"{remaining} turn{'s are' if remaining > 1 else ' is'} left: call submit before that."
    message = Message(role="user", content=reminder, tool_results=results)
    return session.model_copy(update={"messages": (*session.messages, message), "pending": ()})


def with_nudge(session: AgentSession, reply: ModelReply) -> AgentSession:
    """The session with a message that asks for a tool call, after a reply that had none."""
    text = f"You called no tool. {describe_tools(TOOLS)}"
    if reply.stop_reason == "truncated":
        text = f"{CUT_OFF[0].upper()}{CUT_OFF[1:]}."
    messages = (*session.messages, Message(role="user", content=text))
    return session.model_copy(update={"messages": messages, "silent_turns": session.silent_turns + 1})


def tool_result(call: ToolCall, text: str, *, is_error: bool) -> ToolResult:
    """The text as a result that every provider accepts."""
    # A lone surrogate, in an error that quotes a broken call, cannot be sent; some servers refuse NUL characters.
    clean = shorten_middle(text, _RESULT_CHARS).replace("\0", "\\0").encode(errors="replace").decode()
    return ToolResult(call_id=call.id, content=clean, is_error=is_error)


# --- the bound ---


def bounded(messages: Sequence[Message], most_chars: int = _MOST_CHARS) -> tuple[Message, ...]:
    """The conversation, unchanged if it is short enough.

    Otherwise the results of older turns are shortened, and if that is not enough, the oldest turns are left out. A call
    and its results stay together. It is cut rarely and by much, so that a provider's prompt cache stays valid.
    """
    if _size(messages) <= most_chars:
        return tuple(messages)
    recent = max(_OPENING, len(messages) - _RECENT)
    kept = [*messages[:_OPENING], *map(_shortened, messages[_OPENING:recent]), *messages[recent:]]
    if _size(kept) > most_chars // 2:
        kept = _without_oldest(kept, most_chars // 2)
    return tuple(kept)


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message.text) for message in messages)


def _shortened(message: Message) -> Message:
    results = [
        result.model_copy(update={"content": result.content[:_KEPT_CHARS] + _LEFT_OUT})
        if len(result.content) > _KEPT_CHARS + len(_LEFT_OUT)
        else result
        for result in message.tool_results
    ]
    return message.model_copy(update={"tool_results": tuple(results)})


def _without_oldest(messages: list[Message], most_chars: int) -> list[Message]:
    # A turn is a pair of messages: the model's, and the answer.
    opening, turns = messages[:_OPENING], messages[_OPENING:]
    while len(turns) > _RECENT and _size(opening) + _size(turns) > most_chars:
        turns = turns[2:]
    job = opening[-1]
    if not job.content.endswith(_EARLIER):
        job = job.model_copy(update={"content": job.content + _EARLIER})
    return [*opening[:-1], job, *turns]
