"""The public face as a user writes it. mypy checks this file strictly; nothing runs it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
from flytekit import Resources, Secret
from flytekit.types.file import FlyteFile
from typing_extensions import assert_type

from flyteplugins_codegen import (
    AutoCoderAgent,
    Budget,
    CodeBlock,
    CodeExecutionPassAtOne,
    CodeGenEvalResult,
    CodePlan,
    CodeSolution,
    CommandLineCodeResult,
    CommandLineExecutor,
    Evaluation,
    ImageConfig,
    ModelConfig,
    PassAssertionFilter,
    content_str,
    create_virtual_env,
    eval_function_completions,
    evaluate,
    execute_code,
    extract_blocks,
    extract_code,
    generate_assertions,
    generate_code,
    implement,
    improve_code,
    improve_function,
    load_problems,
    load_samples,
    read_evaluation,
    run_code,
)
from flyteplugins_codegen.errors import CodegenError, ModelError, RequestError
from flyteplugins_codegen.evaluation import (
    CallableSerializer,
    CodeExecutionPassAtOneContext,
    Completion,
    MetricResult,
)
from flyteplugins_codegen.solution.task import SandboxTask


def make_an_agent_with_every_setting() -> AutoCoderAgent:
    return AutoCoderAgent(
        model="openai/gpt-4.1",
        name="revenue",
        system_prompt="You write terse code.",
        api_key="COMPANY_MODEL_KEY",
        api_base="http://127.0.0.1:8000/v1",
        model_params={"seed": 7, "metadata": {"team": "sales"}},
        base_packages=("pandas",),
        resources=Resources(cpu="2", mem="1Gi"),
        image_config=ImageConfig(registry="registry.example.com", python_version="3.12"),
        max_iterations=5,
        max_sample_rows=20,
        skip_tests=False,
        sandbox_retries=1,
        timeout_s=60.0,
        env_vars={"TZ": "UTC"},
        secrets=(Secret(key="warehouse"),),
        cache="override",
        sandbox="auto",
    )


def generate_in_every_way_that_samples_come(agent: AutoCoderAgent) -> CodeGenEvalResult:
    result = agent.generate(
        "Total revenue and the days of the best week",
        schema="quantity: pieces sold",
        constraints=["round to cents"],
        samples={
            "by_path": Path("sales.csv"),
            "by_name": "sales.csv",
            "frame": pd.DataFrame(),
            "file": FlyteFile("s.csv"),
        },
        inputs={"since": str, "limit": "int", "prices": FlyteFile},
        outputs={"total": float, "best_week": "directory", "last": dt.datetime},
        examples=[{"inputs": {"since": "2024-01-01"}, "outputs": {"total": 0.0}}],
        tests="def test_it(): ...",
    )
    return assert_type(result, CodeGenEvalResult)


async def generate_without_blocking(agent: AutoCoderAgent) -> tuple[Any, ...]:
    result = assert_type(await agent.generate.aio("Count the rows", outputs={"rows": int}), CodeGenEvalResult)
    return assert_type(await result.run.aio(), tuple[Any, ...])


def read_a_result(result: CodeGenEvalResult) -> None:
    assert_type(result.plan, CodePlan | None)
    assert_type(result.solution, CodeSolution)
    assert_type(result.success, bool)
    assert_type(result.attempts, int)
    assert_type(result.error, str | None)
    assert_type(result.total_input_tokens, int)
    assert_type(result.detected_packages, list[str])
    assert_type(result.conversation_history, list[dict[str, str]])
    assert_type(result.original_samples, dict[str, FlyteFile])


def run_a_result(result: CodeGenEvalResult) -> tuple[Any, ...]:
    result.run(inputs={"name": "an input that is called as a parameter is"}, retries=1, env_vars={"TZ": "UTC"})
    total, best_week = result.run(sales="other.csv", timeout=30, cache="override")
    return total, best_week


def keep_a_result(result: CodeGenEvalResult) -> SandboxTask:
    saved = assert_type(result.save("solution"), Path)
    loaded = assert_type(CodeGenEvalResult.load(saved), CodeGenEvalResult)
    return assert_type(loaded.as_task("revenue", resources=Resources(cpu="1"), retries=2, cache="auto"), SandboxTask)


def catch_by_layer(agent: AutoCoderAgent) -> str:
    try:
        return agent.generate("Count the rows", outputs={"rows": int}).solution.code
    except RequestError as error:
        return f"asked for what is not possible: {error}"
    except ModelError as error:
        return f"the model: {error}"
    except CodegenError as error:
        return f"anything else on purpose: {error}"


def take_code_out_of_a_reply(reply: str) -> None:
    assert_type(extract_code(reply, detect_single_line_code=True), list[tuple[str, str]])
    assert_type(extract_code([{"type": "text", "text": reply}], pattern=r"<c>(.*?)</c>"), list[tuple[str, str]])
    assert_type(extract_blocks(content_str([{"type": "text", "text": reply}])), tuple[CodeBlock, ...])
    for block in extract_blocks(reply):
        assert_type(block.file_name, str | None)
        assert_type(block.attributes.get("title"), str | None)


async def write_with_a_model() -> None:
    configs = ["openai/gpt-4.1-mini", {"model": "gpt-4.1", "max_tokens": 500}, ModelConfig(model="claude-x")]
    blocks, cost = generate_code(prompt="Print {what}.", context={"what": "one"}, model="openai/gpt-4.1")
    assert_type(blocks, list[tuple[str, str]])
    assert_type(cost, float | None)
    assertions, _ = await generate_assertions.aio("def f(x): ...", configs=configs, budget=Budget(max_calls=3))
    assert_type(assertions, str)
    assert_type(improve_function("stats.py", "mean", "Be quick.", tests="..."), tuple[str, float | None])
    assert_type(await improve_code.aio([Path("a.py")], "Be quick.", suggest_only=False), tuple[str, float | None])


async def run_code_of_a_model(reply: str) -> None:
    assert_type(execute_code("print(1)", timeout=0.5, use_docker=["python:3.11-slim"]), tuple[int, str, str | None])
    assert_type(await execute_code.aio("ls", lang="sh", work_dir=Path("work")), tuple[int, str, str | None])
    environment = create_virtual_env("env", packages=["pandas"]).installed()
    execution = await run_code.aio(filename="main.py", work_dir="work", sandbox="bubblewrap", environment=environment)
    assert_type(execution.exit_code, int)
    assert_type(execution.written_files, tuple[str, ...])
    executor = CommandLineExecutor("work", 30, ["pandas>=2.2"])
    result = executor.execute_code_blocks([*extract_blocks(reply), ("sh", "ls")])
    assert_type(result, CommandLineCodeResult)
    assert_type((await executor.execute_code_blocks.aio(extract_blocks(reply))).code_file, str | None)


async def implement_a_function(definition: str) -> None:
    configs = ["openai/gpt-6-luna", {"model": "gpt-6.1-sol", "n": 2}, ModelConfig(model="claude-x")]
    made = await implement.aio(definition, configs, budget=Budget(max_cost_usd=1), use_docker=False)
    code, cost, config_index = made
    assert_type(code, str)
    assert_type(cost, float | None)
    assert_type(config_index, int)
    chosen = PassAssertionFilter(generate_assertions, timeout=0.5)
    assert_type(chosen.pass_assertions({"definition": definition}, [made.code]), bool)
    assert_type(eval_function_completions([code], definition, assertions="assert f(1) == 2"), dict[str, Any])


async def evaluate_samples(earlier: Path) -> None:
    problems = load_problems("humaneval", only=["HumanEval/0"])
    samples = load_samples("samples.jsonl", problems)
    evaluation = await evaluate.aio(problems, samples, k=(1, 10), journal=Path("journal.jsonl"))
    assert_type(evaluation, Evaluation)
    assert_type(evaluation.intervals[1], tuple[float, float])
    assert_type(evaluation.to_parquet("results.parquet"), Path)
    before = read_evaluation(earlier, (1, 10))
    assert_type(evaluation.compare(before).better, tuple[str, ...])
    evaluation.report("report.html", samples=samples, before=before)


def judge_completions(context: CodeExecutionPassAtOneContext) -> None:
    answers = [Completion(id=number, prompt="", completion="x = 1", context=context) for number in range(10)]
    metric = CodeExecutionPassAtOne(k=10, serializer=CallableSerializer(allowed_modules=("merging",)))
    assert_type(metric.calculate(answers), list[MetricResult])
    assert_type(metric.calculate(answers[0])[0].value, float | None)
