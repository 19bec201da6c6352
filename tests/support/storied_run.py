"""A run in which much happened, put together by hand: what its page looks like shows every part of a page."""

from __future__ import annotations

from flyteplugins_codegen.models.data import (
    AppliedConstraint,
    ColumnProfile,
    DataContext,
    MaskingReport,
    Rule,
    SampleProfile,
    TextProfile,
)
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Example, Request, Sample, TestCase
from flyteplugins_codegen.models.run import (
    Answer,
    Attempt,
    Cause,
    Disagreement,
    DroppedTest,
    Run,
    ScriptRun,
    SuiteReport,
    TestOutcome,
    TestReport,
    TestStrength,
)
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import ModelCall, Usage
from flyteplugins_codegen.stages.report.page import ReportContent

CODE = '''"""Revenue by day."""

from __future__ import annotations

import argparse
import csv


def revenue(path: str) -> float:
    """The sum of quantity times price, returns left out."""
    total = 0.0
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            total += int(row["quantity"]) * float(row["price"])  # as the till writes it
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales", required=True)
    with open("/var/outputs/total", "w") as output:
        output.write(str(revenue(parser.parse_args().sales)))
'''
FIRST = CODE.replace("return total", "return round(total, 2)").replace('row["price"]', 'row["Price"]')
SUITE = """from solution import revenue


def test_of_two_rows(tmp_path):
    ...


def test_of_nothing(tmp_path):
    ...


def test_of_negatives(tmp_path):
    ...
"""
TRACEBACK = """Traceback (most recent call last):
  File "/app/solution.py", line 21, in <module>
    output.write(str(revenue(parser.parse_args().sales)))
  File "/app/solution.py", line 14, in revenue
    total += int(row["quantity"]) * float(row["Price"])
KeyError: 'Price'
"""
ISOLATION = ("user", "mount", "pid", "network", "ipc", "seccomp", "cgroup-memory")


def told_run() -> ReportContent:
    """Three attempts: a column's name was wrong, then a test was, then all was well."""
    run = Run(
        settings=Settings(model="openai/gpt-4.1", name="revenue"),
        request=_request(),
        context=_context(),
        constraints=(
            AppliedConstraint(
                text="quantity must be positive",
                table="sales",
                rules=(Rule(column="quantity", kind="range", minimum=0, excludes_minimum=True),),
                read_by="grammar",
            ),
            AppliedConstraint(text="be quick", reason="it says nothing of a column"),
        ),
        attempts=_attempts(),
        dropped_tests=(
            DroppedTest(name="test_of_negatives", reason="it fails on what your example says is right", attempt=2),
        ),
        calls=(_call("solution", 1812, 0.0061), _call("tests", 1704, 0.0055), _call("repair", 2911, 0.0072)),
    )
    differing = Disagreement(
        case="example 1",
        input="since = 2024-01-01",
        answers=(Answer(attempts=(1,), text="total = 1204"), Answer(attempts=(2, 3), text="total = 1204.5")),
    )
    return ReportContent(
        run=run,
        chosen=3,
        confidence=0.75,
        disagreement=differing,
        image="revenue:0123456789abcdef",
        task_name="revenue",
    )


def _request() -> Request:
    return Request(
        prompt="Total revenue of the shop: the sum of quantity times price.\nReturns are left out.",
        constraints=("quantity must be positive", "be quick"),
        samples=(Sample(name="sales", file_name="sales.csv", size_bytes=48_211, digest="0" * 64),),
        inputs={"sales": "file", "since": "str"},
        outputs={"total": "float"},
        examples=(Example(inputs={"since": "2024-01-01"}, outputs={"total": 1204.5}),),
    )


def _context() -> DataContext:
    columns = (
        ColumnProfile(
            name="quantity",
            arrow_type="int64",
            null_count=0,
            distinct_count=40,
            minimum=1,
            maximum=212,
            mean=6.31,
            deviation=9.8,
            quartiles=(2, 4, 8),
            outlier_count=12,
        ),
        ColumnProfile(
            name="sold_at",
            arrow_type="timestamp[us]",
            null_count=3,
            distinct_count=1458,
            minimum="2024-01-01T08:00:00",
            maximum="2024-06-30T19:58:12",
            quartiles=("2024-02-11T10:00:00", "2024-04-02T12:30:00", "2024-05-20T17:00:00"),
        ),
        ColumnProfile(
            name="branch_or_reseller_that_sold_it",
            arrow_type="string",
            null_count=120,
            distinct_count=9,
            top_values=(("Ostbahnhof", 602), ("Marktplatz", 377), ("online", 200)),
            text=TextProfile(shortest=4, longest=19, mean_length=9.1, shapes=(("Aa+", 979), ("a+", 362))),
        ),
    )
    sales = SampleProfile(
        name="sales",
        file_name="sales.csv",
        format="csv",
        size_bytes=48_211,
        row_count=1461,
        columns={column.name: column for column in columns},
        candidate_keys=(("sold_at", "quantity"),),
        duplicate_row_count=2,
    )
    masking = MaskingReport(replaced={"branch_or_reseller_that_sold_it": {"email": 14}})
    return DataContext(
        samples={"sales": sales}, masking={"sales": masking}, text="## sales (sales.csv): CSV, 1461 rows"
    )


