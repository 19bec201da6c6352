"""eval-framework's metric by counted tests: a printed word neither passes a crash nor fails an honest solution."""

from __future__ import annotations

from typing import Any

import pytest

from flyteplugins_codegen.errors import DecodingError, PackageError, RequestError
from flyteplugins_codegen.evaluation import (
    CallableSerializer,
    CodeExecutionPassAtOne,
    CodeExecutionPassAtOneContext,
    Completion,
    Error,
    ExecutionResult,
    MetricResult,
    RealtimeCodeExectionContext,
    RealtimeCodeExecutionContext,
    execute_python_code_with_tests,
    parse_unittest_output,
    unittest_merge_snippets,
)

TESTS = """
import unittest

class TestCases(unittest.TestCase):
    def test_small(self):
        self.assertEqual(task_func(1), 2)

    def test_large(self):
        self.assertEqual(task_func(10**9), 2 * 10**9)
"""
RIGHT = "def task_func(x):\n    return 2 * x\n"
WRONG = "def task_func(x):\n    return 2\n"
ALLOWING = CallableSerializer(allowed_modules=("merging",))


def context(**changes: Any) -> CodeExecutionPassAtOneContext:
    fields: dict[str, Any] = {
        "run_env": "",
        "code_prompt": "def task_func(x):",
        "test_code": TESTS,
        "benchmark_timeout": 20,
        "package_downloads": {},
        "snippet_merge_fn": CallableSerializer().encode(unittest_merge_snippets),
        "output_parse_fn": CallableSerializer().encode(parse_unittest_output),
    }
    return CodeExecutionPassAtOneContext(**{**fields, **changes})


def completion(code: str, **changes: Any) -> Completion:
    return Completion(id=0, prompt="", completion=code, context=context(**changes))


def result_of(code: str, **changes: Any) -> MetricResult:
    (result,) = CodeExecutionPassAtOne(serializer=ALLOWING).calculate(completion(code, **changes))
    assert result.metric_name == "code-execution-pass@1"
    assert result.higher_is_better
    return result


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (RIGHT, 1.0),
        (WRONG, 0.0),
        ("print('FAILED (failures=3)')\nprint('AssertionError')\n" + RIGHT, 1.0),
        ("print('BOOKING OK')\nimport os\nos.abort()\n" + RIGHT, 0.0),
        ("import os, sys\nprint('Ran 2 tests in 0.1s\\n\\nOK', file=sys.stderr, flush=True)\nos._exit(0)\n", 0.0),
        ("import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n" + WRONG, 0.0),
        ("class Same(int):\n    def __eq__(self, other): return True\n\ndef task_func(x): return Same()\n", 0.0),
        ("def task_func(x: return", 0.0),
        ("def another(x): return 2 * x\n", 0.0),
        ("import no_such_module\n" + RIGHT, 0.0),
    ],
)
def test_a_completion_passes_by_the_tests_that_ran(code: str, value: float) -> None:
    result = result_of(code)
    assert result.value == value
    assert result.error is None
    assert result.code_execution_trace
    assert ("completed successfully" in result.code_execution_trace) is bool(value)


def test_a_completion_that_does_not_end_has_failed() -> None:
    result = result_of("while True: pass\n", benchmark_timeout=1)
    assert result.value == 0.0
    assert "it had not ended after 1 s" in str(result.code_execution_trace)


def test_an_answer_that_is_an_error_has_no_value_and_the_error() -> None:
    error = Error(error_class="PromptTooLong", message="8193 tokens", traceback="")
    given = completion(RIGHT).model_copy(update={"error": error})
    (result,) = CodeExecutionPassAtOne().calculate(given)
    assert (result.value, result.error) == (None, error)


@pytest.mark.parametrize(
    ("changes", "error_class"),
    [
        ({"package_downloads": {"task_lib": "../task_lib"}}, "PackageError"),
        ({"test_code": "assert ("}, "RequestError"),
    ],
)
def test_what_is_not_the_models_fault_has_no_value(changes: dict[str, Any], error_class: str) -> None:
    result = result_of("import task_lib\n" + RIGHT, **changes)
    assert result.value is None
    assert result.error is not None
    assert result.error.error_class == error_class


def test_a_fault_is_raised_where_that_is_asked_for() -> None:
    metric = CodeExecutionPassAtOne(fail_on_error=True)
    with pytest.raises(PackageError):
        metric.calculate(completion("import lib", package_downloads={"lib": "lib @ file:///etc"}))


