"""One turn of an agent: its calls carried out in order, each answered; a call that cannot be is answered so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from flyteplugins_codegen.judging.causes import syntax_cause
from flyteplugins_codegen.llm.json_reply import describe_tools
from flyteplugins_codegen.llm.protocol import ModelReply
from flyteplugins_codegen.models.job import Candidate, CodePlan
from flyteplugins_codegen.models.run import SOLUTION_FILE, TESTS_FILE, AgentSession
from flyteplugins_codegen.models.spending import Message, ToolCall, ToolResult
from flyteplugins_codegen.stages.agentic.running import (
    Desk,
    candidate_of,
    judge_files,
    run_on_sample,
    run_scratch_tests,
    sample_rows,
)
from flyteplugins_codegen.stages.agentic.tools import (
    SAMPLES,
    TOOLS,
    EditFile,
    ListFiles,
    ReadFile,
    RunOnSample,
    RunTests,
    Submit,
    ToolArguments,
    ToolError,
    WriteFile,
    file_text,
    read_call,
    with_edit,
    with_file,
)
from flyteplugins_codegen.text import shorten_middle

_CALLS_A_TURN: Final = 16
_MOST_PACKAGES: Final = 50
_RESULT_CHARS: Final = 8_000
_CUT_OFF: Final = "your reply was cut off at the length limit, and nothing of it was done; write less at once"


@dataclass(frozen=True, slots=True)
class Done:
    """What a call came to: the session after it, the answer, and the candidate that it submitted."""

    session: AgentSession
    told: str
    submitted: Candidate | None = None


def take_turn(desk: Desk, session: AgentSession, reply: ModelReply) -> Done:
    """The session after the model's reply; where it submitted a candidate, with the results still `pending`.

    Raises as the stages do that run things; nothing that a model writes raises.
    """
    said = reply.message if reply.tool_calls or reply.text.strip() else reply.message.model_copy(update=_SILENCE)
    session = session.model_copy(update={"messages": (*session.messages, said), "turns": session.turns + 1})
    if not reply.tool_calls:
        return Done(_nudged(session, reply), "")
    session, results, submitted = _answer(desk, session.model_copy(update={"silent_turns": 0}), reply)
    if submitted is not None:
        return Done(session.model_copy(update={"pending": results}), "", submitted)
    return Done(answered(session, results, desk.run.settings.max_turns), "")


_SILENCE: Final = {"content": "..."}  # no provider takes a message without any content


def answered(session: AgentSession, results: tuple[ToolResult, ...], max_turns: int) -> AgentSession:
    """The session with the results as its next message, which says so when few turns are left."""
    left = max_turns - session.turns
    few = f"{left} turn{'s are' if left > 1 else ' is'} left: call submit before that." if 0 < left <= _FEW else ""
    message = Message(role="user", content=few, tool_results=results)
    return session.model_copy(update={"messages": (*session.messages, message), "pending": ()})


_FEW: Final = 3


def _nudged(session: AgentSession, reply: ModelReply) -> AgentSession:
    text = f"You called no tool. {describe_tools(TOOLS)}"
    if reply.stop_reason == "truncated":
        text = f"{_CUT_OFF[0].upper()}{_CUT_OFF[1:]}."
    told = Message(role="user", content=text)
    return session.model_copy(update={"messages": (*session.messages, told), "silent_turns": session.silent_turns + 1})


def _answer(
    desk: Desk, session: AgentSession, reply: ModelReply
) -> tuple[AgentSession, tuple[ToolResult, ...], Candidate | None]:
    results: list[ToolResult] = []
    submitted: Candidate | None = None
    for number, call in enumerate(reply.tool_calls):
        try:
            _check_in_turn(number, reply, submitted)
            done = carry_out(desk, session, read_call(call))
        except ToolError as error:
            results.append(_result(call, str(error), is_error=True))
            continue
        session, submitted = done.session, done.submitted or submitted
        results.append(_result(call, done.told, is_error=False))
    return session, tuple(results), submitted


def _check_in_turn(number: int, reply: ModelReply, submitted: Candidate | None) -> None:
    if reply.stop_reason == "truncated":
        raise ToolError(_CUT_OFF)
    if submitted is not None:
        raise ToolError("not done, for you submitted before it in the same reply")
    if number >= _CALLS_A_TURN:
        raise ToolError(f"not done: {_CALLS_A_TURN} calls in one reply are the most")


def _result(call: ToolCall, text: str, *, is_error: bool) -> ToolResult:
    # Half a character, in an error that quotes a broken call, cannot be sent; a NUL not every server takes.
    clean = shorten_middle(text, _RESULT_CHARS).replace("\0", "\\0").encode(errors="replace").decode()
    return ToolResult(call_id=call.id, content=clean, is_error=is_error)


def carry_out(desk: Desk, session: AgentSession, asked: ToolArguments) -> Done:
    """One call. Raises ToolError where it cannot be done."""
    return _ACTS[type(asked)](desk, session, asked)


def _list(desk: Desk, session: AgentSession, _: ListFiles) -> Done:
    return Done(session, "\n".join(_listed(desk, session)))


def _listed(desk: Desk, session: AgentSession) -> Iterator[str]:
    for name, text in sorted(session.files.items()):
        yield f"{name}: {len(text.splitlines())} lines, {len(text.encode()):,} bytes"
    for sample in desk.run.request.samples:
        yield f"{SAMPLES}{sample.name}: {sample.size_bytes:,} bytes, read only; a run gets it as --{sample.name}"
    if not (session.files or desk.run.request.samples):
        yield "there are no files yet"


def _read(desk: Desk, session: AgentSession, asked: ReadFile) -> Done:
    if asked.path.startswith(SAMPLES):
        lines = sample_rows(desk, asked.path.removeprefix(SAMPLES))
    else:
        lines = file_text(session.files, asked.path).splitlines()
    shown = lines[asked.offset - 1 : asked.offset - 1 + asked.limit]
    if not shown:
        none = "no row of it may be shown" if asked.path.startswith(SAMPLES) and not lines else "there is nothing"
        raise ToolError(f"{asked.path}: {none} from {asked.offset} on, of {len(lines)}")
    head = f"{asked.path}, {asked.offset} to {asked.offset + len(shown) - 1} of {len(lines)}:"
    return Done(session, "\n".join([head, *shown]))


def _write(_: Desk, session: AgentSession, asked: WriteFile) -> Done:
    files = with_file(session.files, asked.path, asked.content)
    return Done(session.model_copy(update={"files": files}), f"{asked.path} is written")


def _edit(_: Desk, session: AgentSession, asked: EditFile) -> Done:
    files = with_edit(session.files, asked.path, asked.search, asked.replace)
    return Done(session.model_copy(update={"files": files}), f"{asked.path} is changed")


def _run_tests(desk: Desk, session: AgentSession, asked: RunTests) -> Done:
    session = _with_packages(session, asked.packages)
    if asked.path != TESTS_FILE:
        return Done(session, run_scratch_tests(desk, session, asked.path))
    report, told = judge_files(desk, session)
    tested = candidate_of(session) if report.passed else session.tested
    return Done(session.model_copy(update={"tested": tested}), told)


def _run_on_sample(desk: Desk, session: AgentSession, asked: RunOnSample) -> Done:
    session = _with_packages(session, asked.packages)
    return Done(session, run_on_sample(desk, session, asked.values))


def _submit(desk: Desk, session: AgentSession, asked: Submit) -> Done:
    session = _with_packages(session, asked.packages)
    plan = CodePlan(description=asked.description, approach=asked.approach)
    candidate = candidate_of(session, plan, asked.system_packages)
    if candidate.tests is None and not desk.run.settings.skip_tests:
        raise ToolError(f"there is no {TESTS_FILE} yet; write tests of what the description promises")
    flaw = syntax_cause(candidate.solution.code, SOLUTION_FILE)
    if flaw is not None:
        raise ToolError(flaw.message)
    if desk.run.attempts and candidate.model_copy(update={"plan": _plan_of(desk)}) == desk.run.attempts[-1].candidate:
        raise ToolError("this is the candidate that failed, unchanged; mend what you were told first")
    return Done(session, "", candidate)


def _plan_of(desk: Desk) -> CodePlan:
    return desk.run.attempts[-1].candidate.plan


def _with_packages(session: AgentSession, packages: list[str] | None) -> AgentSession:
    if packages is None:
        return session
    if len(packages) > _MOST_PACKAGES:
        raise ToolError(f"{len(packages)} packages are too many; name those that solution.py needs")
    return session.model_copy(update={"packages": tuple(dict.fromkeys(packages))})


_ACTS: Final[dict[type[ToolArguments], Callable[..., Done]]] = {
    ListFiles: _list,
    ReadFile: _read,
    WriteFile: _write,
    EditFile: _edit,
    RunTests: _run_tests,
    RunOnSample: _run_on_sample,
    Submit: _submit,
}