def _attempts() -> tuple[Attempt, ...]:
    lock = EnvironmentLock(
        packages=("pandas",),
        requirements="numpy==2.4.6 --hash=sha256:00\npandas==3.1.1 --hash=sha256:00",
        python="3.11",
        platform="linux-x86_64",
        digest="0" * 64,
    )
    wrong = Cause(kind="exception", subject="KeyError", message="KeyError: 'Price'\nline 14, in revenue")
    failed = Cause(kind="test_failed", subject="test_of_negatives", message="test_of_negatives: assert -3.0 == 0")
    first = Attempt(
        number=1,
        action="first_draft",
        reason="the first candidate",
        candidate=_candidate(FIRST, SUITE),
        environment=lock,
        report=TestReport(runs=(_script(wrong),)),
        cause=wrong,
    )
    second = Attempt(
        number=2,
        action="repair",
        reason="The column is called price, and a sum is not rounded.",
        parent=1,
        round_number=2,
        blame="solution",
        blame_reason="the failure is the script's own, on the samples",
        candidate=_candidate(CODE, SUITE),
        environment=lock,
        report=TestReport(runs=(_script(None),), suites=(_suite(failed),)),
        cause=failed,
    )
    third = second.model_copy(
        update={
            "number": 3,
            "action": "drop_tests",
            "reason": "test_of_negatives contradicts an example of yours",
            "parent": 2,
            "round_number": 3,
            "candidate": _candidate(CODE, SUITE.partition("\n\n\ndef test_of_neg")[0]),
            "report": TestReport(runs=(_script(None),), suites=(_suite(None),)),
            "cause": None,
            "strength": TestStrength(
                share=0.75, killed=9, total=12, made=14, survivors=("line 12, total: + to -", "line 10: 0.0 to 1.0")
            ),
        }
    )
    return first, second, third


def _candidate(code: str, tests: str) -> Candidate:
    plan = CodePlan(
        description="Sums up what was sold.",
        approach="Read the rows one by one, multiply and add.",
        assumptions=("A sale without a price counts nothing.",),
    )
    cases = (TestCase(input="2 at 1.50, 1 at 3.00", expected="6.0", why="quantity times price"),)
    return Candidate(plan=plan, solution=CodeSolution(code=code, packages=("pandas",)), tests=tests, cases=cases)


def _script(cause: Cause | None) -> ScriptRun:
    return ScriptRun(
        case="samples",
        status="exited",
        exit_code=1 if cause else 0,
        stderr=TRACEBACK if cause else "",
        outputs={} if cause else {"total": 60412.75},
        cause=cause,
        wall_s=0.31,
        isolation=ISOLATION,
    )


def _suite(cause: Cause | None) -> SuiteReport:
    names = ("test_of_two_rows", "test_of_nothing")
    tests = [TestOutcome(name=name, outcome="passed", duration_s=0.012) for name in names]
    if cause:
        said = {"message": "assert -3.0 == 0", "traceback": "test_solution.py:13: in test_of_negatives"}
        tests.append(TestOutcome(name="test_of_negatives", outcome="failed", duration_s=0.02, **said))
    return SuiteReport(
        origin="generated",
        expected=tuple(test.name for test in tests),
        tests=tuple(tests),
        exit_code=1 if cause else 0,
        output=f"{len(tests)} tests ran",
        cause=cause,
        wall_s=0.22,
        isolation=ISOLATION,
    )


def _call(purpose: str, input_tokens: int, cost_usd: float) -> ModelCall:
    usage = Usage(input_tokens=input_tokens, output_tokens=512, cached_tokens=1024, reasoning_tokens=64)
    return ModelCall.model_validate(
        {"purpose": purpose, "model": "openai/gpt-4.1", "usage": usage, "cost_usd": cost_usd, "wall_s": 4.2}
    )
