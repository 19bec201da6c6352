"""`result.register()` over the wire to a control plane, and back by `find_solutions` and `load_solution`."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import row_count_job as job
from flyte_admin import FlyteAdmin
from flyteidl.admin import launch_plan_pb2
from flytekit import CronSchedule, Email, FixedRate, LaunchPlan, Workflow, task
from flytekit.clients.raw import RawSynchronousFlyteClient
from flytekit.configuration.file import get_config_file
from flytekit.exceptions.user import FlyteEntityAlreadyExistsException
from flytekit.models.core.execution import WorkflowExecutionPhase
from flytekit.remote import FlyteRemote
from google.protobuf import json_format
from model_server import ModelServer

from flyteplugins_codegen import (
    AutoCoderAgent,
    CodeGenEvalResult,
    ImageConfig,
    LaunchPlanSettings,
    RegisteredSolution,
    find_solutions,
    load_solution,
)
from flyteplugins_codegen.errors import InterfaceError, NotSuccessfulError, RemoteError, RequestError
from flyteplugins_codegen.models.data import SampleProfile
from flyteplugins_codegen.solution.registration import register as finding

PROMPT = "Count the rows of a table"
PLANTED = "planted-in-a-row"
NIGHTLY = CronSchedule(schedule="0 2 * * *")
ELSEWHERE = "s3://my-s3-bucket/tables/latest.csv"


@task
def schedule_hourly(result: CodeGenEvalResult) -> RegisteredSolution:
    hourly = LaunchPlanSettings(schedule=FixedRate(duration=timedelta(hours=1)), inputs={"table": ELSEWHERE})
    return result.register(launch_plan=hourly)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> CodeGenEvalResult:
    table = job.write_table(tmp_path_factory.mktemp("samples") / "table.csv", rows=3)
    table.write_text(table.read_text().replace("0,x", f"0,{PLANTED}"))
    with ModelServer({"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}) as server:
        agent = AutoCoderAgent(
            model="openai/any",
            api_base=server.url,
            name="row-counter",
            image_config=ImageConfig(registry="registry.example/team", builder="none"),
            privacy="rows",
        )
        made = agent.generate(PROMPT, samples={"table": table}, outputs=job.OUTPUTS)
    assert made.success, made.error
    assert PLANTED in (made.data_context or "")
    return made


@pytest.fixture
def admin() -> Iterator[FlyteAdmin]:
    with FlyteAdmin() as started:
        yield started


@pytest.fixture
def remote(admin: FlyteAdmin) -> FlyteRemote:
    return admin.remote()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder that flytekit looks for its configuration in; it remembers what it found."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    get_config_file.cache_clear()
    yield tmp_path
    get_config_file.cache_clear()


def template(admin: FlyteAdmin) -> Any:
    (task,) = admin.tasks
    return task.closure.compiled_task.template


def other(result: CodeGenEvalResult) -> CodeGenEvalResult:
    """The same job done by other code."""
    code = result.solution.code.replace("len(lines)", "len(list(lines))")
    solution = result.solution.model_copy(update={"code": code})
    assert result.image is not None
    image = f"{result.image.rpartition(':')[0]}:{'f' * 16}"
    return result.model_copy(update={"solution": solution, "image": image})


def test_a_result_is_registered_as_a_task_that_a_cluster_can_run(
    result: CodeGenEvalResult, admin: FlyteAdmin, remote: FlyteRemote
) -> None:
    registered = result.register(remote)
    fetched = remote.fetch_task(name="row-counter", version=registered.version)
    assert fetched.interface.inputs["table"].type.blob is not None
    assert registered.id == f"flytesnacks:development:row-counter:{registered.version}"
    path = f"/console/projects/flytesnacks/domains/development/task/row-counter/version/{registered.version}"
    assert registered.console_url == f"http://{admin.endpoint}{path}"
    assert result.image in str(template(admin))
    assert admin.tasks[0].short_description == PROMPT


def test_registering_again_changes_nothing_whoever_does_it_and_from_whatever_prompt(
    result: CodeGenEvalResult, admin: FlyteAdmin, remote: FlyteRemote
) -> None:
    first = result.register(remote)
    again = asyncio.run(result.model_copy(update={"prompt": "other words"}).register.aio(remote))
    assert again == first
    assert len(admin.tasks) == 1
    assert again.provenance.prompt == PROMPT


@pytest.mark.parametrize("change", ["code", "environment", "resources"])
def test_what_changes_a_run_makes_another_version(result: CodeGenEvalResult, remote: FlyteRemote, change: str) -> None:
    changed = {
        "code": lambda: other(result),
        "environment": lambda: result.model_copy(
            update={"environment": result.environment.model_copy(update={"digest": "0" * 64})}
        ),
        "resources": lambda: result.model_copy(
            update={"settings": result.settings.model_copy(update={"timeout_s": 7.0})}
        ),
    }[change]()
    assert changed.register(remote).version != result.register(remote).version


def test_a_version_of_ones_own_is_kept_for_the_solution_that_has_it(
    result: CodeGenEvalResult, admin: FlyteAdmin, remote: FlyteRemote
) -> None:
    assert result.register(remote, version="v1") == result.register(remote, version="v1")
    with pytest.raises(RequestError, match="version 'v1' of 'row-counter' is already registered, and is another"):
        other(result).register(remote, version="v1")
    assert len(admin.tasks) == 1


def test_a_version_that_another_solution_takes_in_the_same_moment_is_told(
    result: CodeGenEvalResult, remote: FlyteRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A control plane compares before it writes, and says of what came in between only that it is there."""
    result.register(remote, version="v1")

    def come_too_late(*_: object) -> None:
        raise FlyteEntityAlreadyExistsException("v1 is there")

    monkeypatch.setattr(RawSynchronousFlyteClient, "create_task", come_too_late)
    with pytest.raises(RequestError, match="version 'v1' of 'row-counter' is already registered, and is another"):
        other(result).register(remote, version="v1")
    assert result.register(remote, version="v1").version == "v1"


