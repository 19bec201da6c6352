"""Sampling a model and scoring it, as a Flyte workflow.

Problems are sampled in chunks, each a task that Flyte caches by what is asked. Started again, the workflow asks only
for the missing chunks, and in local execution only for the missing replies of a chunk. With a budget the chunks run one
after another, and each knows what those before it spent; without one they run at the same time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from flytekit import dynamic, task, workflow
from flytekit.types.file import FlyteFile
from pydantic import JsonValue

from flyteplugins_codegen.autogen.model_config import ModelConfig, read_config
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.problems.load import load_problems
from flyteplugins_codegen.evaluation.run import check_problems
from flyteplugins_codegen.evaluation.sampling import MOST_TRIES, sample_model, write_samples
from flyteplugins_codegen.evaluation.scores import check_k
from flyteplugins_codegen.flyte.cli import launchable
from flyteplugins_codegen.flyte.evaluation import Evaluated, check_ratio, evaluate, problem_path
from flyteplugins_codegen.flyte.launch import check_model_here, checked_before_launch
from flyteplugins_codegen.flyte.pods import PLANNING_POD, SANDBOX_POD, keeping_replies
from flyteplugins_codegen.flyte.preflight import check_before_spending, check_reaches_beyond_pod
from flyteplugins_codegen.flyte.state import Salt, cached_by_code, local_salt
from flyteplugins_codegen.flyte.tasks import model_secrets
from flyteplugins_codegen.llm.budget import BudgetAccount
from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.settings import SandboxKind
from flyteplugins_codegen.models.spending import Budget, Spending
from flyteplugins_codegen.solution.flytekit import checked, readable_errors
from flyteplugins_codegen.stages.preflight import check_together
from flyteplugins_codegen.store import cache_dir, digest, write_file
from flyteplugins_codegen.sync import run_blocking


class Chunk(Value):
    """Some problems by id, and the digest of their texts."""

    task_ids: tuple[str, ...]
    content: str


class Sampling(Value):
    """The model, how many samples of each problem, and how many calls at a time."""

    model: str
    api_key: str
    api_base: str
    model_params: dict[str, JsonValue]
    n: int
    at_once: int
    salt: Salt = Salt()

    @property
    def config(self) -> ModelConfig:
        """The model's configuration for `autogen`. Raises SettingsError."""
        fields = {"model_params": self.model_params, "api_key_env": self.api_key or None}
        return read_config({"model": self.model, "api_base": self.api_base or None, **fields})


class SamplingPlan(NamedTuple):
    """What to ask for, in chunks."""

    chunks: list[Chunk]
    problems: FlyteFile
    sampling: Sampling
    budget: Budget


class Sampled(NamedTuple):
    """The samples of a chunk, and what its calls spent."""

    samples: FlyteFile
    spent: Spending


# It has the key only to find out that it is there.
@task(secret_requests=model_secrets(), **SANDBOX_POD)
@readable_errors
def plan_sampling(  # noqa: PLR0913 - a command line is flat
    *,
    problems: str,
    model: str,
    n: int,
    chunk_size: int,
    at_once: int,
    api_key: str,
    api_base: str,
    model_params: dict | None,
    max_calls: int | None,
    max_tokens: int | None,
    max_cost_usd: float | None,
    k: list[int],
    save_to: str,
    packages: list[str],
    sandbox: SandboxKind,
) -> SamplingPlan:
    """Check the arguments, what sampling and judging need, and split the problems.

    Raises RequestError, SettingsError and as `check_before_spending` before anything is paid for.
    """
    budget = check_sampling(
        n=n, chunk_size=chunk_size, k=k, max_calls=max_calls, max_tokens=max_tokens, max_cost_usd=max_cost_usd
    )
    path = problem_path(problems)
    loaded = load_problems(path)
    check_problems(loaded)
    parts = [loaded[start : start + chunk_size] for start in range(0, len(loaded), chunk_size)]
    chunks = [
        Chunk(
            task_ids=tuple(problem.task_id for problem in part),
            content=digest([[problem.prompt, problem.entry_point, problem.language] for problem in part]),
        )
        for part in parts
    ]
    sampling = Sampling(
        model=model, api_key=api_key, api_base=api_base, model_params=model_params or {}, n=n, at_once=at_once
    )
    settings = sampling.config.settings.model_copy(update={"sandbox": sandbox, "base_packages": tuple(packages)})
    check_before_spending(settings, save_to=save_to)
    sampling = sampling.model_copy(update={"salt": local_salt("samples", sampling, chunks)})
    return SamplingPlan(chunks, FlyteFile(str(path)), sampling, budget)


@task(
    cache=cached_by_code("autogen", "evaluation", "llm", ignored=("problems", "budget", "before")),
    secret_requests=model_secrets(),
    **SANDBOX_POD,
)
@readable_errors
@keeping_replies
def sample_chunk(
    chunk: Chunk, problems: FlyteFile, sampling: Sampling, budget: Budget, before: list[Spending]
) -> Sampled:
    """Ask for every sample of the chunk. Raises BudgetSpentError; a larger budget continues from there."""
    chosen = load_problems(Path(os.fspath(problems)), only=chunk.task_ids)
    account = BudgetAccount(_remaining(budget, sum(before, Spending())))
    asking = sample_model(chosen, sampling.config, tries=range(sampling.n), account=account, at_once=sampling.at_once)
    samples = run_blocking(asking)
    path = write_samples(samples, cache_dir() / "samples" / f"{digest(chunk, sampling)}.jsonl")
    return Sampled(FlyteFile(str(path)), account.spent)


