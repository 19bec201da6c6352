"""Stage `work_as_agent`: the model works with tools until it submits a candidate, or turns or budget are spent.

A submitted candidate is judged by the same stages as every other; what the model claims about it does not count. A
failure continues the same conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from flyteplugins_codegen.errors import BudgetSpentError, CodegenError, ModelError
from flyteplugins_codegen.llm.ask import call_once
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.llm.prompts import agent_messages
from flyteplugins_codegen.llm.protocol import ModelReply, ModelRequest
from flyteplugins_codegen.models.job import Candidate
from flyteplugins_codegen.models.run import SOLUTION_FILE, TESTS_FILE, AgentSession, Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import Message, ModelCall
from flyteplugins_codegen.stages.agentic.conversation import bounded, with_results
from flyteplugins_codegen.stages.agentic.running import AgentWorkspace, candidate_of, report_text
from flyteplugins_codegen.stages.agentic.tools import TOOLS, ToolError
from flyteplugins_codegen.stages.agentic.turns import ToolOutcome, take_turn
from flyteplugins_codegen.stages.attempts import StageResult, with_calls, with_next
from flyteplugins_codegen.stages.model_calls import brief_of, open_budgeted_model, with_prices
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.sandboxes import RunSandboxes
from flyteplugins_codegen.telemetry import stage

_SILENT_TURNS: Final = 3
_DECLINED: Final = ("refused", "filtered")


async def work_as_agent(run: Run, samples: Mapping[str, Path], account: BudgetAccount) -> StageResult:
    """Continue the agent's conversation until it submits a candidate; return the run with it as the next attempt.

    If turns or budget end first, the run is stopped. Its candidate is then the last one that passed, or the files as
    they are.

    Raises:
        ModelError: the model could not be reached; `calls` has the calls that were made.
        SandboxError, IndexUnavailableError: as the stages that judge a candidate.
    """
    with stage("work as agent") as note, closing(RunSandboxes()) as sandboxes:
        workspace = AgentWorkspace(run, samples, sandboxes)
        session = await asyncio.to_thread(_opened_session, workspace)
        calls: tuple[ModelCall, ...] = ()
        while True:
            stop = _stop_reason(run, session)
            if stop is not None:
                note.detail = stop
                return StageResult(run=_stopped(run, session, calls, stop), calls=calls)
            try:
                outcome, call = await _turn(workspace, session, account)
            except BudgetSpentError as error:
                note.detail = str(error)
                return StageResult(run=_stopped(run, session, calls, str(error)), calls=calls)
            except ModelError as error:
                error.calls = (*calls, *error.calls)
                raise
            session, calls = outcome.session, (*calls, call)
            if outcome.submitted is not None:
                note.detail = f"submitted {_after_turns(session)}"
                return StageResult(run=_submitted(run, session, calls, outcome.submitted), calls=calls)


def _opened_session(workspace: AgentWorkspace) -> AgentSession:
    """A new session; or the run's session, continued by the report of the candidate that it submitted."""
    run = workspace.run
    if run.session is None:
        brief = brief_of(run.settings, run.request, run.context)
        messages = agent_messages(brief, writes_tests=not run.settings.skip_tests)
        return AgentSession(messages=without_keys(messages, run.request))
    last = run.attempts[-1]
    if last.report is None:
        raise CodegenError(f"attempt {last.number} has not run; there is nothing to tell the agent")
    text = f"It was judged, and failed.\n\n{report_text(workspace, last.candidate, last.report)}"
    results = tuple(
        result if result.content else result.model_copy(update={"content": text}) for result in run.session.pending
    )
    # The files as they were judged: a dropped test, for example, is gone from them.
    judged = {SOLUTION_FILE: last.candidate.solution.code}
    judged |= {TESTS_FILE: last.candidate.tests} if last.candidate.tests else {}
    files = {**run.session.files, **judged}
    session = run.session.model_copy(update={"packages": last.candidate.solution.packages, "files": files})
    return _without_keys_in_newest(workspace, with_results(session, results, run.settings.max_turns))


def _without_keys_in_newest(workspace: AgentWorkspace, session: AgentSession) -> AgentSession:
    newest = without_keys(session.messages[-1:], workspace.run.request)
    return session.model_copy(update={"messages": (*session.messages[:-1], *newest)})


async def _turn(
    workspace: AgentWorkspace, session: AgentSession, account: BudgetAccount
) -> tuple[ToolOutcome, ModelCall]:
    session = session.model_copy(update={"messages": bounded(session.messages)})
    reply, call = await _ask_turn(account, workspace.run.settings, session.messages)
    # A call keeps only its new messages: the others are in the calls before it.
    new = session.messages if session.turns == 0 else session.messages[-1:]
    call = call.model_copy(update={"messages": (*new, reply.message)})
    if reply.stop_reason in _DECLINED:
        return ToolOutcome(session.model_copy(update={"turns": session.turns + 1, "has_declined": True})), call
    outcome = await asyncio.to_thread(take_turn, workspace, session, reply)
    if outcome.submitted is None:
        outcome = ToolOutcome(_without_keys_in_newest(workspace, outcome.session))
    return outcome, call


async def _ask_turn(
    account: BudgetAccount, settings: Settings, messages: tuple[Message, ...]
) -> tuple[ModelReply, ModelCall]:
    """Ask for the next turn; return the reply, and the call with its price. Raises BudgetSpentError, ModelError."""
    request = ModelRequest(
        purpose="agent",
        messages=messages,
        reply_name="AgentAction",
        reply_schema={},
        params=settings.model_params,
        tools=TOOLS,
    )
    reply, call = await call_once(open_budgeted_model(account, settings), request)
    return reply, with_prices((call,), settings)[0]


def _stop_reason(run: Run, session: AgentSession) -> str | None:
    if session.has_declined:
        return f"the model or a filter of its provider declined to go on, {_after_turns(session)}"
    if session.silent_turns >= _SILENT_TURNS:
        return f"the model called no tool any more, {_after_turns(session)}"
    if session.turns >= run.settings.max_turns:
        return f"max_turns={run.settings.max_turns} is spent"
    return None


def _after_turns(session: AgentSession) -> str:
    return f"after {session.turns} turn{'s' if session.turns != 1 else ''}"


def _submitted(run: Run, session: AgentSession, calls: tuple[ModelCall, ...], candidate: Candidate) -> Run:
    charged = with_calls(run, calls).model_copy(update={"session": session})
    return with_next(charged, "agent", candidate.plan.description, candidate, parent=_parent_of(run))


def _stopped(run: Run, session: AgentSession, calls: tuple[ModelCall, ...], reason: str) -> Run:
    """The stopped run, with the agent's best candidate as its last attempt, unless that was judged already."""
    stopped = with_calls(run, calls).model_copy(update={"session": session, "stopped": reason})
    candidate = session.tested or _current_candidate(session)
    if candidate is None or (run.attempts and candidate.solution == run.attempts[-1].candidate.solution):
        return stopped
    which = "the last that passed" if session.tested else "the files as they stood"
    return with_next(stopped, "agent", f"{which} when {reason}", candidate, parent=_parent_of(run))


def _current_candidate(session: AgentSession) -> Candidate | None:
    try:
        return candidate_of(session)
    except ToolError:
        return None


def _parent_of(run: Run) -> int | None:
    return run.attempts[-1].number if run.attempts else None
