"""What a launch plan and an execution must be: their inputs against an interface, schedules, notifications."""

from __future__ import annotations

from typing import Any

from croniter import croniter
from flyteidl.admin import launch_plan_pb2
from flyteidl.core import execution_pb2, identifier_pb2, interface_pb2, literals_pb2, types_pb2

from flyte_admin.identifiers import check_labels, check_whole_id
from flyte_admin.literal_types import is_castable, type_of
from flyte_admin.refusals import invalid, missing

_TERMINAL = {
    execution_pb2.WorkflowExecution.SUCCEEDED,
    execution_pb2.WorkflowExecution.FAILED,
    execution_pb2.WorkflowExecution.ABORTED,
    execution_pb2.WorkflowExecution.TIMED_OUT,
}
_ALIASES = {"@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually"}
_ALIASES |= {alias[1:] for alias in _ALIASES} | {"hours", "days", "weeks", "months", "years"}


def close_launch_plan(spec: Any, interface: Any) -> Any:
    """The closure of a plan that fits the interface of its workflow; refuses one that does not."""
    check_whole_id(spec.workflow_id, identifier_pb2.WORKFLOW)
    check_labels(spec.labels)
    check_literals(spec.fixed_inputs.literals)
    _check_parameters(spec.default_inputs.parameters)
    expected = _expected_inputs(spec, interface.inputs.variables)
    _check_schedule(spec.entity_metadata.schedule, expected)
    for notification in spec.entity_metadata.notifications:
        _check_notification(notification)
    return launch_plan_pb2.LaunchPlanClosure(
        state=launch_plan_pb2.INACTIVE,
        expected_inputs=interface_pb2.ParameterMap(parameters=expected),
        expected_outputs=interface.outputs,
    )


def execution_inputs(given: Any, fixed: Any, expected: Any) -> Any:
    """All inputs of an execution: those given, the defaults, the fixed ones."""
    check_literals(given)
    inputs = dict(given)
    for name in inputs:
        if name in fixed:
            raise invalid(f"fixed_inputs {name} cannot be overridden")
        if name not in expected:
            raise invalid(f"invalid input {name}")
    for name, parameter in expected.items():
        if name in inputs:
            if not is_castable(type_of(inputs[name]), parameter.var.type):
                raise invalid(f"invalid {name} input wrong type. Expected {parameter.var.type}")
        elif parameter.WhichOneof("behavior") == "default":
            inputs[name] = parameter.default
        else:
            raise invalid(f"expected_inputs {name} missing")
    return literals_pb2.LiteralMap(literals={**inputs, **fixed})


def parameters_of(variables: Any) -> dict[str, Any]:
    """The inputs of an interface, all of them required."""
    return {name: interface_pb2.Parameter(var=variable, required=True) for name, variable in variables.items()}


def check_literals(literals: Any) -> None:
    """Refuse a literal without a value."""
    for name, literal in literals.items():
        if not name or literal.WhichOneof("value") is None:
            raise invalid(f"missing valid literal in inputs {name}")


def _check_parameters(parameters: Any) -> None:
    for name, parameter in parameters.items():
        if not name or parameter.var.type.WhichOneof("type") is None:
            raise invalid(f"The Variable component of the Parameter {name} in default_inputs is missing")
        behavior = parameter.WhichOneof("behavior")
        if behavior is None or (behavior == "required" and not parameter.required):
            raise invalid(f"Invalid variable {name} in default_inputs - variable has neither default, nor is required.")
        if behavior == "default" and not is_castable(type_of(parameter.default), parameter.var.type):
            raise invalid(f"Type mismatch for Parameter {name} in default_inputs")


def _expected_inputs(spec: Any, variables: Any) -> dict[str, Any]:
    defaults, fixed = spec.default_inputs.parameters, spec.fixed_inputs.literals
    for name, parameter in defaults.items():
        if name not in variables:
            raise invalid(f"unexpected default_input {name}")
        if not is_castable(parameter.var.type, variables[name].type):
            raise invalid(f"invalid default_input wrong type {name}")
    for name, literal in fixed.items():
        if name not in variables:
            raise invalid(f"unexpected fixed_input {name}")
        if not is_castable(type_of(literal), variables[name].type):
            raise invalid(f"invalid fixed_input wrong type {name}")
    free = {name: variable for name, variable in variables.items() if name not in fixed}
    return {**parameters_of(free), **{name: parameter for name, parameter in defaults.items() if name in free}}


def _check_schedule(schedule: Any, expected: dict[str, Any]) -> None:
    if schedule.WhichOneof("ScheduleExpression") is None:
        return
    _check_timing(schedule)
    kickoff = schedule.kickoff_time_input_arg
    for name, parameter in expected.items():
        if parameter.required and name != kickoff:
            raise invalid(
                "Cannot create a launch plan with a schedule if there is an unbound required input. "
                f"[{name}] is required"
            )
    if not kickoff:
        return
    if kickoff not in expected:
        raise invalid(f"Cannot create a schedule with a KickoffTimeInputArg that is not a free input. [{kickoff}]")
    if expected[kickoff].var.type.simple != types_pb2.DATETIME:
        raise invalid(f"KickoffTimeInputArg must reference a datetime input. [{kickoff}] is none")


def _check_timing(schedule: Any) -> None:
    kind = schedule.WhichOneof("ScheduleExpression")
    if kind == "rate" and not schedule.rate.value:
        raise invalid("a schedule's rate must not be zero")
    if kind == "cron_schedule":
        text = schedule.cron_schedule.schedule
        if text.lower() not in _ALIASES and not croniter.is_valid(text):
            raise invalid(f"invalid cron schedule [{text}]")
    if kind == "cron_expression":
        raise invalid("cron_expression is no longer supported by the native scheduler")


def _check_notification(notification: Any) -> None:
    kind = notification.WhichOneof("type")
    if kind is None:
        raise missing("notification type")
    if not getattr(notification, kind).recipients_email:
        raise missing("recipients_email")
    if not notification.phases or not set(notification.phases) <= _TERMINAL:
        raise invalid("notifications are sent of terminal phases only")
