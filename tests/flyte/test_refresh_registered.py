"""A registered solution refreshed, and the schedules of refreshing, against a control plane on loopback."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
from flyte_admin import FlyteAdmin
from flyteidl.admin import launch_plan_pb2
from flytekit import CronSchedule, Email
from flytekit.configuration.file import get_config_file
from flytekit.models.core.execution import WorkflowExecutionPhase
from flytekit.types.file import FlyteFile
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent, LaunchPlanSettings, RegisteredSolution, find_solutions, load_solution
from flyteplugins_codegen.errors import RequestError, SettingsError
from flyteplugins_codegen.flyte.refresh import refresh
from flyteplugins_codegen.flyte.refresh_state import NOW, at_time, load_result, order_of, time_of

ROOT = Path(__file__).parents[2]
ELSEWHERE = "s3://my-s3-bucket/tables/latest.csv"
NIGHTLY = LaunchPlanSettings(
    name="rows-nightly",
    schedule=CronSchedule(schedule="0 2 * * *"),
    inputs={"table": ELSEWHERE},
    notifications=[Email(phases=[WorkflowExecutionPhase.FAILED], recipients_email=["data@team.example"])],
)


@pytest.fixture
def admin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlyteAdmin]:
    """A control plane that flytekit's configuration names; flytekit remembers what it found."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    with FlyteAdmin() as started:
        started.write_config(tmp_path)
        get_config_file.cache_clear()
        yield started
    get_config_file.cache_clear()


