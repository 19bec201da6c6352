"""Flyte's AdminService: what is registered, and executions of it that wait to be told their end."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Mapping
from typing import Any

from flyteidl.admin import (
    common_pb2,
    execution_pb2,
    launch_plan_pb2,
    node_execution_pb2,
    project_pb2,
    task_pb2,
    version_pb2,
    workflow_pb2,
)
from flyteidl.core import compiler_pb2, identifier_pb2
from flyteidl.core import execution_pb2 as core_execution_pb2
from flyteidl.service import admin_pb2_grpc
from google.protobuf import timestamp_pb2

from flyte_admin.identifiers import Places, check_execution_name, check_labels, check_whole_id
from flyte_admin.launch_plan_specs import close_launch_plan, execution_inputs, parameters_of
from flyte_admin.refusals import invalid, missing, not_found
from flyte_admin.registry import Registry, page
from flyte_admin.task_specs import check_task
from flyte_admin.workflow_specs import References, compile_workflow

PRINCIPAL = "tester"


@dataclasses.dataclass(frozen=True)
class State:
    """Everything that the service keeps."""

    places: Places
    limits: Mapping[str, str]
    tasks: Registry = dataclasses.field(default_factory=lambda: Registry("task"))
    workflows: Registry = dataclasses.field(default_factory=lambda: Registry("workflow"))
    launch_plans: Registry = dataclasses.field(default_factory=lambda: Registry("launch plan"))
    executions: Registry = dataclasses.field(default_factory=lambda: Registry("execution"))
    inputs: dict[str, Any] = dataclasses.field(default_factory=dict)
    outputs: dict[str, Any] = dataclasses.field(default_factory=dict)


class AdminService(admin_pb2_grpc.AdminServiceServicer):
    """Registers, finds and starts."""

    def __init__(self, state: State) -> None:
        self.state = state

    # Projects

    def ListProjects(self, request: Any, _: Any) -> Any:
        found, token = page([self._project(name) for name in self.state.places.projects], request)
        return project_pb2.Projects(projects=found, token=token)

    def GetProject(self, request: Any, _: Any) -> Any:
        if request.id not in self.state.places.projects:
            raise not_found(f"Project with identifier id:{request.id}")
        return self._project(request.id)

    def GetDomains(self, request: Any, _: Any) -> Any:
        return project_pb2.GetDomainsResponse(domains=self._project("").domains)

    def GetVersion(self, request: Any, _: Any) -> Any:
        return version_pb2.GetVersionResponse(control_plane_version=version_pb2.Version(Version="1.16.8"))

    def _project(self, name: str) -> Any:
        domains = [project_pb2.Domain(id=domain, name=domain) for domain in self.state.places.domains]
        return project_pb2.Project(id=name, name=name, domains=domains)

    # Tasks

    def CreateTask(self, request: Any, _: Any) -> Any:
        state = self.state
        state.places.check_id(request.id, identifier_pb2.TASK)
        if not request.HasField("spec") or not request.spec.HasField("template"):
            raise missing("spec")
        check_task(request.spec.template, state.limits)
        request.spec.template.id.CopyFrom(request.id)
        state.tasks.add(request.id, request.spec, lambda: _task(request))
        return task_pb2.TaskCreateResponse()

    def GetTask(self, request: Any, _: Any) -> Any:
        check_whole_id(request.id, identifier_pb2.TASK)
        return self.state.tasks.get(request.id)

    def ListTasks(self, request: Any, _: Any) -> Any:
        found, token = self._list(self.state.tasks, request)
        return task_pb2.TaskList(tasks=found, token=token)

    def ListTaskIds(self, request: Any, _: Any) -> Any:
        return self._list_ids(self.state.tasks, request)

    # Workflows

    def CreateWorkflow(self, request: Any, _: Any) -> Any:
        state = self.state
        state.places.check_id(request.id, identifier_pb2.WORKFLOW)
        if not request.HasField("spec") or not request.spec.HasField("template"):
            raise missing("spec")
        request.spec.template.id.CopyFrom(request.id)
        state.workflows.add(request.id, request.spec, lambda: self._workflow(request))
        return workflow_pb2.WorkflowCreateResponse()

    def _workflow(self, request: Any) -> Any:
        references = References(self._task_template, self.state.launch_plans.get)
        return workflow_pb2.Workflow(
            id=request.id,
            closure=workflow_pb2.WorkflowClosure(
                compiled_workflow=compile_workflow(request.spec, references), created_at=_now()
            ),
            short_description=request.spec.description.short_description,
        )

    def _task_template(self, identifier: Any) -> Any:
        return self.state.tasks.get(identifier).closure.compiled_task.template

    def GetWorkflow(self, request: Any, _: Any) -> Any:
        check_whole_id(request.id, identifier_pb2.WORKFLOW)
        return self.state.workflows.get(request.id)

    def ListWorkflows(self, request: Any, _: Any) -> Any:
        found, token = self._list(self.state.workflows, request)
        return workflow_pb2.WorkflowList(workflows=found, token=token)

    def ListWorkflowIds(self, request: Any, _: Any) -> Any:
        return self._list_ids(self.state.workflows, request)

    # Launch plans

    def CreateLaunchPlan(self, request: Any, _: Any) -> Any:
        state = self.state
        state.places.check_id(request.id, identifier_pb2.LAUNCH_PLAN)
        if not request.HasField("spec"):
            raise missing("spec")
        workflow = state.workflows.get(request.spec.workflow_id)
        closure = close_launch_plan(request.spec, workflow.closure.compiled_workflow.primary.template.interface)
        closure.created_at.CopyFrom(_now())
        plan = launch_plan_pb2.LaunchPlan(id=request.id, spec=request.spec, closure=closure)
        state.launch_plans.add(request.id, request.spec, lambda: plan)
        return launch_plan_pb2.LaunchPlanCreateResponse()

    def GetLaunchPlan(self, request: Any, _: Any) -> Any:
        check_whole_id(request.id, identifier_pb2.LAUNCH_PLAN)
        return self.state.launch_plans.get(request.id)

    def ListLaunchPlans(self, request: Any, _: Any) -> Any:
        found, token = self._list(self.state.launch_plans, request)
        return launch_plan_pb2.LaunchPlanList(launch_plans=found, token=token)

    def ListLaunchPlanIds(self, request: Any, _: Any) -> Any:
        return self._list_ids(self.state.launch_plans, request)

    def UpdateLaunchPlan(self, request: Any, _: Any) -> Any:
        """At most one version of a plan is active: making one so ends the activity of the others."""
        plan = self.state.launch_plans.get(request.id)
        if request.state == launch_plan_pb2.ACTIVE:
            for other in self._active(request.id):
                other.closure.state = launch_plan_pb2.INACTIVE
        plan.closure.state = request.state
        plan.closure.updated_at.CopyFrom(_now())
        return launch_plan_pb2.LaunchPlanUpdateResponse()

    def GetActiveLaunchPlan(self, request: Any, _: Any) -> Any:
        active = self._active(request.id)
        if not active:
            raise not_found(f"active launch plan with identifier {request.id.name}")
        return active[0]

    def ListActiveLaunchPlans(self, request: Any, _: Any) -> Any:
        plans = [plan for plan in self.state.launch_plans if plan.closure.state == launch_plan_pb2.ACTIVE]
        found, token = page(plans, request)
        return launch_plan_pb2.LaunchPlanList(launch_plans=found, token=token)

    def _active(self, named: Any) -> list[Any]:
        wanted = (named.project, named.domain, named.name)
        plans = [plan for plan in self.state.launch_plans if plan.closure.state == launch_plan_pb2.ACTIVE]
        return [plan for plan in plans if (plan.id.project, plan.id.domain, plan.id.name) == wanted]

    # Executions

    def CreateExecution(self, request: Any, _: Any) -> Any:
        state = self.state
        check_execution_name(request.name)
        state.places.check(request.project, request.domain)
        if not request.HasField("spec"):
            raise missing("spec")
        check_labels(request.spec.labels)
        fixed, expected = self._startable(request.spec.launch_plan)
        inputs = execution_inputs(request.inputs.literals, fixed, expected)
        name = request.name or f"a{uuid.uuid4().hex[:19]}"
        identifier = identifier_pb2.WorkflowExecutionIdentifier(
            project=request.project, domain=request.domain, name=name
        )
        state.executions.add(identifier, request, lambda: _execution(identifier, request.spec))
        state.inputs[name] = inputs
        return execution_pb2.ExecutionCreateResponse(id=identifier)

    def _startable(self, identifier: Any) -> tuple[Any, Any]:
        """Fixed inputs and expected ones of what an execution may be of."""
        if identifier.resource_type == identifier_pb2.LAUNCH_PLAN:
            plan = self.state.launch_plans.get(identifier)
            return plan.spec.fixed_inputs.literals, plan.closure.expected_inputs.parameters
        if identifier.resource_type == identifier_pb2.TASK:
            return {}, parameters_of(self._task_template(identifier).interface.inputs.variables)
        raise invalid(
            f"Invalid reference entity resource type [{identifier.resource_type}], only launch plans and tasks"
        )

    def GetExecution(self, request: Any, _: Any) -> Any:
        return self.state.executions.get(request.id)

    def ListExecutions(self, request: Any, _: Any) -> Any:
        found, token = self._list(self.state.executions, request)
        return execution_pb2.ExecutionList(executions=found, token=token)

    def GetExecutionData(self, request: Any, _: Any) -> Any:
        self.state.executions.get(request.id)
        name = request.id.name
        return execution_pb2.WorkflowExecutionGetDataResponse(
            full_inputs=self.state.inputs[name], full_outputs=self.state.outputs.get(name)
        )

    def TerminateExecution(self, request: Any, _: Any) -> Any:
        execution = self.state.executions.get(request.id)
        execution.closure.phase = core_execution_pb2.WorkflowExecution.ABORTED
        execution.closure.abort_metadata.cause = request.cause
        return execution_pb2.ExecutionTerminateResponse()

    def ListNodeExecutions(self, request: Any, _: Any) -> Any:
        return node_execution_pb2.NodeExecutionList()

    # Lists

    def _list(self, registry: Registry, request: Any) -> tuple[list[Any], str]:
        for part in ("project", "domain"):
            if not getattr(request.id, part):
                raise missing(part)
        return registry.find(request)

    def _list_ids(self, registry: Registry, request: Any) -> Any:
        for part in ("project", "domain"):
            if not getattr(request, part):
                raise missing(part)
        wanted = (request.project, request.domain)
        names = {entity.id.name: entity.id for entity in registry if (entity.id.project, entity.id.domain) == wanted}
        found, token = page([_named(identifier) for identifier in names.values()], request)
        return common_pb2.NamedEntityIdentifierList(entities=found, token=token)


def _named(identifier: Any) -> Any:
    return common_pb2.NamedEntityIdentifier(project=identifier.project, domain=identifier.domain, name=identifier.name)


def _task(request: Any) -> Any:
    compiled = compiler_pb2.CompiledTask(template=request.spec.template)
    return task_pb2.Task(
        id=request.id,
        closure=task_pb2.TaskClosure(compiled_task=compiled, created_at=_now()),
        short_description=request.spec.description.short_description,
    )


def _execution(identifier: Any, spec: Any) -> Any:
    spec.metadata.principal = PRINCIPAL
    closure = execution_pb2.ExecutionClosure(
        phase=core_execution_pb2.WorkflowExecution.RUNNING, started_at=_now(), created_at=_now(), updated_at=_now()
    )
    if spec.launch_plan.resource_type == identifier_pb2.LAUNCH_PLAN:
        closure.workflow_id.CopyFrom(spec.launch_plan)
        closure.workflow_id.resource_type = identifier_pb2.WORKFLOW
    return execution_pb2.Execution(id=identifier, spec=spec, closure=closure)


def _now() -> Any:
    now = timestamp_pb2.Timestamp()
    now.GetCurrentTime()
    return now
