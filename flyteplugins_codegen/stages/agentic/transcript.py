"""An agent's conversation, kept within a bound. Cut rarely and by much, so that a provider's cache of it lasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flyteplugins_codegen.models.conversation import Message

_MOST_CHARS: Final = 120_000
_OPENING: Final = 2  # the system's message and the job
_FRESH: Final = 4  # the two newest turns
_KEPT_CHARS: Final = 200
_LEFT_OUT: Final = "\n[... left out; call the tool again to see it]"
_EARLIER: Final = "\n\n(Earlier turns are left out here. Your files are as you left them: list and read them.)"


def bounded(messages: Sequence[Message], most_chars: int = _MOST_CHARS) -> tuple[Message, ...]:
    """The conversation as it is while it is short enough.

    Else with the results of older turns shortened, and where that is not enough, without the oldest turns: a call and
    its results always go together.
    """
    if _size(messages) <= most_chars:
        return tuple(messages)
    fresh = max(_OPENING, len(messages) - _FRESH)
    kept = [*messages[:_OPENING], *map(_shortened, messages[_OPENING:fresh]), *messages[fresh:]]
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
    """Turns are pairs: what the model said, and what it was answered."""
    opening, turns = messages[:_OPENING], messages[_OPENING:]
    while len(turns) > _FRESH and _size(opening) + _size(turns) > most_chars:
        turns = turns[2:]
    job = opening[-1]
    if not job.content.endswith(_EARLIER):
        job = job.model_copy(update={"content": job.content + _EARLIER})
    return [*opening[:-1], job, *turns]
