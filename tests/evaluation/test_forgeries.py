"""Dishonest solutions of one problem, between honest ones: no dishonest one passes, and no honest one fails."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, zip_longest

import pytest
from forged_values import CHECK, RIGHT, forgeries

from flyteplugins_codegen.evaluation.judges import Judge
from flyteplugins_codegen.evaluation.run import DEFAULT_LIMITS, evaluate
from flyteplugins_codegen.evaluation.values import CheckTests, Problem, Sample, SampleResult

FORGERIES = {forgery.title: forgery.solution for forgery in forgeries()}
HONEST = {
    "as it is": RIGHT,
    "by arithmetic": "f = lambda x: 2 * x\n",
    "prints": "def f(x):\n    print('FAILED', 'BOOKING', 'OK', x)\n    return x * 2\n",
    "prints much": "def f(x):\n    print('x' * 300_000, flush=True)\n    return x * 2\n",
    "by a class": "class Doubler:\n    def __call__(self, x): return x + x\nf = Doubler()\n",
    "by a decorator": "import functools\n@functools.lru_cache\ndef g(x): return x + x\ndef f(x):\n"
    "    return g(x) if isinstance(x, (int, float, str)) else x + x\n",
    "by a process": "import subprocess\ndef f(x):\n    subprocess.run(['true'], check=True)\n    return x + x\n",
    "by a thread": "import threading\ndef f(x):\n    found = []\n"
    "    thread = threading.Thread(target=lambda: found.append(x + x))\n    thread.start()\n    thread.join()\n"
    "    return found[0]\n",
    "by a file": "import pickle, tempfile\ndef f(x):\n    with tempfile.NamedTemporaryFile(delete=False) as file:\n"
    "        pickle.dump(x, file)\n    with open(file.name, 'rb') as file:\n        return 2 * pickle.load(file)\n",
    "catches": "def f(x):\n    try:\n        return x + x\n    except BaseException:\n        raise SystemExit(1)\n",
    "with a guard": "def f(x): return x + x\nif __name__ == '__main__':\n    f(input())\n",
    "with state": "seen = []\ndef f(x):\n    seen.append(x)\n    assert len(seen) < 20\n    return x + x\n",
    "alone": "import os\nassert not {'full', 'a', 'solution.py'} & {*os.listdir('/tmp'), *os.listdir('/dev/shm')}\n"
    + RIGHT,
    "with room": "with open('/dev/shm/x', 'wb') as file: file.write(bytes(1 << 20))\n" + RIGHT,
    "with processes": "import os\nfor _ in range(8):\n    if os.fork() == 0: os._exit(0)\n    os.wait()\n" + RIGHT,
}
LIMITS = replace(DEFAULT_LIMITS, cpu_s=1.0, wall_s=2.0, memory_mib=256, output_mib=8)
PROBLEM = Problem(task_id="HumanEval/0", entry_point="f", tests=CheckTests(CHECK), canonical_solution=RIGHT)


@pytest.fixture(scope="module", params=["values", "suite"])
def ends(request: pytest.FixtureRequest) -> dict[str, SampleResult]:
    """How each ends, by its title. They take turns, so that a mark that one leaves is met by another."""
    judge: Judge = request.param
    names = [name for name in chain(*zip_longest(FORGERIES, [*HONEST, *HONEST])) if name]
    programs = [FORGERIES.get(name) or f"{HONEST[name]}# {number}\n" for number, name in enumerate(names)]
    samples = [Sample(task_id=PROBLEM.task_id, solution=program) for program in programs]
    found = evaluate([PROBLEM], samples, (1,), limits=LIMITS, judge=judge)
    titles = [f"{name} {number}" if name in HONEST else name for number, name in enumerate(names)]
    return dict(zip(titles, found.samples, strict=True))


def test_there_are_more_than_forty_in_four_styles() -> None:
    assert len(FORGERIES) >= 40


def test_no_forgery_passes(ends: dict[str, SampleResult]) -> None:
    assert [title for title in FORGERIES if ends[title].outcome in {"passed", "infrastructure"}] == []
    assert all(ends[title].reason for title in FORGERIES)


def test_no_honest_solution_fails(ends: dict[str, SampleResult]) -> None:
    honest = {title: end for title, end in ends.items() if title not in FORGERIES}
    assert len(honest) == 2 * len(HONEST)
    assert [(title, end.outcome, end.reason) for title, end in honest.items() if not end.passed] == []
