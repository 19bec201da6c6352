"""Stage `work_as_agent`: the model works by tools until it submits a candidate, or until turns or budget are spent.

What it submits is judged by the same stages as every candidate, never by its own word; a failure comes back to the same
conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError, ModelError
from flyteplugins_codegen.llm.ask import call_once
from flyteplugins_codegen.llm.budget import BudgetAccount, BudgetedModel, priced
from flyteplugins_codegen.llm.prompts import agent_messages
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.llm.registry import open_model
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.job import Candidate
from flyteplugins_codegen.models.run import SOLUTION_FILE, TESTS_FILE, AgentSession, Attempt, Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message, ModelCall
from flyteplugins_codegen.stages.agentic.running import Desk, candidate_of, report_text
from flyteplugins_codegen.stages.agentic.tools import TOOLS, ToolError
from flyteplugins_codegen.stages.agentic.turns import Done, answered, take_turn
from flyteplugins_codegen.stages.attempts import with_calls, with_next
from flyteplugins_codegen.stages.draft import brief_of
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.sandboxes import Sandboxes
from flyteplugins_codegen.store import ContentStore
from flyteplugins_codegen.telemetry import stage

# How an agent asks for its next turn: remembered and within the run's budget as every question, its reply as it is.


async def ask_turn(
    account: BudgetAccount, settings: Settings, messages: tuple[Message, ...]
) -> tuple[ModelReply, ModelCall]:
    """What the model says next, and the call, priced.

    Raises BudgetSpentError where the budget allows no call more; ModelError: see its subclasses.
    """
    model = open_model(
        settings, store=ContentStore(), wrap=lambda asked: BudgetedModel(asked, account, settings.prices)
    )
    request = ModelRequest(
        purpose="agent",
        messages=messages,
        reply_name="AgentAction",
        reply_schema={},
        params=settings.model_params,
        tools=TOOLS,
    )
    reply, call = await call_once(model, request)
    return reply, priced((call,), settings.model, settings.prices)[0]


# An agent's conversation, kept within a bound. Cut rarely and by much, so that a provider's cache of it lasts.

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


_SILENT_TURNS: Final = 3
_DECLINED: Final = ("refused", "filtered")


class Worked(Value):
    """The run with what the agent submitted as its next attempt, or stopped; and the calls with their new messages."""

    run: Run
    calls: tuple[ModelCall, ...]


async def work_as_agent(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> Worked:
    """Go on with the agent's conversation until there is a candidate to judge.

    Where turns or budget end first, what passed last, else the files as they stand, are the candidate, and the run is
    stopped.

    Raises:
        ModelError: the model could not be reached; `calls` are those that were made.
        SandboxError, IndexUnavailableError: as the stages that judge a candidate.
    """
    with stage("work as agent") as note, closing(Sandboxes()) as sandboxes:
        desk = Desk(run, samples, sandboxes)
        session = await asyncio.to_thread(_resumed, desk)
        calls: tuple[ModelCall, ...] = ()
        while True:
            stop = _stop_reason(run, session)
            if stop is not None:
                note.detail = stop
                return Worked(run=_stopped(run, session, calls, stop), calls=calls)
            try:
                done, call = await _turn(desk, session, account)
            except BudgetSpentError as error:
                note.detail = str(error)
                return Worked(run=_stopped(run, session, calls, str(error)), calls=calls)
            except ModelError as error:
                error.calls = (*calls, *error.calls)
                raise
            session, calls = done.session, (*calls, call)
            if done.submitted is not None:
                note.detail = f"submitted after {session.turns} turn{'s' if session.turns != 1 else ''}"
                return Worked(run=_submitted(run, session, calls, done.submitted), calls=calls)


def _resumed(desk: Desk) -> AgentSession:
    """The session as it stands, told what became of the candidate that it submitted; a new one at the beginning."""
    run = desk.run
    if run.session is None:
        asked = agent_messages(
            brief_of(run.settings, run.request, run.context), writes_tests=not run.settings.skip_tests
        )
        return AgentSession(messages=without_keys(asked, run.request))
    last = run.attempts[-1]
    told = _told_of(desk, last)
    results = tuple(each if each.content else each.model_copy(update={"content": told}) for each in run.session.pending)
    session = run.session.model_copy(update={"packages": last.candidate.solution.packages, "files": _files(run)})
    return _private(desk, answered(session, results, run.settings.max_turns))


def _files(run: Run) -> dict[str, str]:
    """The files as they were judged: without a test, say, that was dropped."""
    assert run.session is not None  # noqa: S101 - `_resumed` has looked
    candidate = run.attempts[-1].candidate
    judged = {SOLUTION_FILE: candidate.solution.code, **({TESTS_FILE: candidate.tests} if candidate.tests else {})}
    return {**run.session.files, **judged}


def _told_of(desk: Desk, last: Attempt) -> str:
    if last.report is None:
        raise CodegenError(f"attempt {last.number} has not run; there is nothing to tell the agent")
    return f"It was judged, and failed.\n\n{report_text(desk, last.candidate, last.report)}"


def _private(desk: Desk, session: AgentSession) -> AgentSession:
    """The session with its newest message as a model may hear it."""
    newest = without_keys(session.messages[-1:], desk.run.request)
    return session.model_copy(update={"messages": (*session.messages[:-1], *newest)})


async def _turn(desk: Desk, session: AgentSession, account: BudgetAccount) -> tuple[Done, ModelCall]:
    session = session.model_copy(update={"messages": bounded(session.messages)})
    reply, call = await ask_turn(account, desk.run.settings, session.messages)
    # What was said before stands in the calls before this one.
    new = session.messages if session.turns == 0 else session.messages[-1:]
    call = call.model_copy(update={"messages": (*new, reply.message)})
    if reply.stop_reason in _DECLINED:
        return Done(session.model_copy(update={"turns": session.turns + 1, "has_declined": True}), ""), call
    done = await asyncio.to_thread(take_turn, desk, session, reply)
    return (done if done.submitted else Done(_private(desk, done.session), "")), call


def _stop_reason(run: Run, session: AgentSession) -> str | None:
    after = f"after {session.turns} turn{'s' if session.turns != 1 else ''}"
    if session.has_declined:
        return f"the model or a filter of its provider declined to go on, {after}"
    if session.silent_turns >= _SILENT_TURNS:
        return f"the model called no tool any more, {after}"
    if session.turns >= run.settings.max_turns:
        return f"max_turns={run.settings.max_turns} is spent"
    return None


def _submitted(run: Run, session: AgentSession, calls: tuple[ModelCall, ...], candidate: Candidate) -> Run:
    known = with_calls(run, calls).model_copy(update={"session": session})
    return with_next(known, "agent", candidate.plan.description, candidate, parent=_parent_of(run))


def _stopped(run: Run, session: AgentSession, calls: tuple[ModelCall, ...], reason: str) -> Run:
    """The run without any more asking, and with the best that the agent has as its last candidate."""
    stopped = with_calls(run, calls).model_copy(update={"session": session, "stopped": reason})
    candidate = session.tested or _as_it_stands(session)
    if candidate is None or (run.attempts and candidate.solution == run.attempts[-1].candidate.solution):
        return stopped
    told = "the last that passed" if session.tested else "the files as they stood"
    return with_next(stopped, "agent", f"{told} when {reason}", candidate, parent=_parent_of(run))


def _as_it_stands(session: AgentSession) -> Candidate | None:
    try:
        return candidate_of(session)
    except ToolError:
        return None


def _parent_of(run: Run) -> int | None:
    return run.attempts[-1].number if run.attempts else None
