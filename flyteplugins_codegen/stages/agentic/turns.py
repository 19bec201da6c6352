"""One turn of an agent: its tool calls are carried out in order. A call that cannot be gets an error as its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from flyteplugins_codegen.judging.causes import syntax_cause
from flyteplugins_codegen.llm.protocol import ModelReply
from flyteplugins_codegen.models.job import Candidate, CodePlan
from flyteplugins_codegen.models.run import SOLUTION_FILE, TESTS_FILE, AgentSession
from flyteplugins_codegen.models.spending import ToolResult
from flyteplugins_codegen.stages.agentic.conversation import (
    CUT_OFF,
    tool_result,
    with_nudge,
    with_reply,
    with_results,
)
from flyteplugins_codegen.stages.agentic.running import (
    AgentWorkspace,
    candidate_of,
    judge_files,
    run_on_sample,
    run_scratch_tests,
    sample_rows,
)
from flyteplugins_codegen.stages.agentic.tools import (
    SAMPLES,
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
    parse_call,
    with_edit,
    with_file,
)

_CALLS_A_TURN: Final = 16
_MOST_PACKAGES: Final = 50


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The session after a call or a turn, the text of the result, and the candidate that was submitted."""

    session: AgentSession
    text: str = ""
    submitted: Candidate | None = None


def take_turn(workspace: AgentWorkspace, session: AgentSession, reply: ModelReply) -> ToolOutcome:
    """Carry out the calls in the model's reply. If it submits a candidate, the results stay in `pending`.

    Raises as the stages that run candidates; nothing that a model writes can raise.
    """
    session = with_reply(session, reply)
    if not reply.tool_calls:
        return ToolOutcome(with_nudge(session, reply))
    session, results, submitted = _carry_out_calls(workspace, session.model_copy(update={"silent_turns": 0}), reply)
    if submitted is not None:
        return ToolOutcome(session.model_copy(update={"pending": results}), submitted=submitted)
    return ToolOutcome(with_results(session, results, workspace.run.settings.max_turns))


def _carry_out_calls(
    workspace: AgentWorkspace, session: AgentSession, reply: ModelReply
) -> tuple[AgentSession, tuple[ToolResult, ...], Candidate | None]:
    results: list[ToolResult] = []
    submitted: Candidate | None = None
    for number, call in enumerate(reply.tool_calls):
        try:
            _check_in_turn(number, reply, submitted)
            arguments = parse_call(call)
            outcome = _TOOLS[type(arguments)](workspace, session, arguments)
        except ToolError as error:
            results.append(tool_result(call, str(error), is_error=True))
            continue
        session, submitted = outcome.session, outcome.submitted or submitted
        results.append(tool_result(call, outcome.text, is_error=False))
    return session, tuple(results), submitted


def _check_in_turn(number: int, reply: ModelReply, submitted: Candidate | None) -> None:
    if reply.stop_reason == "truncated":
        raise ToolError(CUT_OFF)
    if submitted is not None:
        raise ToolError("not done, for you submitted before it in the same reply")
    if number >= _CALLS_A_TURN:
        raise ToolError(f"not done: {_CALLS_A_TURN} calls in one reply are the most")


# --- tools ---


def _list_files(workspace: AgentWorkspace, session: AgentSession, _: ListFiles) -> ToolOutcome:
    return ToolOutcome(session, "\n".join(_file_lines(workspace, session)))


def _file_lines(workspace: AgentWorkspace, session: AgentSession) -> Iterator[str]:
    for name, text in sorted(session.files.items()):
        yield f"{name}: {len(text.splitlines())} lines, {len(text.encode()):,} bytes"
    for sample in workspace.run.request.samples:
        yield f"{SAMPLES}{sample.name}: {sample.size_bytes:,} bytes, read only; a run gets it as --{sample.name}"
    if not (session.files or workspace.run.request.samples):
        yield "there are no files yet"


def _read_file(workspace: AgentWorkspace, session: AgentSession, arguments: ReadFile) -> ToolOutcome:
    path, first = arguments.path, arguments.offset
    if path.startswith(SAMPLES):
        lines = sample_rows(workspace, path.removeprefix(SAMPLES))
    else:
        lines = file_text(session.files, path).splitlines()
    shown = lines[first - 1 : first - 1 + arguments.limit]
    if not shown:
        reason = "no row of it may be shown" if path.startswith(SAMPLES) and not lines else "there is nothing"
        raise ToolError(f"{path}: {reason} from {first} on, of {len(lines)}")
    head = f"{path}, {first} to {first + len(shown) - 1} of {len(lines)}:"
    return ToolOutcome(session, "\n".join([head, *shown]))


def _write_file(_: AgentWorkspace, session: AgentSession, arguments: WriteFile) -> ToolOutcome:
    files = with_file(session.files, arguments.path, arguments.content)
    return ToolOutcome(session.model_copy(update={"files": files}), f"{arguments.path} is written")


def _edit_file(_: AgentWorkspace, session: AgentSession, arguments: EditFile) -> ToolOutcome:
    files = with_edit(session.files, arguments.path, arguments.search, arguments.replace)
    return ToolOutcome(session.model_copy(update={"files": files}), f"{arguments.path} is changed")


def _run_tests(workspace: AgentWorkspace, session: AgentSession, arguments: RunTests) -> ToolOutcome:
    session = _with_packages(session, arguments.packages)
    if arguments.path != TESTS_FILE:
        return ToolOutcome(session, run_scratch_tests(workspace, session, arguments.path))
    report, text = judge_files(workspace, session)
    tested = candidate_of(session) if report.passed else session.tested
    return ToolOutcome(session.model_copy(update={"tested": tested}), text)


def _run_on_sample(workspace: AgentWorkspace, session: AgentSession, arguments: RunOnSample) -> ToolOutcome:
    session = _with_packages(session, arguments.packages)
    return ToolOutcome(session, run_on_sample(workspace, session, arguments.values))


def _submit(workspace: AgentWorkspace, session: AgentSession, arguments: Submit) -> ToolOutcome:
    run, session = workspace.run, _with_packages(session, arguments.packages)
    plan = CodePlan(description=arguments.description, approach=arguments.approach)
    candidate = candidate_of(session, plan, arguments.system_packages)
    if candidate.tests is None and not run.settings.skip_tests:
        raise ToolError(f"there is no {TESTS_FILE} yet; write tests of what the description promises")
    flaw = syntax_cause(candidate.solution.code, SOLUTION_FILE)
    if flaw is not None:
        raise ToolError(flaw.message)
    last = run.attempts[-1].candidate if run.attempts else None
    if last is not None and candidate.model_copy(update={"plan": last.plan}) == last:
        raise ToolError("this is the candidate that failed, unchanged; mend what you were told first")
    return ToolOutcome(session, submitted=candidate)


def _with_packages(session: AgentSession, packages: list[str] | None) -> AgentSession:
    if packages is None:
        return session
    if len(packages) > _MOST_PACKAGES:
        raise ToolError(f"{len(packages)} packages are too many; name those that solution.py needs")
    return session.model_copy(update={"packages": tuple(dict.fromkeys(packages))})


_TOOLS: Final[dict[type[ToolArguments], Callable[..., ToolOutcome]]] = {
    ListFiles: _list_files,
    ReadFile: _read_file,
    WriteFile: _write_file,
    EditFile: _edit_file,
    RunTests: _run_tests,
    RunOnSample: _run_on_sample,
    Submit: _submit,
}