def test_users_who_register_the_same_solution_at_once_get_the_same_id_and_each_the_launch_plan_of_their_own(
    result: CodeGenEvalResult, admin: FlyteAdmin
) -> None:
    together = Barrier(4)

    def register(minutes: int) -> RegisteredSolution:
        every = FixedRate(duration=timedelta(minutes=minutes))
        settings = LaunchPlanSettings(name="count", schedule=every, inputs={"table": ELSEWHERE})
        own, users_remote = result.model_copy(update={"prompt": f"in {minutes} words"}), admin.remote()
        together.wait()
        return own.register(users_remote, launch_plan=settings)

    with ThreadPoolExecutor(4) as pool:
        registered = list(pool.map(register, (5, 5, 10, 15)))
    assert len({each.id for each in registered}) == len(admin.tasks) == len(admin.workflows) == 1
    assert len({each.provenance.prompt for each in registered}) == 1, "of whoever was first"
    assert len({each.launch_plan for each in registered}) == len(admin.launch_plans) == 3
    active = [plan for plan in admin.launch_plans if plan.closure.state == launch_plan_pb2.ACTIVE]
    assert len(active) == 1


def test_a_registered_solution_is_found_with_its_provenance_and_runs_here_again(
    result: CodeGenEvalResult, remote: FlyteRemote, tmp_path: Path
) -> None:
    result.register(remote)
    newest = other(result).register(remote)
    found = find_solutions(remote)
    assert [solution.version for solution in found] == [newest.version, found[1].version]
    assert (found[1].provenance.prompt, found[1].provenance.model) == (PROMPT, "openai/any")
    assert found[1].provenance.model_calls == 2
    assert found[1].provenance.registered_by
    assert found[1].created_at is not None

    loaded = load_solution(found[1], remote)
    (count,) = loaded.run(table=str(job.write_table(tmp_path / "table.csv", rows=5)))
    assert count == 5
    assert load_solution("row-counter", remote).solution.code == other(result).solution.code
    assert load_solution(f"row-counter@{found[1].version}", remote).bundle() == result.bundle()
    assert loaded.register(remote) == found[1]
    assert find_solutions(remote, limit=1) == found[:1]
    assert find_solutions(remote, name="another") == []
    assert find_solutions(remote, domain="staging") == []


def test_what_is_loaded_runs_isolated_whatever_its_registrant_chose(
    result: CodeGenEvalResult, remote: FlyteRemote
) -> None:
    trusting = result.model_copy(update={"settings": result.settings.model_copy(update={"sandbox": "none"})})
    assert load_solution(trusting.register(remote), remote).settings.sandbox == "auto"


