"""Calls that are told many at a time: each is judged as if it had been asked for by itself."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from zlib import compress

import pytest
from backends import open_backend
from forged_values import RIGHT, forgeries

from flyteplugins_codegen.judging.values.inside.plain_data import write_call, write_value
from flyteplugins_codegen.judging.values.run import ValuesJob, run_many, run_values
from flyteplugins_codegen.judging.values.tests import CheckTests, Pair, PairTests
from flyteplugins_codegen.models.run import ValuesReport
from flyteplugins_codegen.sandbox.contract import Limits, Sandbox

# The judge's clock rings before the kernel ends both for their processor time.
LIMITS = Limits(wall_s=2, cpu_s=4, memory_mib=256, processes=64)
MANY = tuple(Pair((number,), expected=2 * number) for number in range(60))
FORGED = {each.title: each.solution for each in forgeries() if "sleep(60)" not in each.solution}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_backend("bubblewrap") as opened:
        yield opened


def judged(sandbox: Sandbox, solution: str, *pairs: Pair) -> ValuesReport:
    return run_values(sandbox, ValuesJob(solution=solution, entry_point="f", tests=PairTests(pairs), limits=LIMITS))


def failed(report: ValuesReport) -> list[str]:
    return [case.name for case in report.cases if case.outcome != "passed"]


def test_every_call_has_arguments_of_its_own(sandbox: Sandbox) -> None:
    """What one changes in them no other one sees, nor is what is expected changed by it."""
    shared = [1, [2]]
    pairs = [Pair((shared, {"a": shared}), expected=[1, [2], [1, [2]]]) for _ in range(20)]
    solution = "def f(x, y):\n    x.append(list(y['a'])); y.clear()\n    return x\n"
    kept = "seen = []\ndef f(x, y):\n    seen.append(x); seen[0].append(0)\n    return x + [y['a'][:2]]\n"
    apart = [Pair(([1, [2]], {"a": [1, [2]]}), expected=[1, [2], [1, [2]]]) for _ in range(20)]
    assert failed(judged(sandbox, solution.replace("list(y['a'])", "[1, [2]]"), *pairs)) == []
    assert failed(judged(sandbox, solution, *apart)) == []
    assert failed(judged(sandbox, kept, *apart)) == ["pair 1"]


def test_a_value_is_told_before_the_next_call_can_change_it(sandbox: Sandbox) -> None:
    solution = "found = []\ndef f(x):\n    found.append(x)\n    return found\n"
    pairs = [Pair((number,), expected=list(range(number + 1))) for number in range(30)]
    assert failed(judged(sandbox, solution, *pairs)) == []


def test_values_that_are_too_large_to_be_kept_together_are_told_all_the_same(sandbox: Sandbox) -> None:
    pairs = [Pair((number,), expected=str(number) * 300_000) for number in range(9)]
    assert failed(judged(sandbox, "def f(x):\n    return str(x) * 300_000\n", *pairs)) == []
    wrong = "def f(x):\n    return str(x) * (300_000 - x // 7)\n"
    assert failed(judged(sandbox, wrong, *pairs)) == ["pair 8", "pair 9"]


def test_a_wrong_value_is_found_while_a_later_call_takes_long(sandbox: Sandbox) -> None:
    """The last of the cases that a check holds a solution against, and the end of its time, are not waited for."""
    solution = "import time\ndef f(x):\n    time.sleep(60 * (x == 5))\n    return x + x + (x == 3)\n"
    lines = b"\n".join(line for n in range(8) for line in (write_call([n], {}, str), write_value(2 * n, str)))
    check = f"import sys\ncheck = sys.modules['compare'].Cases({b64encode(compress(lines))!r}, 'close', 0.0).check\n"
    job = ValuesJob(solution=solution, entry_point="f", tests=CheckTests(f"assert True\n{check}"), limits=LIMITS)
    report = run_values(sandbox, job)
    assert report.cause
    assert report.cause.kind == "test_failed"
    assert "input 4 of 8: expected 6" in report.cause.message
    assert report.wall_s < LIMITS.wall_s


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        ("while True: pass", "timed_out"),
        ("import time; time.sleep(9)", "timed_out"),
        ("import os; os._exit(0)", "exception"),
        ("y = []\n        while True: y.append(bytes(1 << 24))", "out_of_memory"),
    ],
)
def test_the_call_that_ended_it_is_named_and_those_before_it_have_passed(
    sandbox: Sandbox, ending: str, kind: str
) -> None:
    report = judged(sandbox, f"def f(x):\n    if x == 40:\n        {ending}\n    return x + x\n", *MANY)
    assert report.cause
    assert (report.cause.kind, report.cause.subject) == (kind, "pair 41")
    assert kind == "out_of_memory" or "f(40)" in report.cause.message
    assert [case.name for case in report.cases if case.outcome == "passed"] == [f"pair {n}" for n in range(1, 41)]


def test_a_limit_that_may_end_the_judge_too_names_the_call_or_none(sandbox: Sandbox) -> None:
    """Whose time is up first, the solution's or that of all together, is chance."""
    solution = "def f(x):\n    while x == 40: pass\n    return x + x\n"
    limits = replace(LIMITS, wall_s=20.0, cpu_s=1.0)
    report = run_values(sandbox, ValuesJob(solution=solution, entry_point="f", tests=PairTests(MANY), limits=limits))
    assert report.cause
    assert report.cause.kind == "timed_out"
    assert report.cause.subject in {"", "pair 41"}


