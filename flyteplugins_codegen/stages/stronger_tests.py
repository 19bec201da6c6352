"""Stage `strengthen_tests`: one call for tests that fail for what survived, added to those that are there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flyteplugins_codegen.errors import CodegenError, ModelError
from flyteplugins_codegen.llm.budgeted import Account
from flyteplugins_codegen.llm.prompts import stronger_messages
from flyteplugins_codegen.llm.replies import StrongerTestsReply
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.conversation import ModelCall
from flyteplugins_codegen.models.run import Attempt, Run
from flyteplugins_codegen.source.blocks import unfence
from flyteplugins_codegen.source.declared_tests import asserts_something, declared_tests
from flyteplugins_codegen.source.merged_tests import merge_tests
from flyteplugins_codegen.stages.actions import StrengthenTests
from flyteplugins_codegen.stages.asking import Question, ask_within
from flyteplugins_codegen.stages.attempts import with_calls, with_next
from flyteplugins_codegen.stages.draft import brief_of
from flyteplugins_codegen.stages.lineage import base_attempt
from flyteplugins_codegen.stages.loop import next_action
from flyteplugins_codegen.stages.privacy import without_keys
from flyteplugins_codegen.stages.progress import stage


class Strengthened(Value):
    """The run with the same solution under more tests as its next attempt, and the calls with their messages."""

    run: Run
    calls: tuple[ModelCall, ...]


async def strengthen_tests(run: Run, samples: Mapping[str, Path], account: Account) -> Strengthened:
    """Ask once. Where no usable reply comes the run is stopped, and ends with the candidate that has passed."""
    del samples  # of the stages that ask a model, this one tells nothing of them beyond the profile
    action, base = next_action(run), base_attempt(run)
    if not isinstance(action, StrengthenTests):
        raise CodegenError(f"no stronger tests come next, but {type(action).__name__}")
    with stage("strengthen tests") as note:
        brief = brief_of(run.settings, run.request, run.context)
        question = Question(
            purpose="stronger_tests",
            messages=without_keys(stronger_messages(brief, base.candidate, action.survivors), run.request),
            reply_type=StrongerTestsReply,
            check=lambda reply: merged_tests(base, reply),
            keeps_unusable=True,
        )
        try:
            answer = await ask_within(account, run.settings, question)
        except ModelError as error:
            note.detail = str(error)
            stopped = with_calls(run, error.calls).model_copy(update={"stopped": f"no stronger tests: {error}"})
            return Strengthened(run=stopped, calls=error.calls)
        tests = merged_tests(base, answer.value)
        note.detail = f"{len(declared_tests(tests)) - len(declared_tests(base.candidate.tests or ''))} tests more"
        candidate = base.candidate.model_copy(update={"tests": tests})
        made = with_calls(run, answer.calls)
        stronger = with_next(made, "strengthen_tests", action.reason, candidate, parent=base.number)
        return Strengthened(run=stronger, calls=answer.calls)


def merged_tests(base: Attempt, reply: StrongerTestsReply) -> str:
    """The attempt's tests with those of a reply. Raises ValueError where these are none."""
    tests, added = base.candidate.tests or "", unfence(reply.test_code)
    try:
        if not (declared_tests(added) and asserts_something(added)):
            raise ValueError("test_code has no test that asserts anything")
        merged = merge_tests(tests, added)
    except SyntaxError as error:
        raise ValueError(f"test_code is not Python: {error}") from error
    if len(declared_tests(merged)) <= len(declared_tests(tests)):
        raise ValueError("test_code has no test that is not there already")
    return merged
