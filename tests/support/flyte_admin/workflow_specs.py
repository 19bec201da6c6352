"""What a workflow must be before it is registered: a graph whose references, bindings and outputs all hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from flyteidl.core import compiler_pb2, interface_pb2, literals_pb2, types_pb2

from flyte_admin.literal_types import is_castable, type_of
from flyte_admin.refusals import invalid, missing
from flyte_admin.task_specs import check_interface

START = "start-node"
_RESERVED = {START, "end-node"}
Variables = Mapping[str, Any]
Interface = tuple[Variables, Variables]
_FIELDS = {"collection": "collection_type", "map": "map_value_type"}


@dataclasses.dataclass(frozen=True)
class References:
    """What is registered by now: each gives a message, or refuses an id that is not there."""

    task: Callable[[Any], Any]
    launch_plan: Callable[[Any], Any]


def compile_workflow(spec: Any, references: References) -> Any:
    """The closure of a workflow that holds. `spec` brings its sub-workflows along, not its tasks and launch plans."""
    inner = {_key(template.id): template for template in spec.sub_workflows}
    tasks: dict[str, Any] = {}
    for template in (spec.template, *spec.sub_workflows):
        _Compiler(template, inner, references, tasks).check()
    return compiler_pb2.CompiledWorkflowClosure(
        primary=compiler_pb2.CompiledWorkflow(template=spec.template, connections=_connections(spec.template)),
        sub_workflows=[
            compiler_pb2.CompiledWorkflow(template=template, connections=_connections(template))
            for template in spec.sub_workflows
        ],
        tasks=[compiler_pb2.CompiledTask(template=template) for template in tasks.values()],
    )


class _Compiler:
    """Checks one graph; the tasks that it meets go into `tasks`."""

    def __init__(self, template: Any, inner: Variables, references: References, tasks: dict[str, Any]) -> None:
        self.template = template
        self.inner = inner
        self.references = references
        self.tasks = tasks
        self.interfaces: dict[str, Interface] = {
            START: ({}, template.interface.inputs.variables),
            "": ({}, template.interface.inputs.variables),
        }

    def check(self) -> None:
        template = self.template
        if not template.nodes:
            raise invalid(f"workflow [{template.id.name}] has no nodes")
        check_interface(template.interface)
        nodes = [*template.nodes, *([template.failure_node] if template.HasField("failure_node") else [])]
        for node in nodes:
            if node.id in self.interfaces or node.id in _RESERVED:
                raise invalid(f"node id [{node.id}] is used twice, or reserved")
            self.interfaces[node.id] = self.interface_of(node)
        for node in nodes:
            self.check_bindings(node)
        self.check_outputs()
        self.check_order()

    def interface_of(self, node: Any) -> Interface:
        """What a node takes and gives. Refuses a reference to what is not registered."""
        target = node.WhichOneof("target")
        if target == "task_node":
            return _sides(self.task(node.task_node.reference_id).interface)
        if target == "workflow_node":
            return self.interface_of_workflow(node.workflow_node)
        if target == "branch_node":
            return self.interface_of_branch(node.branch_node)
        if target == "gate_node":
            return self.interface_of_gate(node)
        if target == "array_node":
            return self.interface_of_array(node.array_node)
        raise missing(f"target of node [{node.id}]")

    def task(self, identifier: Any) -> Any:
        template = self.references.task(identifier)
        self.tasks[_key(identifier)] = template
        return template

    def interface_of_workflow(self, node: Any) -> Interface:
        if node.WhichOneof("reference") == "launchplan_ref":
            plan = self.references.launch_plan(node.launchplan_ref)
            free = {name: parameter.var for name, parameter in plan.closure.expected_inputs.parameters.items()}
            return free, plan.closure.expected_outputs.variables
        key = _key(node.sub_workflow_ref)
        if key not in self.inner:
            raise invalid(f"sub-workflow [{key}] does not come along with the workflow")
        return _sides(self.inner[key].interface)

    def interface_of_branch(self, branch: Any) -> Interface:
        """A branch gives what all of its cases give; each case binds its own inputs."""
        cases = list(_cases(branch))
        outputs = []
        for node in cases:
            self.interfaces[node.id] = self.interface_of(node)
            self.check_bindings(node)
            outputs.append(self.interfaces[node.id][1])
        common = {name: kind for name, kind in outputs[0].items() if all(name in other for other in outputs)}
        return _Anything(), common

    def interface_of_gate(self, node: Any) -> Interface:
        """A gate gives what is signalled; one that asks for approval hands on what it is given."""
        if node.gate_node.WhichOneof("condition") == "signal":
            signal = node.gate_node.signal
            return {}, {signal.output_variable_name: interface_pb2.Variable(type=signal.type)}
        given = {bound.var: self.type_of_binding(f"gate [{node.id}]", bound.binding) for bound in node.inputs}
        return _Anything(), {name: interface_pb2.Variable(type=kind) for name, kind in given.items()}

    def interface_of_array(self, array: Any) -> Interface:
        inputs, outputs = self.interface_of(array.node)
        bound = set(array.bound_inputs)
        each = {name: variable if name in bound else _list_of(variable) for name, variable in inputs.items()}
        return each, {name: _list_of(variable) for name, variable in outputs.items()}

    def check_bindings(self, node: Any) -> None:
        """Every input bound once, to something of its type, and nothing else bound."""
        wanted, _ = self.interfaces[node.id]
        bound = [binding.var for binding in node.inputs]
        for name in wanted:
            if name not in bound and not _has_default(wanted[name]):
                raise invalid(f"node [{node.id}]: input [{name}] is not bound")
        for binding in node.inputs:
            if isinstance(wanted, _Anything):
                continue
            if binding.var not in wanted or bound.count(binding.var) > 1:
                raise invalid(f"node [{node.id}]: binding [{binding.var}] is not one of the inputs, or bound twice")
            self.check_binding(f"node [{node.id}] input [{binding.var}]", binding.binding, wanted[binding.var].type)

    def check_binding(self, where: str, binding: Any, wanted: Any) -> None:
        given = self.type_of_binding(where, binding)
        if given is not None and not is_castable(given, wanted):
            raise invalid(f"{where}: mismatching types, [{_short(given)}] is bound to [{_short(wanted)}]")

    def type_of_binding(self, where: str, binding: Any) -> Any:
        """The type of a bound value; None where it is only known at run time."""
        kind = binding.WhichOneof("value")
        if kind == "promise":
            return self.type_of_promise(where, binding.promise)
        if kind == "scalar":
            return type_of(literals_pb2.Literal(scalar=binding.scalar))
        types = [self.type_of_binding(where, item) for item in _items(binding)]
        known = [found for found in types if found is not None]
        if kind not in _FIELDS or len(known) < len(types):
            return None
        return types_pb2.LiteralType(**{_FIELDS[kind]: _common(known)})

    def type_of_promise(self, where: str, promise: Any) -> Any:
        if promise.node_id not in self.interfaces:
            raise invalid(f"{where}: there is no node [{promise.node_id}]")
        outputs = self.interfaces[promise.node_id][1]
        if promise.var not in outputs:
            raise invalid(f"{where}: node [{promise.node_id}] has no output [{promise.var}]")
        return None if promise.attr_path else outputs[promise.var].type

    def check_outputs(self) -> None:
        declared = self.template.interface.outputs.variables
        bound = {binding.var: binding.binding for binding in self.template.outputs}
        if set(declared) != set(bound):
            raise invalid(f"workflow outputs {sorted(declared)} are not those bound: {sorted(bound)}")
        for name, variable in declared.items():
            self.check_binding(f"workflow output [{name}]", bound[name], variable.type)

    def check_order(self) -> None:
        graph = {node.id: set(_upstream(node)) - {START, ""} for node in self.template.nodes}
        for name, before in graph.items():
            unknown = before - set(self.interfaces)
            if unknown:
                raise invalid(f"node [{name}] comes after [{unknown.pop()}], which is not there")
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            raise invalid(f"workflow [{self.template.id.name}] has a cycle: {error.args[1]}") from error


class _Anything(dict[str, Any]):
    """The inputs of a node that takes whatever it is given: what a condition compares, what a person is to approve."""


def _cases(branch: Any) -> Iterator[Any]:
    block = branch.if_else
    for case in (block.case, *block.other):
        yield case.then_node
    if block.WhichOneof("default") == "else_node":
        yield block.else_node


def _upstream(node: Any) -> Iterator[str]:
    yield from node.upstream_node_ids
    for binding in node.inputs:
        yield from _promised(binding.binding)


def _promised(binding: Any) -> Iterator[str]:
    kind = binding.WhichOneof("value")
    if kind == "promise":
        yield binding.promise.node_id
    for item in _items(binding):
        yield from _promised(item)


def _items(binding: Any) -> Iterable[Any]:
    kind = binding.WhichOneof("value")
    if kind == "collection":
        return list(binding.collection.bindings)
    return list(binding.map.bindings.values()) if kind == "map" else []


def _connections(template: Any) -> Any:
    found = compiler_pb2.ConnectionSet()
    for node in template.nodes:
        before = sorted(set(_upstream(node)) or {START})
        found.upstream[node.id].ids.extend(before)
        for other in before:
            found.downstream[other].ids.append(node.id)
    return found


def _sides(interface: Any) -> Interface:
    return interface.inputs.variables, interface.outputs.variables


def _list_of(variable: Any) -> Any:
    return interface_pb2.Variable(type=types_pb2.LiteralType(collection_type=variable.type))


def _common(types: list[Any]) -> Any:
    if not types:
        return types_pb2.LiteralType(simple=types_pb2.NONE)
    if all(found == types[0] for found in types):
        return types[0]
    return types_pb2.LiteralType(union_type=types_pb2.UnionType(variants=types))


def _has_default(variable: Any) -> bool:
    """An optional input may stay unbound."""
    variants = variable.type.union_type.variants
    return any(variant.WhichOneof("type") == "simple" and variant.simple == types_pb2.NONE for variant in variants)


def _short(kind: Any) -> str:
    return " ".join(str(kind).split())[:200]


def _key(identifier: Any) -> str:
    return f"{identifier.project}:{identifier.domain}:{identifier.name}:{identifier.version}"