def test_several_completions_of_a_problem_are_estimated_together() -> None:
    error = Error(error_class="Timeout", message="no answer")
    unanswered = completion(RIGHT).model_copy(update={"error": error})
    given = [completion(RIGHT), completion(WRONG), completion(RIGHT), unanswered]
    (one,) = CodeExecutionPassAtOne().calculate(given)
    (two,) = CodeExecutionPassAtOne(k=2).calculate(given)
    (four,) = CodeExecutionPassAtOne(k=4).calculate(given[:3])
    assert one.value == pytest.approx(2 / 3)
    assert one.error == error
    assert (two.metric_name, two.value) == ("code-execution-pass@2", 1.0)
    assert four.value is None
    assert four.error is not None
    assert "give 4 or more" in four.error.message


def test_completions_of_different_problems_are_refused() -> None:
    with pytest.raises(RequestError, match="different contexts"):
        CodeExecutionPassAtOne().calculate([completion(RIGHT), completion(RIGHT, code_prompt="another")])


@pytest.mark.parametrize("given", [[], Completion(id=7, prompt="", completion=RIGHT)])
def test_a_completion_and_its_context_are_required(given: Any) -> None:
    with pytest.raises(RequestError, match=r"no completion|response 7 has no"):
        CodeExecutionPassAtOne().calculate(given)


def test_a_k_of_zero_is_refused() -> None:
    with pytest.raises(RequestError, match="k=0"):
        CodeExecutionPassAtOne(k=0)


def test_a_completion_read_from_json_is_judged_the_same() -> None:
    read = Completion.model_validate_json(completion(RIGHT).model_dump_json())
    (result,) = CodeExecutionPassAtOne().calculate(read)
    assert result.value == 1.0


def test_a_function_of_a_module_that_is_not_allowed_stops_the_calculation() -> None:
    with pytest.raises(DecodingError, match="allowed_modules"):
        CodeExecutionPassAtOne().calculate(completion(RIGHT, snippet_merge_fn="merging:line_by_line"))


def test_packages_that_are_imported_and_listed_are_installed() -> None:
    code = "def task_func(x):\n    import six as s; return s.integer_types[0](2 * x)\n"
    assert result_of(code, package_downloads={"six": "six", "numpy": "numpy"}).value == 1.0
    missing = result_of(code, package_downloads={"six": None})
    assert missing.value == 0.0
    assert "six" in str(missing.code_execution_trace)


def test_statements_that_assert_are_counted_as_one_test() -> None:
    tests = "assert task_func(2) == 4\nassert task_func(3) == 6\n"
    merge = "merging:line_by_line"
    assert result_of(RIGHT, test_code=tests, snippet_merge_fn=merge).value == 1.0
    assert result_of(WRONG, test_code=tests, snippet_merge_fn=merge).value == 0.0


def test_a_program_that_only_prints_is_judged_by_its_text_and_its_end() -> None:
    changes = {"test_code": "print(task_func(21))", "output_parse_fn": "merging:prints_42"}
    merge = {"snippet_merge_fn": "merging:tests_first"}
    assert result_of(RIGHT, **changes, **merge).value == 1.0
    assert result_of(WRONG, **changes, **merge).value == 0.0
    assert result_of("print(42)\nimport sys\nsys.stdout.flush()\n1 / 0", **changes, **merge).value == 0.0


def test_a_context_carries_its_functions_as_functions() -> None:
    realtime = RealtimeCodeExecutionContext.from_context(context())
    assert RealtimeCodeExectionContext is RealtimeCodeExecutionContext
    assert realtime.snippet_merge_fn is unittest_merge_snippets
    assert realtime.output_parse_fn("Ran 1 test in 0.1s\n\nOK").success


def test_the_function_below_the_metric_takes_what_eval_frameworks_takes() -> None:
    arguments: dict[str, Any] = {
        "code": RIGHT,
        "test_code": TESTS,
        "package_mapping": {},
        "merge_code_fn": unittest_merge_snippets,
        "image": "python",
        "timeout": 0,
        "parse_output_fn": parse_unittest_output,
    }
    result = execute_python_code_with_tests(**arguments, dockerfile=None)
    assert result == ExecutionResult(success=True, output="All 2 tests completed successfully.")
    with pytest.raises(RequestError, match="as image"):
        execute_python_code_with_tests(**arguments, dockerfile="Dockerfile")
    with pytest.raises(RequestError, match="timeout=-1"):
        execute_python_code_with_tests(**{**arguments, "timeout": -1}, dockerfile=None)