@pytest.mark.parametrize(
    "gives",
    [
        "raise StopIteration",
        "raise ValueError(x)",
        "return object()",
        "return [object()]",
        "return (number for number in [x])",
        "return f",
        "return '\\ud800'",
        "return 2 * x + 1e-9",
        "return None",
    ],
)
def test_one_that_fails_does_not_end_the_others(sandbox: Sandbox, gives: str) -> None:
    solution = f"def g(x):\n    {gives}\ndef f(x):\n    return g(x) if x in (5, 30, 59) else x + x\n"
    assert failed(judged(sandbox, solution, *MANY)) == ["pair 6", "pair 31", "pair 60"]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ([[1.5, float("nan")], None, "é\ud800"], "text"),
        (2**70, 2**70),
        ((1, 2), (1, 2)),
        ({"a": {1, 2}}, {1, 2}),
        ("x" * 400_000, 400_000),
    ],
)
def test_arguments_of_every_plain_kind_arrive_as_they_are(sandbox: Sandbox, argument: Any, value: Any) -> None:
    solution = f"def f(x, want):\n    given = {argument!r}\n    return want if repr(x) == repr(given) else None\n"
    solution = solution.replace("nan", "float('nan')")
    pairs = [Pair((argument, value), expected=value), Pair((argument,), {"want": value}, expected=value)] * 3
    assert failed(judged(sandbox, solution, *pairs)) == []


AHEAD = """
import gc, os
def say(place, text):
    link = next(found for found in gc.get_objects() if type(found).__name__ == "Link")
    token = next(found for found in gc.get_objects() if type(found).__name__ == "CandidatePeer")._token
    text = f'["{token}",{place},"value",{text}]'.encode()
    os.write(link._writing, len(text).to_bytes(4, "big") + text)
def write(text):
    buffer = next(found for found in gc.get_objects() if type(found).__name__ == "SharedBuffer")
    buffer.add(str(text).encode())
"""

LATE = """
import threading, time
def late():
    time.sleep(0.1)
    say(9, 18)
def f(x):
    if x == 7: threading.Thread(target=late).start()
    if x == 9: time.sleep(0.3)
    return x + x
"""


@pytest.mark.parametrize(
    "forged",
    [
        "def f(x):\n    say(0, 0); return x + x",
        "def f(x):\n    say(x + 1, 2 * x + 2); return x + x",
        "def f(x):\n    if x == 7: say(8, 16)\n    return x + x",
        "def f(x):\n    if x == 3: say(3, 6)\n    return x + x",
        "def f(x):\n    say(x, 2 * x); return x + x",
        "def f(x):\n    say(repr('x'), 2 * x); return x + x",
        "def f(x):\n    write(2 * x); return x + x",
        "def f(x):\n    if x == 3: write('[')\n    return x + x",
        "def f(x):\n    for number in range(100 * (x == 20)): write(2 * number)\n    return x + x",
        "def f(x):\n    if x == 59: say(60, 0)\n    return x + x",
        LATE,
        "def f(x):\n    if x in (2, 3): say(5 - x, 2 * (5 - x))\n    else: return x + x",
    ],
)
def test_who_says_more_than_the_answers_is_found_out(sandbox: Sandbox, forged: str) -> None:
    report = judged(sandbox, AHEAD + forged, *MANY)
    assert report.cause
    assert report.cause.kind == "untrusted_report"