@pytest.fixture
def registered(admin: FlyteAdmin, tmp_path: Path) -> RegisteredSolution:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    with ModelServer({"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}) as server:
        agent = AutoCoderAgent(model="openai/any", api_base=server.url, name="row-counter", min_test_strength=0)
        result = agent.generate("count to refresh", samples={"table": table}, outputs=job.OUTPUTS)
    assert result.success, result.error
    return result.register(launch_plan=NIGHTLY)


def other_table(path: Path) -> Path:
    """Half as many columns, and texts for numbers."""
    path.write_text("a,c\n" + "".join(f"n{number},x\n" for number in range(30)))
    return path


def active(admin: FlyteAdmin) -> list[Any]:
    return [plan for plan in admin.launch_plans if plan.closure.state == launch_plan_pb2.ACTIVE]


def test_a_new_version_is_registered_and_the_launch_plan_moves_with_all_that_it_says(
    registered: RegisteredSolution, admin: FlyteAdmin, tmp_path: Path
) -> None:
    (before,) = active(admin)
    data = {"table": FlyteFile(str(other_table(tmp_path / "fresh.csv")))}
    rewritten = job.code().replace("len(lines)", "len(list(lines))")
    script = {"SolutionReply": [{**job.solution(), "code": rewritten}], "TestsReply": [job.TESTS]}
    with ModelServer(script) as server:
        options = {"data": data, "api_base": server.url, "approval": "never", "launch_plan": "rows-nightly"}
        outcome = refresh(solution="row-counter", **options)
        assert len(server.calls) == 2
        again = refresh(solution="row-counter", **options)
        assert (again.decision, again.reason, len(server.calls)) == ("kept", "nothing changed", 2)
    assert outcome.decision == "replaced"
    assert outcome.solution != registered.id
    assert {each.id for each in find_solutions()} == {registered.id, outcome.solution}
    assert load_solution(outcome.solution).solution.code == rewritten
    (plan,) = active(admin)
    version = outcome.solution.rpartition(":")[2]
    assert f"{plan.id.name}@{plan.id.version}" == outcome.launch_plan == f"rows-nightly@{version}"
    assert plan.spec.workflow_id.version == version
    before.spec.workflow_id.version = version
    assert plan.spec == before.spec


def test_a_launch_plan_that_is_not_there_is_reported_before_anything_is_registered(
    registered: RegisteredSolution, admin: FlyteAdmin, tmp_path: Path
) -> None:
    data = {"table": FlyteFile(str(other_table(tmp_path / "fresh.csv")))}
    script = {"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}
    with ModelServer(script) as server, pytest.raises(RequestError, match="launch plan 'weekly' is not active"):
        refresh(solution=registered.id, data=data, api_base=server.url, approval="never", launch_plan="weekly")
    assert len(admin.tasks) == 1


def test_whoever_registered_a_solution_has_no_say_in_where_a_key_goes(registered: RegisteredSolution) -> None:
    """The address that it was made at is named, not followed, and no other is asked in its place."""
    made_at = load_solution(registered).settings.api_base
    assert made_at is not None
    with pytest.raises(SettingsError, match=rf"made with the model at {made_at}.*Nothing was sent.*--api_base public"):
        load_result(order_of(registered.id, "", ""))
    settings = load_result(order_of(registered.id, "", "", changes={"api_base": "http://mine"})).settings
    assert (settings.api_base, settings.api_key, settings.record) == ("http://mine", None, None)


def test_a_refresh_without_an_address_fails_before_its_data_are_read(
    registered: RegisteredSolution, tmp_path: Path
) -> None:
    data = tmp_path / "fresh.csv"
    data.write_bytes(b"\0 no table")
    with pytest.raises(SettingsError, match="--api_base"):
        refresh(solution=registered.id, data={"table": FlyteFile(str(data))})


@pytest.mark.parametrize(
    ("model", "address"),
    [
        ("", "https://api.openai.com/v1"),
        ("anthropic/claude-x", "https://api.anthropic.com"),
        ("replay:some.jsonl", None),
    ],
)
def test_the_providers_own_address_is_asked_when_that_is_said(
    registered: RegisteredSolution, monkeypatch: pytest.MonkeyPatch, model: str, address: str | None
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere")
    changes = {"api_base": "public", **({"model": model} if model else {})}
    assert load_result(order_of(registered.id, "", "", changes=changes)).settings.api_base == address


def test_a_solution_that_was_made_at_the_providers_address_needs_no_flag(
    registered: RegisteredSolution, admin: FlyteAdmin
) -> None:
    loaded = load_solution(registered)
    settings = loaded.settings.model_copy(update={"api_base": "https://api.openai.com/v1/"})
    again = loaded.model_copy(update={"settings": settings}).register(version="public")
    assert load_result(order_of(again.id, "", "")).settings.api_base is None


def test_the_record_holds_the_address_whatever_named_it_and_no_credentials(
    registered: RegisteredSolution, admin: FlyteAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://user:hush1@models.example/v1?key=hush2")
    loaded = load_solution(registered)
    plain = loaded.model_copy(update={"settings": loaded.settings.model_copy(update={"api_base": None})})
    again = plain.register(version="by-a-variable")
    assert load_solution(again).settings.api_base == "https://models.example/v1"
    assert all(b"hush" not in registered.SerializeToString() for registered in admin.tasks)


@pytest.mark.parametrize("name", ["row-counter", "row-counter@{version}", "{id}"])
def test_a_name_means_the_version_that_is_there_now(registered: RegisteredSolution, name: str) -> None:
    wanted = name.format(version=registered.version, id=registered.id)
    assert order_of(wanted, "", "").solution == registered.id


@pytest.mark.parametrize("name", ["nobody", "row-counter@other"])
def test_a_solution_that_nobody_registered_is_reported(registered: RegisteredSolution, name: str) -> None:
    with pytest.raises(RequestError, match="find_solutions"):
        order_of(name, "", "")


def test_addresses_take_the_time_of_the_schedule() -> None:
    kickoff = dt.datetime(2026, 3, 4, 5, 6, tzinfo=dt.timezone.utc)
    files = {
        "sales": FlyteFile("s3://bucket/day={kickoff:%Y-%m-%d}/{kickoff:%H}/sales.csv"),
        "rates": FlyteFile("s3://bucket/rates.csv"),
    }
    addressed = {name: str(file.remote_source or file.path) for name, file in at_time(files, time_of(kickoff)).items()}
    assert addressed == {"sales": "s3://bucket/day=2026-03-04/05/sales.csv", "rates": "s3://bucket/rates.csv"}
    now = at_time({"sales": FlyteFile("s3://bucket/{kickoff:%Y}")}, time_of(NOW))["sales"]
    assert str(now.path) == f"s3://bucket/{dt.datetime.now(dt.timezone.utc):%Y}"


def test_the_schedules_are_registered_with_the_time_as_an_input(pyflyte: Any) -> None:
    with FlyteAdmin() as admin:
        admin.write_config(Path(pyflyte.environment["HOME"]))
        files = ("workflows/refresh.py", "workflows/schedules.py")
        options = ("--image", "registry.example/team/runner:1", "--copy", "none", "--version", "v1")
        done = pyflyte.run("register", *options, "--activate-launchplans", *files, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
        plans = {plan.id.name: plan.spec for plan in admin.launch_plans}
    hourly, nightly = plans["refresh-rainy-days-hourly"], plans["refresh-rainy-days-nightly"]
    assert (hourly.entity_metadata.schedule.rate.value, nightly.entity_metadata.schedule.cron_schedule.schedule) == (
        1,
        "0 2 * * *",
    )
    assert hourly.entity_metadata.schedule.kickoff_time_input_arg == "kickoff"
    assert nightly.entity_metadata.schedule.kickoff_time_input_arg == "kickoff"
    assert "{kickoff:%Y-%m-%d}" in str(nightly.default_inputs)
    assert [str(each).split()[0] for each in nightly.entity_metadata.notifications] == ["phases:", "phases:"]
    assert not plans["refresh-rainy-days"].entity_metadata.HasField("schedule")


def test_help_reads_like_documentation(pyflyte: Any) -> None:
    done = pyflyte.run("run", str(ROOT / "workflows" / "refresh.py"), "refresh", "--help")
    assert done.returncode == 0
    assert "Hold a solution against fresh data, and renew it only where it must be." in done.stdout
    assert "drifts that never matter" in done.stdout
    assert "Args:" not in done.stdout