@dynamic(**PLANNING_POD)
@readable_errors
def sample_chunks(chunks: list[Chunk], problems: FlyteFile, sampling: Sampling, budget: Budget) -> list[FlyteFile]:
    """All chunks: one after another where a budget limits them together, else at the same time."""
    is_bounded = budget != Budget()
    samples: list[FlyteFile] = []
    spent: list[Spending] = []
    for chunk in chunks:
        sampled = sample_chunk(
            chunk=chunk, problems=problems, sampling=sampling, budget=budget, before=spent if is_bounded else []
        )
        samples.append(sampled.samples)
        spent = [*spent, sampled.spent]
    return samples


@task(**PLANNING_POD)
@readable_errors
def join_samples(samples: list[FlyteFile]) -> FlyteFile:
    """One file with all samples, in the order of their chunks."""
    text = b"".join(Path(os.fspath(file)).read_bytes() for file in samples)
    path = cache_dir() / "samples" / f"{digest(text)}.jsonl"
    write_file(path, text, mode=0o600)
    return FlyteFile(str(path))


def check_sampling(
    *,
    n: int,
    chunk_size: int,
    k: list[int],
    max_calls: int | None,
    max_tokens: int | None,
    max_cost_usd: float | None,
) -> Budget:
    """The budget. Raises RequestError, SettingsError for a number that is not possible."""
    if not 1 <= n <= MOST_TRIES or chunk_size < 1:
        raise RequestError(
            f"n={n}, chunk_size={chunk_size}: n is from 1 to {MOST_TRIES}, and a chunk has one problem or more"
        )
    check_k(k)
    return checked(Budget, max_calls=max_calls, max_tokens=max_tokens, max_cost_usd=max_cost_usd)


def check_sampling_launch(  # noqa: PLR0913 - options of `generate_and_evaluate`
    *,
    model: str,
    api_key: str,
    api_base: str,
    model_params: dict | None,
    at_once: int,
    save_to: str,
    min_success_ratio: float,
    n: int,
    **options: Any,
) -> None:
    """Check the options as far as this machine knows them. Raises as `check_together`."""
    numbers = {name: options[name] for name in ("chunk_size", "k", "max_calls", "max_tokens", "max_cost_usd")}
    sampling = Sampling(
        model=model, api_key=api_key, api_base=api_base, model_params=model_params or {}, n=n, at_once=at_once
    )
    check_together(
        [
            lambda: check_sampling(n=n, **numbers),
            lambda: check_model_here(sampling.config.settings),
            lambda: check_ratio(min_success_ratio),
            lambda: check_reaches_beyond_pod(save_to),
        ]
    )


@checked_before_launch(check_sampling_launch)
@launchable
@workflow
@readable_errors
def generate_and_evaluate(  # noqa: PLR0913 - a command line is flat: one option for each argument
    *,
    problems: str,
    model: str,
    n: int = 1,
    k: list[int] = [1],  # noqa: B006 - never changed
    chunk_size: int = 20,
    at_once: int = 8,
    api_key: str = "",
    api_base: str = "",
    model_params: dict | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_cost_usd: float | None = None,
    save_to: str = "",
    shards: int = 0,
    concurrency: int = 0,
    min_success_ratio: float = 1.0,
    packages: list[str] = [],  # noqa: B006 - the same
    sandbox: SandboxKind = "auto",
) -> Evaluated:
    """Ask a model for n samples of each problem, judge them, and score the model.

    Started again after a crash, or with a larger budget, it pays for no sample twice and judges none twice.

    Args:
        problems: humaneval, or a file of problems; on a cluster its address, such as s3://bucket/problems.jsonl
        model: openai/NAME, anthropic/NAME, a bare gpt-* or claude-* name, or replay:FILE for recorded replies
        n: samples of each problem
        k: numbers of samples that pass@k is estimated for, a JSON list such as [1, 10]
        chunk_size: problems that one node asks for
        at_once: calls that one node makes at a time
        api_key: NAME of the environment variable or secret that holds the key, never the key itself
        api_base: address of an OpenAI- or Anthropic-compatible server of your own
        model_params: passed on to the provider's call, such as a temperature
        max_calls: calls that are made at most
        max_tokens: tokens that are paid for at most
        max_cost_usd: what all calls together may cost at most
        save_to: where the folder goes; on a cluster an address such as s3://bucket/evaluation
        shards: how many nodes judge, 0 for as many as the samples ask for
        concurrency: how many of them at a time, 0 for all
        min_success_ratio: share of the judging nodes that must succeed; the samples of the others are not counted
        packages: distributions that the samples may import
        sandbox: auto, bubblewrap, container, or none for code that you trust
    """
    plan = plan_sampling(
        problems=problems,
        model=model,
        n=n,
        chunk_size=chunk_size,
        at_once=at_once,
        api_key=api_key,
        api_base=api_base,
        model_params=model_params,
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost_usd=max_cost_usd,
        k=k,
        save_to=save_to,
        packages=packages,
        sandbox=sandbox,
    )
    sampled = sample_chunks(chunks=plan.chunks, problems=plan.problems, sampling=plan.sampling, budget=plan.budget)
    pass_at_k, folder = evaluate(
        problems=problems,
        samples=join_samples(samples=sampled),
        k=k,
        save_to=save_to,
        shards=shards,
        concurrency=concurrency,
        min_success_ratio=min_success_ratio,
        packages=packages,
        sandbox=sandbox,
    )
    return Evaluated(pass_at_k, folder)


def _remaining(budget: Budget, spent: Spending) -> Budget:
    """The budget minus what was spent. With an unknown price the limit of the cost stays; the account refuses then."""
    used = {"max_calls": spent.calls, "max_tokens": spent.tokens, "max_cost_usd": spent.cost_usd or 0.0}
    limits = budget.model_dump(include=set(used), exclude_none=True)
    return budget.model_copy(update={name: max(0, limit - used[name]) for name, limit in limits.items()})
