"""The seeded bugs: each is one, and a slice of them is repaired as the recording says."""

from __future__ import annotations

from collections import Counter

from benchmarks.repair.run import render
from benchmarks.repair.study import RECORDING, repair_bug, replies_to, seeded_bugs
from flyteplugins_codegen.llm.replies import RepairReply
from flyteplugins_codegen.source.edits import apply_edits


def test_there_are_forty_bugs_in_ten_jobs_and_every_reply_leads_back_to_the_right_code():
    bugs = list(seeded_bugs())
    assert (len(bugs), len({task.name for task, _ in bugs})) == (40, 10)
    for task, bug in bugs:
        assert task.solution.count(bug.right) == 1, (task.name, bug)
        code = task.solution.replace(bug.right, bug.wrong)
        replies = [RepairReply.model_validate(reply) for reply in replies_to(task, bug)]
        for reply in replies:
            code = apply_edits(code, [(edit.search, edit.replace) for edit in reply.edits])
        assert (code == task.solution) == bool(replies)


def test_a_slice_is_repaired_in_the_calls_that_it_takes():
    repaired = [repair_bug(task, bug, model=f"replay:{RECORDING}") for task, bug in seeded_bugs(frozenset(["top"]))]
    assert all(each.is_repaired for each in repaired), [each.error for each in repaired]
    assert Counter((each.kind, each.calls) for each in repaired) == {
        ("operator", 2): 1,
        ("operator", 1): 1,
        ("wrong column", 1): 1,
        ("missing package", 0): 1,
    }
    assert "| all |  | 4 of 4 | 1 | 1.00 | 2 |" in render(repaired)