def test_a_source_of_another_version_of_the_package_is_told(
    result: CodeGenEvalResult, remote: FlyteRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = result.register(remote)
    monkeypatch.setattr(CodeGenEvalResult, "model_validate_json", lambda _: int("no result"))
    with pytest.raises(RequestError, match=r"was registered by version .* of this package, which wrote it otherwise"):
        load_solution(registered, remote)


def test_no_row_of_a_sample_and_no_conversation_is_registered(
    result: CodeGenEvalResult, admin: FlyteAdmin, remote: FlyteRemote
) -> None:
    profile = SampleProfile(
        name="table",
        file_name="table.csv",
        format="csv",
        size_bytes=9,
        row_count=3,
        sample_rows=({"a": PLANTED},),
        text_excerpt=PLANTED,
    )
    result.model_copy(update={"profiles": {"table": profile}, "output": PLANTED}).register(remote)
    source = json_format.MessageToDict(template(admin).custom)["flyteplugins_codegen"]["source"]
    assert json.loads(source)["profiles"]["table"]["row_count"] == 3
    assert PLANTED in result.model_dump_json()
    assert PLANTED not in source


def test_a_schedule_is_registered_with_its_notifications_and_put_to_work(
    result: CodeGenEvalResult, admin: FlyteAdmin, remote: FlyteRemote
) -> None:
    settings = LaunchPlanSettings(
        name="nightly-count",
        schedule=NIGHTLY,
        notifications=[Email([WorkflowExecutionPhase.FAILED], ["team@example.org"])],
        inputs={"table": ELSEWHERE},
    )
    registered = result.register(remote, launch_plan=settings)
    assert result.register(remote, launch_plan=settings) == registered
    (plan,) = admin.launch_plans
    assert registered.launch_plan == f"{plan.id.name}@{plan.id.version}"
    assert plan.closure.state == launch_plan_pb2.ACTIVE
    assert plan.spec.entity_metadata.schedule.cron_schedule.schedule == "0 2 * * *"
    assert plan.spec.entity_metadata.notifications[0].email.recipients_email == ["team@example.org"]
    assert plan.spec.default_inputs.parameters["table"].default.scalar.blob.uri == ELSEWHERE
    assert not plan.spec.overwrite_cache
    assert not template(admin).metadata.discoverable
    assert [workflow.id.version for workflow in admin.workflows] == [registered.version]
    execution = remote.execute(remote.fetch_launch_plan(name="nightly-count"), {})
    assert admin.inputs(execution.id.name)["table"].scalar.blob.uri == ELSEWHERE


def test_a_new_version_takes_over_the_schedule_of_the_old_one(
    result: CodeGenEvalResult, admin: FlyteAdmin, remote: FlyteRemote
) -> None:
    hourly = LaunchPlanSettings(schedule=FixedRate(duration=timedelta(hours=1)), inputs={"table": ELSEWHERE})
    result.register(remote, launch_plan=hourly)
    newest = other(result).register(remote, launch_plan=hourly)
    active = [plan for plan in admin.launch_plans if plan.closure.state == launch_plan_pb2.ACTIVE]
    assert [plan.spec.workflow_id.version for plan in active] == [newest.version]
    assert len(admin.launch_plans) == 2


def test_a_launch_plan_of_the_users_own_by_the_same_name_stays(result: CodeGenEvalResult, remote: FlyteRemote) -> None:
    own = Workflow(name="own")
    plan = LaunchPlan.get_or_create(own, name="nightly-count", fixed_inputs={})
    settings = LaunchPlanSettings(name="nightly-count")
    assert result.register(remote, launch_plan=settings).launch_plan is not None
    assert LaunchPlan.CACHE.pop("nightly-count") is plan


def test_a_task_of_the_users_own_registers_with_a_launch_plan(
    result: CodeGenEvalResult, admin: FlyteAdmin, home: Path
) -> None:
    admin.write_config(home)
    generated = schedule_hourly(result=result)
    assert generated.launch_plan is not None
    assert [plan.closure.state for plan in admin.launch_plans] == [launch_plan_pb2.ACTIVE]


def test_in_a_pod_the_place_and_the_person_are_those_of_the_execution(
    result: CodeGenEvalResult, admin: FlyteAdmin, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.write_config(home)
    for part, value in {"PROJECT": "flytesnacks", "DOMAIN": "staging", "ID": "f3"}.items():
        monkeypatch.setenv(f"FLYTE_INTERNAL_EXECUTION_{part}", value)
    registered = result.register()
    assert registered.domain == "staging"
    assert registered.provenance.registered_by == "execution flytesnacks:staging:f3"


def test_all_pages_of_a_list_are_read(
    result: CodeGenEvalResult, remote: FlyteRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "_PAGE_SIZE", 1)
    versions = {result.register(remote).version, other(result).register(remote).version}
    assert {found.version for found in find_solutions(remote)} == versions


def test_a_source_too_large_for_a_template_is_refused(
    result: CodeGenEvalResult, admin: FlyteAdmin, remote: FlyteRemote
) -> None:
    with pytest.raises(RequestError, match="a registered task holds at most 1,048,576"):
        result.model_copy(update={"prompt": "p" * 2**20}).register(remote)
    assert admin.tasks == []


def test_a_file_of_this_machine_is_uploaded_for_a_launch_plan(
    result: CodeGenEvalResult, admin: FlyteAdmin, remote: FlyteRemote, tmp_path: Path
) -> None:
    table = job.write_table(tmp_path / "fixed.csv", rows=2)
    result.register(remote, launch_plan=LaunchPlanSettings(inputs={"table": table}, is_active=False))
    (plan,) = admin.launch_plans
    assert plan.closure.state == launch_plan_pb2.INACTIVE
    uri = plan.spec.default_inputs.parameters["table"].default.scalar.blob.uri
    assert admin.objects[uri] == table.read_bytes()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (LaunchPlanSettings(schedule=NIGHTLY), RequestError, "nobody is there to give input 'table'"),
        (LaunchPlanSettings(inputs={"sales": 1}), InterfaceError, "no input 'sales'; declared: table"),
        (LaunchPlanSettings(inputs={"table": "gone.csv"}), RequestError, "'gone.csv' is no file on this machine"),
        (
            LaunchPlanSettings(
                schedule=CronSchedule(schedule="0 2 * * *", kickoff_time_input_arg="at"), inputs={"table": ELSEWHERE}
            ),
            RequestError,
            "kickoff_time_input_arg='at' needs an input of type datetime",
        ),
    ],
)
def test_a_launch_plan_that_does_not_fit_is_refused_here(
    result: CodeGenEvalResult, remote: FlyteRemote, settings: LaunchPlanSettings, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        result.register(remote, launch_plan=settings)


def test_a_failed_result_is_not_registered(result: CodeGenEvalResult, admin: FlyteAdmin, remote: FlyteRemote) -> None:
    failed = result.model_copy(update={"success": False, "error": "nothing passed"})
    with pytest.raises(NotSuccessfulError, match="nothing passed"):
        failed.register(remote)
    assert admin.calls == []


def test_an_image_without_a_registry_is_told_to_be_out_of_reach(
    result: CodeGenEvalResult, remote: FlyteRemote, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        result.model_copy(update={"image": "row-counter:0123"}).register(remote)
    assert "image row-counter:0123 names no registry" in caplog.text


def test_a_place_that_is_not_there_is_named(result: CodeGenEvalResult, remote: FlyteRemote) -> None:
    with pytest.raises(RemoteError, match=r"project \[nowhere\].*pass project and domain that are there"):
        result.register(remote, project="nowhere")


def test_a_control_plane_out_of_reach_is_named(result: CodeGenEvalResult) -> None:
    with FlyteAdmin() as gone:
        remote = gone.remote()
    with pytest.raises(RemoteError, match=rf"{gone.endpoint} cannot be reached.*check the endpoint"):
        result.register(remote)


def test_whoever_has_no_token_is_told_to_log_in(result: CodeGenEvalResult, home: Path) -> None:
    with FlyteAdmin(token="opens") as locked:
        config = locked.write_config(home)
        assert result.register().name == "row-counter"
        config.write_text(config.read_text().replace("opens", "shuts"))
        get_config_file.cache_clear()
        with pytest.raises(RemoteError, match="does not know you"):
            result.register()


def test_without_any_control_plane_it_is_said_how_to_name_one(result: CodeGenEvalResult, home: Path) -> None:
    with pytest.raises(RemoteError, match="no Flyte control plane is configured: pass remote="):
        result.register()


@pytest.mark.parametrize("text", ["", "row-counter@", "a:b:c", "@v1"])
def test_what_is_no_id_is_told(remote: FlyteRemote, text: str) -> None:
    with pytest.raises(RequestError, match="is no id of a solution"):
        load_solution(text, remote)


def test_a_solution_that_is_not_there_is_told(remote: FlyteRemote) -> None:
    with pytest.raises(RequestError, match="no solution 'gone' is registered in flytesnacks/development"):
        load_solution("gone", remote)
    with pytest.raises(RemoteError, match="has no such thing"):
        load_solution("gone@v1", remote)
