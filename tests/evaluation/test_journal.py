"""A run that was killed continues where it ended: samples that have a verdict are not judged again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from signal import SIGINT, SIGKILL, Signals

import pytest
from evaluated_samples import COUNT, PROBLEM, SAMPLES, evaluated
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.evaluation import Evaluation
from flyteplugins_codegen.evaluation.journal import Journal
from flyteplugins_codegen.evaluation.run import DEFAULT_LIMITS, evaluate
from flyteplugins_codegen.evaluation.trials import Verdict

SUPPORT = Path(__file__).parents[1] / "support"
VERDICTS = [
    Verdict(outcome="passed", judged_by="values", cpu_s=0.25),
    Verdict(outcome="wrong_answer", judged_by="suite", reason="assert 1: 'ü\n' == \"\U0001f600\"", attempts=2),
]


def started(journal: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "evaluated_samples", str(journal)]
    return subprocess.Popen(command, cwd=SUPPORT, stderr=subprocess.DEVNULL)


def lines(journal: Path) -> list[bytes]:
    return journal.read_bytes().splitlines() if journal.exists() else []


def wait_for(journal: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    while len(lines(journal)) < count and process.poll() is None:
        time.sleep(0.005)


def without_times(evaluation: Evaluation) -> list[object]:
    return [replace(end, cpu_s=0, wall_s=0) for end in evaluation.samples]


@pytest.fixture(scope="module")
def uninterrupted() -> Evaluation:
    return evaluated(None)


@pytest.mark.parametrize(("count", "ending"), [(COUNT // 2, SIGKILL), (1, SIGKILL), (17, SIGINT)])
def test_a_run_that_was_ended_at_any_point_only_runs_what_is_missing(
    tmp_path: Path, uninterrupted: Evaluation, count: int, ending: Signals
) -> None:
    journal = tmp_path / "journal.jsonl"
    with started(journal) as process:
        wait_for(journal, count, process)
        process.send_signal(ending)
    before = lines(journal)
    assert count <= len(before) < COUNT
    resumed = evaluated(journal)
    after = lines(journal)
    assert after[: len(before)] == before
    keys = Counter(json.loads(line)["key"] for line in after)
    assert len(keys) == COUNT
    assert set(keys.values()) == {1}
    assert without_times(resumed) == without_times(uninterrupted)
    assert resumed.pass_at_k == uninterrupted.pass_at_k
    assert evaluated(journal) == resumed
    assert lines(journal) == after


def test_two_runs_may_share_a_journal(tmp_path: Path, uninterrupted: Evaluation) -> None:
    journal = tmp_path / "journal.jsonl"
    with started(journal) as first, started(journal) as second:
        assert (first.wait(), second.wait()) == (0, 0)
    assert len({json.loads(line)["key"] for line in lines(journal)}) == COUNT
    count = len(lines(journal))
    assert without_times(evaluated(journal)) == without_times(uninterrupted)
    assert len(lines(journal)) == count


def test_the_canonical_solution_runs_once_whether_it_is_a_sample_or_not(tmp_path: Path) -> None:
    journal, problem = tmp_path / "journal.jsonl", replace(PROBLEM, canonical_solution=SAMPLES[0].solution)
    for _ in range(2):
        found = evaluate([problem], SAMPLES[:1], (1,), journal=journal)
        assert found.pass_at_k == {1: 1.0}
        assert found.samples[0].cpu_s > 0
        assert len(lines(journal)) == 1


def test_a_change_of_what_a_verdict_depends_on_needs_a_new_verdict(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    few = SAMPLES[:2]
    for problem in (PROBLEM, PROBLEM, replace(PROBLEM, context="x = 1")):
        evaluate([problem], few, (1,), journal=journal)
    assert len(lines(journal)) == 4
    evaluate([PROBLEM], few, (1,), journal=journal, limits=replace(DEFAULT_LIMITS, memory_mib=512))
    assert len(lines(journal)) == 6


@given(cut=st.integers(0, 10_000), more=st.booleans())
def test_a_line_that_was_cut_off_is_ignored_and_hides_no_other(
    tmp_path_factory: pytest.TempPathFactory, cut: int, *, more: bool
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    kept = Journal(path)
    for number, verdict in enumerate(VERDICTS):
        kept.add(bytes([number]) * 16, verdict)
    kept.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: cut % (len(whole) + 1)])
    again = Journal(path)
    found = [again.get(bytes([number]) * 16) for number in range(2)]
    count = sum(line.endswith(b"}") for line in path.read_bytes().splitlines())
    assert found == [*VERDICTS[:count], *[None] * (2 - count)]
    if more:
        again.add(b"z" * 16, VERDICTS[1])
    again.close()
    last = Journal(path)
    assert last.get(b"z" * 16) == (VERDICTS[1] if more else None)
    assert [last.get(bytes([number]) * 16) for number in range(2)] == found
    last.close()


def test_a_file_that_is_not_a_journal_is_refused_and_stays_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text('{"task_id": "a", "completion": "x"}\n' * 3)
    with pytest.raises(RequestError, match="is no journal of an evaluation: none of its 3 lines"):
        evaluate([PROBLEM], SAMPLES, (1,), journal=path)
    assert path.read_text().count("\n") == 3
    for place in (tmp_path, "/dev/full"):
        with pytest.raises(RequestError, match="is no file"):
            evaluate([PROBLEM], SAMPLES, (1,), journal=place)
    with pytest.raises(RequestError, match="cannot be written"):
        evaluate([PROBLEM], SAMPLES, (1,), journal=path / "below")
