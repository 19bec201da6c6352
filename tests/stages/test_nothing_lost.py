"""After a kill, with a full disk or a damaged cache: no stored reply is paid for again, and the run goes on."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from agent_turns import SUBMIT, SUITE, WRONG, turn, write
from killed_runs import Death, End, Job, RunServer
from model_server import ModelServer, Reply, Scripted, SeenCall

WEAK = {"test_code": "from solution import main\n\n\ndef test_main_is_there():\n    assert main is not None\n"}
TURNS = (
    turn(("list", {}), write("test_solution.py", SUITE)),
    turn(write("solution.py", WRONG), ("run_tests", {})),
    turn(("edit", {"path": "solution.py", "search": "len(lines) - 0", "replace": "len(lines) - 1"}), ("run_tests", {})),
    turn(SUBMIT),
)
ISOLATED = ("repaired", "strengthened")  # the strength of tests is measured in a sandbox alone
ENVIRONMENTS = ("layers", "environments", "locks", "uv")


class SteadyServer(ModelServer):
    """A slow server that always gives the same answer to the same question."""

    def __init__(self, script: dict[str, list[Scripted]]) -> None:
        super().__init__(script, repeat_last=True)
        self._answers: dict[bytes, Scripted] = {}

    def receive(self, path: str, headers: dict[str, str], data: bytes) -> tuple[SeenCall, Scripted]:
        call, item = super().receive(path, headers, data)
        answer = self._answers.setdefault(data, item)
        reply = answer if isinstance(answer, Reply) else Reply(answer)
        return call, dataclasses.replace(reply, delay_s=0.02)

    def asked_by(self, key: str) -> list[str]:
        """The questions of the run that has this key."""
        return [json.dumps(call.body) for call in self.calls if call.headers["authorization"] == f"Bearer {key}"]


@dataclasses.dataclass(frozen=True)
class Way:
    """What a model replies in a job, and the most calls that are in flight at the same time.

    `deaths` is the number of kills of each kind; cheap jobs have more. Without tests an example judges.
    """

    script: dict[str, list[Any]]
    calls: int
    deaths: int
    at_once: int = 2
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)


UNTESTED = {"skip_tests": True}
NOWHERE = {**job.repair(0, 1), "edits": [{"search": "not there", "replace": ""}]}
WAYS = {
    "right": Way({"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}, calls=2, deaths=4),
    "repaired": Way(
        {"SolutionReply": [job.solution(0)], "TestsReply": [job.TESTS], "RepairReply": [job.repair(0, 1)]},
        calls=3,
        deaths=3,
    ),
    "repaired, untested": Way(
        {"SolutionReply": [job.solution(0)], "RepairReply": [job.repair(0, 1)]},
        calls=2,
        deaths=9,
        at_once=1,
        settings=UNTESTED,
    ),
    "anew": Way(
        {
            "SolutionReply": [job.solution(0), job.solution()],
            "RepairReply": [job.repair(0, 2), job.repair(2, 3)],
        },
        calls=6,
        deaths=9,
        at_once=3,
        settings=UNTESTED,
    ),
    "in vain": Way(
        {"SolutionReply": [job.solution(0)], "RepairReply": [NOWHERE, NOWHERE, job.repair(0, 1)]},
        calls=4,
        deaths=4,
        at_once=1,
        settings=UNTESTED,
    ),
    "strengthened": Way(
        {"SolutionReply": [job.solution()], "TestsReply": [WEAK], "StrongerTestsReply": [job.TESTS]}, calls=3, deaths=2
    ),
    "agent": Way(
        {f"tools after {number}": [reply] for number, reply in enumerate(TURNS)},
        calls=len(TURNS),
        deaths=3,
        at_once=1,
        settings={"backend": "agent"},
    ),
}


def job_in(folder: Path, server: ModelServer, settings: dict[str, Any]) -> Job:
    """A job with its own cache in this folder, and the shared environments, which are slow to build."""
    folder.mkdir()
    cache, shared = folder / "cache", Path(os.environ["FLYTE_CODEGEN_CACHE"])
    cache.mkdir()
    for name in ENVIRONMENTS:
        (shared / name).mkdir(exist_ok=True)
        (cache / name).symlink_to(shared / name)
    agent = {"model": "openai/m", "api_base": server.url, "sandbox": "none", **settings}
    table = job.write_table(folder / "table.csv", rows=3)
    examples = [{"inputs": {}, "outputs": {"row_count": 3}}] if agent.get("skip_tests") else []
    return Job(cache=str(cache), key="first", sample=str(table), settings=agent, examples=examples)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunServer]:
    """The server that forks the runs, after their environments were built."""
    with RunServer() as server, SteadyServer(WAYS["right"].script) as model:
        undisturbed(server, job_in(tmp_path_factory.mktemp("runs") / "first", model, {}))
        yield server


@pytest.fixture
def new_job(tmp_path: Path) -> Callable[..., Job]:
    """Creates jobs with the same prompt and table, each with its own cache."""
    numbers = itertools.count(1)
    return lambda server, settings: job_in(tmp_path / str(next(numbers)), server, settings)


def kept_replies(cache: str) -> int:
    return len(list(Path(cache).glob("replies/*/*.json")))


def undisturbed(runs: RunServer, work: Job) -> End:
    (end,) = runs.run(work)
    assert end.result is not None, end.said
    assert end.result["success"]
    return end


@dataclasses.dataclass(frozen=True)
class Life:
    """One process of a job: its key, how it ended, and how many replies were stored by then."""

    key: str
    end: End
    kept: int


def lives_of(runs: RunServer, work: Job, deaths: Iterator[Death], keys: Iterator[str]) -> list[Life]:
    """Start the job again after each kill until it ends."""
    lives: list[Life] = []
    while not lives or lives[-1].end.was_killed:
        work = dataclasses.replace(work, key=next(keys))
        (end,) = runs.run(work, death=next(deaths))
        assert end.was_killed or end.result is not None, end.said
        lives.append(Life(work.key, end, kept_replies(work.cache)))
    return lives


def in_flight(server: SteadyServer, lives: list[Life], questions: set[str], at_once: int) -> int:
    """The number of calls in flight at the kills; only these were made again, once for each kill."""
    asked: set[str] = set()
    lost = repeated = 0
    for life in lives:
        made = server.asked_by(life.key)
        again = [question for question in made if question in asked]
        assert len(made) == len(set(made))
        assert len(again) <= lost, "a call was repeated whose reply was kept"
        asked |= set(made)
        lost = len(asked) - life.kept
        assert 0 <= lost <= at_once
        repeated += len(again)
    assert (lost, asked) == (0, questions)
    return repeated


@dataclasses.dataclass(frozen=True)
class Trial:
    """A job on its server: the questions and the result of an undisturbed run."""

    way: Way
    server: SteadyServer
    whole: End
    questions: set[str]


def events_of(chance: random.Random, last: int) -> Iterator[Death]:
    """Kills at growing numbers of events: if each process ended within the same stage, the job would never end."""
    for number in itertools.count():
        yield Death(at_event=chance.randint(1, last * (4 + number) // 4))


def times_of(chance: random.Random, most_s: float) -> Iterator[Death]:
    """Kills after growing times, so that even on a slow machine some process lives long enough for every stage."""
    for number in itertools.count():
        yield Death(after_s=chance.uniform(0.0, most_s * (1 + number / 4)))


@pytest.mark.parametrize(("name", "sandbox"), [(name, "auto" if name in ISOLATED else "none") for name in WAYS])
def test_a_run_killed_again_and_again_makes_the_calls_of_an_undisturbed_one(runs, new_job, name, sandbox):
    way, chance = WAYS[name], random.Random(name + sandbox)  # noqa: S311 - the same deaths each time
    with SteadyServer(way.script) as server:
        work = functools.partial(new_job, server, {**way.settings, "sandbox": sandbox})
        whole = undisturbed(runs, work())
        trial = Trial(way, server, whole, set(server.asked_by("first")))
        assert len(server.calls) == len(trial.questions) == way.calls
        keys = map(str, itertools.count())
        at_events = functools.partial(events_of, chance, whole.events // 3)
        at_times = functools.partial(times_of, chance, whole.wall_s / 2)
        for deal in (at_events, at_times):
            deaths = 0
            while deaths < way.deaths:
                deaths += deaths_of(trial, lives_of(runs, work(), deal(), keys))


def deaths_of(trial: Trial, lives: list[Life]) -> int:
    """The number of kills; none of them changed the calls that were paid for, or the result."""
    made = sum(len(trial.server.asked_by(life.key)) for life in lives)
    assert made == trial.way.calls + in_flight(trial.server, lives, trial.questions, trial.way.at_once)
    last = lives[-1].end.result
    assert (last["success"], last["code"]) == (True, trial.whole.result["code"])
    return len(lives) - 1


def test_a_finished_run_made_again_writes_nothing_and_asks_nothing(runs, new_job):
    with SteadyServer(WAYS["repaired"].script) as server:
        work = new_job(server, {})
        undisturbed(runs, work)
        again = undisturbed(runs, work)
        assert len(server.calls) == 3
    assert (again.events, again.result["reused"]) == (0, [True] * 3)


def test_the_same_run_twice_at_once_is_paid_for_once(runs, new_job):
    with SteadyServer(WAYS["anew"].script) as server:
        work = new_job(server, UNTESTED)
        ends = runs.run(work, dataclasses.replace(work, key="second"))
        assert [(end.said, end.result["success"]) for end in ends] == [("", True)] * 2
        assert len(server.calls) == WAYS["anew"].calls
        assert kept_replies(work.cache) == len(server.calls)


def test_different_runs_at_once_do_not_disturb_each_other(runs, new_job):
    with SteadyServer(WAYS["repaired"].script) as server:
        work = new_job(server, {})
        others = [dataclasses.replace(work, key=key, prompt=f"Count the rows. {key}") for key in ("second", "third")]
        ends = runs.run(work, *others)
        assert [(end.said, end.result["success"]) for end in ends] == [("", True)] * 3
        assert [len(server.asked_by(key)) for key in ("first", "second", "third")] == [3] * 3


def test_a_full_disk_is_logged_once_for_each_kind_and_loses_no_result(runs, new_job):
    with SteadyServer(WAYS["repaired"].script) as server:
        work = new_job(server, {})
        (end,) = runs.run(work, death=Death(full_disk=True))
        assert end.result is not None, end.said
        assert end.result["success"]
        assert len(server.calls) == 3
    warnings = [line for line in end.said.splitlines() if "could not be kept" in line]
    assert f"replies could not be kept in {work.cache}: No space left on device" in end.said
    assert len(warnings) == len(set(warnings))
    assert "set FLYTE_CODEGEN_CACHE to another folder" in warnings[0]
    assert "Traceback" not in end.said


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def _turned(path: Path) -> None:
    path.write_bytes(path.read_bytes()[::-1])


def _of_another_kind(path: Path) -> None:
    body = b'["no object"]'
    path.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def _in_the_way(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [_emptied, _cut, _turned, _of_another_kind, _in_the_way])
def test_damaged_entries_are_logged_and_computed_again(runs, new_job, damage):
    with SteadyServer(WAYS["right"].script) as server:
        work = new_job(server, {})
        undisturbed(runs, work)
        entries = [path for path in Path(work.cache).rglob("*.json") if path.parts[-3] not in ENVIRONMENTS]
        for path in entries:
            damage(path)
        (end,) = runs.run(work)
        assert end.result is not None, end.said
        assert end.result["success"]
        assert len(server.calls) == 4
    if damage is not _of_another_kind:  # which an entry of another version may be
        for path in (path for path in entries if "replies" in path.parts):
            assert end.said.count(f"{path} is damaged") == 1
    if damage is _in_the_way:
        assert f"replies could not be kept in {work.cache}: Is a directory" in end.said