ITSELF: list[Any] = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("gives", "value"),
    [
        ("float('nan')", math.nan),
        ("-0.0", 0.0),
        ("complex(0, -x)", 0j),
        ("10 ** 10_000 + x", 10**10_000),
        ("{b'a', frozenset({x})}", {b"a", frozenset({0})}),
        ("[seen := [x], seen, seen]", [[0], [0], [0]]),
        ("(itself := []).append(itself) or itself", ITSELF),
        ("L([x, 6])", [0, 6]),
        ("(I(x), I(6))", (0, 6)),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_value_of_any_kind_is_taken_for_what_it_is(sandbox: Sandbox, gives: str, value: Any) -> None:
    """Whatever a class of the solution's says of its own equality, text and items."""
    says = "__eq__ = __ne__ = __repr__ = __reduce_ex__ = __hash__ = __iter__ = __len__ = __index__ = lies"
    solution = f"def lies(*_): raise KeyError\nclass L(list): {says}\nclass I(int): {says}\n"
    solution += f"def f(x, n): return {gives}\n"
    pairs = [Pair((0, number), expected=value) for number in range(20)]
    assert failed(judged(sandbox, solution, *pairs, Pair((0, 0), expected=["other"]))) == ["pair 21"]


LOOKS_AHEAD = """
import re
def f(x):
    found = []
    with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb') as memory:
        for line in maps:
            start, end = (int(part, 16) for part in line.split()[0].split('-'))
            try:
                memory.seek(start)
                found += re.findall(rb'hid[d]en [0-9]+|giv[e]n [0-9]+', memory.read(end - start))
            except (OSError, ValueError, OverflowError): pass
    return sorted(set(found))
"""


def test_who_looks_ahead_finds_what_is_given_and_not_what_is_expected(sandbox: Sandbox) -> None:
    report = judged(sandbox, LOOKS_AHEAD, *(Pair((f"given {n}",), expected=f"hidden {n}") for n in range(4)))
    assert [case.outcome for case in report.cases] == ["failed"] * 4
    assert "given 3" in report.cases[0].message
    assert "hidden" not in report.cases[0].message.partition("expected")[0]


def test_who_changes_the_arguments_of_later_calls_answers_other_questions(sandbox: Sandbox) -> None:
    solution = "import gc\ndef f(x):\n    for found in gc.get_objects():\n"
    solution += "        if type(found) is list and found[:1] == ['bare']: found[1:] = [3]\n    return x + x\n"
    assert failed(judged(sandbox, solution, *(Pair((number,), expected=2 * number) for number in (3, 4, 3)))) == [
        "pair 2"
    ]


def test_who_reads_the_questions_itself_waits_for_those_that_come_after_its_answer(sandbox: Sandbox) -> None:
    reads = "import gc, os\ndef f(x):\n    link = next(o for o in gc.get_objects() if type(o).__name__ == 'Link')\n"
    report = judged(sandbox, f"{reads}    os.read(link._reading, 1 << 20)\n    return x + x\n", *MANY)
    assert report.cause
    assert (report.cause.kind, report.cause.subject) == ("timed_out", "pair 1")


@pytest.fixture(scope="module")
def forged_reports(sandbox: Sandbox) -> dict[str, object]:
    pairs = PairTests((Pair((3,), expected=6), Pair(("ab",), expected="abab"), Pair(([1],), expected=[1, 1])))
    titles = {"right": RIGHT, **FORGED}
    jobs = [ValuesJob(solution=solution, entry_point="f", tests=pairs, limits=LIMITS) for solution in titles.values()]
    return dict(zip(titles, run_many(sandbox, jobs), strict=True))


def test_no_forgery_passes_where_calls_are_told_together(forged_reports: dict[str, object]) -> None:
    passed = [title for title, report in forged_reports.items() if isinstance(report, ValuesReport) and report.passed]
    assert passed == ["right"]
