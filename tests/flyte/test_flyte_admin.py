"""The tests' own control plane refuses what a real one refuses: what registers here would register there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from flyte_admin import FlyteAdmin
from flyteidl.admin import execution_pb2, launch_plan_pb2, schedule_pb2, task_pb2, workflow_pb2
from flyteidl.core import identifier_pb2, literals_pb2, tasks_pb2, types_pb2
from flyteidl.service import admin_pb2_grpc, dataproxy_pb2, dataproxy_pb2_grpc
from flytekit import ContainerTask, LaunchPlan, Workflow, kwtypes
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.core.options import Options
from flytekit.tools.translator import get_serializable
from google.protobuf import struct_pb2

INVALID = grpc.StatusCode.INVALID_ARGUMENT
Change = Callable[[Any], object]


def settings() -> SerializationSettings:
    image = Image(name="default", fqn="registry.example/team/solution", tag="1")
    return SerializationSettings(
        ImageConfig(default_image=image), project="flytesnacks", domain="development", version="v1"
    )


def requests() -> dict[str, Any]:
    """Valid requests for a task, a workflow of it and a launch plan, as flytekit writes them."""
    count = ContainerTask(
        name="count",
        image="registry.example/team/count:1",
        command=["count"],
        inputs=kwtypes(days=int),
        outputs=kwtypes(rainy=int),
        input_data_dir="/var/inputs",
        output_data_dir="/var/outputs",
    )
    weather = Workflow(name="weather")
    node = weather.add_entity(count, days=weather.add_workflow_input("days", int))
    weather.add_workflow_output("rainy", node.outputs["rainy"])
    plan = LaunchPlan.get_default_launch_plan(None, weather)
    LaunchPlan.CACHE.clear()
    entities: OrderedDict[Any, Any] = OrderedDict()
    get_serializable(entities, settings(), plan, Options())
    return {
        "task": task_pb2.TaskCreateRequest(
            id=entities[count].template.id.to_flyte_idl(), spec=entities[count].to_flyte_idl()
        ),
        "workflow": workflow_pb2.WorkflowCreateRequest(
            id=entities[weather].template.id.to_flyte_idl(), spec=entities[weather].to_flyte_idl()
        ),
        "plan": launch_plan_pb2.LaunchPlanCreateRequest(
            id=entities[plan].id.to_flyte_idl(), spec=entities[plan].spec.to_flyte_idl()
        ),
        "execution": execution_pb2.ExecutionCreateRequest(
            project="flytesnacks",
            domain="development",
            name="first",
            spec=execution_pb2.ExecutionSpec(launch_plan=entities[plan].id.to_flyte_idl()),
            inputs=literals_pb2.LiteralMap(literals={"days": _integer(3)}),
        ),
    }


def _integer(number: int) -> Any:
    return literals_pb2.Literal(scalar=literals_pb2.Scalar(primitive=literals_pb2.Primitive(integer=number)))


@pytest.fixture
def admin() -> Iterator[FlyteAdmin]:
    with FlyteAdmin() as started:
        yield started


@pytest.fixture
def stub(admin: FlyteAdmin) -> Iterator[Any]:
    with grpc.insecure_channel(admin.endpoint) as channel:
        yield admin_pb2_grpc.AdminServiceStub(channel)


def create(stub: Any, kind: str, request: Any) -> None:
    methods = {
        "task": stub.CreateTask,
        "workflow": stub.CreateWorkflow,
        "plan": stub.CreateLaunchPlan,
        "execution": stub.CreateExecution,
    }
    methods[kind](request)


def refusal(stub: Any, kind: str, request: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as refused:
        create(stub, kind, request)
    return refused.value.code(), refused.value.details()


def _first_node(request: Any) -> Any:
    return request.spec.template.nodes[0]


def _limit(request: Any, name: int, value: str, side: str = "limits") -> None:
    entry = tasks_pb2.Resources.ResourceEntry(name=name, value=value)
    getattr(request.spec.template.container.resources, side).append(entry)


def _as_pod(request: Any, primary: str, **container: Any) -> None:
    spec = struct_pb2.Struct()
    spec.update({"containers": [{"name": "main", "image": "registry.example/count:1", **container}]})
    request.spec.template.k8s_pod.pod_spec.CopyFrom(spec)
    request.spec.template.config["primary_container_name"] = primary


def _started(request: Any, *words: str) -> None:
    request.spec.template.container.image = "registry.example/team/codegen-runner:1"
    request.spec.template.container.args[:] = ["pyflyte-execute", *words]


def _scheduled(request: Any, kickoff: str = "") -> None:
    schedule = schedule_pb2.Schedule(
        cron_schedule=schedule_pb2.CronSchedule(schedule="0 2 * * *"), kickoff_time_input_arg=kickoff
    )
    request.spec.entity_metadata.schedule.CopyFrom(schedule)


def _bad_default(request: Any) -> None:
    parameter = request.spec.default_inputs.parameters["days"]
    parameter.default.scalar.primitive.string_value = "three"


def _notified(request: Any) -> None:
    notification = request.spec.entity_metadata.notifications.add()
    notification.phases.append(1)
    notification.email.recipients_email.append("team@example.org")


def _cycle(request: Any) -> None:
    second = request.spec.template.nodes.add()
    second.CopyFrom(_first_node(request))
    second.id = "n1"
    second.upstream_node_ids.append("n0")
    _first_node(request).upstream_node_ids.append("n1")


REFUSED: list[tuple[str, str, Change, str]] = [
    ("task", "version", lambda r: setattr(r.id, "version", ""), "missing version"),
    ("task", "unsafe version", lambda r: setattr(r.id, "version", "a/b"), "must be url safe"),
    ("task", "project", lambda r: setattr(r.id, "project", "nowhere"), "failed to validate that project [nowhere]"),
    ("task", "domain", lambda r: setattr(r.id, "domain", "nowhere"), "domain [nowhere] is unrecognized"),
    ("task", "kind of id", lambda r: setattr(r.id, "resource_type", identifier_pb2.WORKFLOW), "unexpected resource"),
    ("task", "type", lambda r: setattr(r.spec.template, "type", ""), "missing type"),
    ("task", "metadata", lambda r: r.spec.template.ClearField("metadata"), "missing metadata"),
    ("task", "interface", lambda r: r.spec.template.ClearField("interface"), "missing typed interface"),
    ("task", "image", lambda r: setattr(r.spec.template.container, "image", ""), "missing image"),
    ("task", "quantity", lambda r: _limit(r, tasks_pb2.Resources.MEMORY, "much"), "Parsing of memory request"),
    ("task", "platform", lambda r: _limit(r, tasks_pb2.Resources.CPU, "9"), "platform configuration [8]"),
    (
        "task",
        "limit",
        lambda r: (_limit(r, tasks_pb2.Resources.CPU, "1"), _limit(r, tasks_pb2.Resources.CPU, "2", "requests")),
        "greater than the limit [1]",
    ),
    ("task", "primary", lambda r: _as_pod(r, "other"), "primary container [other]"),
    ("task", "pod field", lambda r: _as_pod(r, "main", securityContex={}), "unknown field [securityContex]"),
    ("task", "destination", lambda r: _started(r, "--dest-dir", "/opt/code"), "Forbidden for the image's user"),
    ("task", "module", lambda r: _started(r, "task-module", "weekly"), "No module named 'weekly'"),
    ("task", "mount", lambda r: _as_pod(r, "main", volumeMounts=[{"name": "data"}]), "mounts volume [data]"),
    ("workflow", "task", lambda r: setattr(_first_node(r).task_node.reference_id, "version", "v2"), "missing entity"),
    ("workflow", "input", lambda r: _first_node(r).ClearField("inputs"), "input [days] is not bound"),
    ("workflow", "promise", lambda r: setattr(_first_node(r).inputs[0].binding.promise, "var", "x"), "no output [x]"),
    (
        "workflow",
        "type",
        lambda r: setattr(r.spec.template.interface.inputs.variables["days"].type, "simple", types_pb2.FLOAT),
        "mismatching types",
    ),
    ("workflow", "output", lambda r: r.spec.template.ClearField("outputs"), "are not those bound"),
    ("workflow", "cycle", _cycle, "has a cycle"),
    ("plan", "workflow", lambda r: setattr(r.spec.workflow_id, "version", "v2"), "missing entity of type workflow"),
    ("plan", "unbound", _scheduled, "unbound required input. [days]"),
    ("plan", "kickoff", lambda r: _scheduled(r, "days"), "must reference a datetime input"),
    ("plan", "default", _bad_default, "Type mismatch for Parameter days"),
    ("plan", "phase", _notified, "terminal phases only"),
    ("plan", "label", lambda r: r.spec.labels.values.update({"a b": "c"}), "invalid label key"),
    ("execution", "name", lambda r: setattr(r, "name", "First!"), "invalid name format"),
    ("execution", "input", lambda r: r.inputs.literals.pop("days"), "expected_inputs days missing"),
    ("execution", "type", lambda r: r.inputs.literals["days"].scalar.ClearField("value"), "wrong type"),
]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [pytest.param(kind, change, message, id=f"{kind} {name}") for kind, name, change, message in REFUSED],
)
def test_a_request_with_one_fault_is_refused_and_without_it_granted(
    stub: Any, kind: str, change: Change, message: str
) -> None:
    valid = requests()
    for before in valid:
        if before == kind:
            break
        create(stub, before, valid[before])
    broken = type(valid[kind])()
    broken.CopyFrom(valid[kind])
    change(broken)
    status, details = refusal(stub, kind, broken)
    assert message in details
    assert status == (grpc.StatusCode.NOT_FOUND if "missing entity" in message else INVALID)
    create(stub, kind, valid[kind])


def test_code_is_unpacked_where_flytekit_has_it_by_default_and_below_the_home_of_the_images_user(stub: Any) -> None:
    valid = requests()["task"]
    for version, folder in enumerate(("/root", ".", "code", "/srv/flyte", "/tmp/code")):
        valid.id.version = f"v{version}"
        _started(valid, "--dest-dir", folder, "--", "task-module", "weekly")
        create(stub, "task", valid)


def test_a_task_is_started_with_all_of_its_inputs(stub: Any) -> None:
    """Only launch plans have defaults: of a task, a control plane wants every input."""
    valid = requests()
    create(stub, "task", valid["task"])
    valid["execution"].spec.launch_plan.CopyFrom(valid["task"].id)
    valid["execution"].inputs.ClearField("literals")
    assert refusal(stub, "execution", valid["execution"]) == (INVALID, "expected_inputs days missing")


def test_what_is_registered_stays_as_it_is(stub: Any, admin: FlyteAdmin) -> None:
    valid = requests()
    changes: dict[str, Change] = {
        "task": lambda r: r.spec.template.container.args.append("--fast"),
        "workflow": lambda r: setattr(r.spec.template.nodes[0].metadata, "name", "other"),
        "plan": lambda r: r.spec.labels.values.update(team="rain"),
    }
    for kind, change in changes.items():
        create(stub, kind, valid[kind])
        assert refusal(stub, kind, valid[kind])[0] == grpc.StatusCode.ALREADY_EXISTS
        change(valid[kind])
        status, message = refusal(stub, kind, valid[kind])
        assert status == INVALID
        assert "different structure already exists" in message
    assert [len(found) for found in (admin.tasks, admin.workflows, admin.launch_plans)] == [1, 1, 1]


def test_one_version_of_a_launch_plan_is_active_at_a_time(stub: Any, admin: FlyteAdmin) -> None:
    valid = requests()
    for kind in ("task", "workflow", "plan"):
        create(stub, kind, valid[kind])
    second = launch_plan_pb2.LaunchPlanCreateRequest()
    second.CopyFrom(valid["plan"])
    second.id.version = "v2"
    create(stub, "plan", second)
    for request in (valid["plan"], second):
        stub.UpdateLaunchPlan(launch_plan_pb2.LaunchPlanUpdateRequest(id=request.id, state=launch_plan_pb2.ACTIVE))
    states = {plan.id.version: plan.closure.state for plan in admin.launch_plans}
    assert states == {"v1": launch_plan_pb2.INACTIVE, "v2": launch_plan_pb2.ACTIVE}


def test_an_execution_runs_until_it_is_told_how_it_ends(stub: Any, admin: FlyteAdmin) -> None:
    valid = requests()
    for kind, request in valid.items():
        create(stub, kind, request)
    remote = admin.remote()
    assert not remote.fetch_execution(name="first").is_done
    assert admin.inputs("first")["days"] == _integer(3)
    admin.finish("first", {"rainy": _integer(2)})
    assert remote.fetch_execution(name="first").outputs.get("rainy", as_type=int) == 2


def test_an_upload_must_have_the_content_that_it_was_announced_with(admin: FlyteAdmin) -> None:
    import requests as http

    with grpc.insecure_channel(admin.endpoint) as channel:
        proxy = dataproxy_pb2_grpc.DataProxyServiceStub(channel)
        place = {"project": "flytesnacks", "domain": "development"}
        with pytest.raises(grpc.RpcError, match="content_md5 or filename_root"):
            proxy.CreateUploadLocation(dataproxy_pb2.CreateUploadLocationRequest(**place))
        location = proxy.CreateUploadLocation(
            dataproxy_pb2.CreateUploadLocationRequest(**place, filename="a", content_md5=b"0" * 16)
        )
    assert http.put(location.signed_url, data=b"other", timeout=5).status_code == 400
    assert admin.objects == {}


def test_a_locked_server_knows_only_its_token() -> None:
    request = task_pb2.TaskCreateRequest()
    with FlyteAdmin(token="opens") as locked, grpc.insecure_channel(locked.endpoint) as channel:
        stub = admin_pb2_grpc.AdminServiceStub(channel)
        with pytest.raises(grpc.RpcError) as refused:
            stub.CreateTask(request)
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
        with pytest.raises(grpc.RpcError) as known:
            stub.CreateTask(request, metadata=[("flyte-authorization", "Bearer opens")])
        assert known.value.code() == INVALID
