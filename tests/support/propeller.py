"""What Flyte's propeller does with serialized specs, written anew from its rules: nodes in order, each a process.

A workflow is walked from the archive that `pyflyte package` leaves. A task is started by its container's command line,
with its inputs as a file of protobuf in a folder that stands for the object store, and is read by the files that it
leaves there: outputs, an error, or the job of a dynamic, whose nodes come next. Nothing of flytekit's local execution
takes part. Each pod has a disk of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from flyteidl.admin.task_pb2 import TaskSpec
from flyteidl.admin.workflow_pb2 import WorkflowSpec
from flyteidl.core.dynamic_job_pb2 import DynamicJobSpec
from flyteidl.core.errors_pb2 import ErrorDocument
from flyteidl.core.literals_pb2 import BindingData, Literal, LiteralMap
from flyteidl.core.tasks_pb2 import TaskTemplate
from flyteidl.core.workflow_pb2 import ArrayNode, Node, WorkflowTemplate

MAX_READ_BYTES = 2 << 20
"""What a cluster reads at most of one file of inputs, outputs or nodes, by its default settings."""

Literals: TypeAlias = dict[str, Literal]
StartPod: TypeAlias = Callable[[list[str], Mapping[str, str]], "tuple[int, str]"]
"""Runs a command with variables, and returns its status and what it said."""


class NodeFailedError(Exception):
    """A node failed; the text is its error's, `kind` says whether a cluster tries again."""

    def __init__(self, text: str, *, is_recoverable: bool) -> None:
        super().__init__(text)
        self.is_recoverable = is_recoverable


@dataclass(frozen=True, kw_only=True)
class Pod:
    """What was started: the task's short name, and what its node changes about it."""

    task: str
    node: Node
    template: TaskTemplate


@dataclass(kw_only=True)
class Walk:
    """One execution: what is registered, the store, and the pods in the order in which they were started."""

    folder: Path
    start_pod: StartPod
    tasks: dict[str, TaskTemplate] = field(default_factory=dict)
    workflows: dict[str, WorkflowSpec] = field(default_factory=dict)
    pods: list[Pod] = field(default_factory=list)

    @property
    def order(self) -> list[str]:
        """The short names of all tasks that ran."""
        return [pod.task for pod in self.pods]

    def register(self, archive: Path) -> None:
        """Take all entities of a package."""
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                file = tar.extractfile(member)
                assert file
                if member.name.endswith("_1.pb"):
                    template = TaskSpec.FromString(file.read()).template
                    self.tasks[template.id.name] = template
                elif member.name.endswith("_2.pb"):
                    spec = WorkflowSpec.FromString(file.read())
                    self.workflows[spec.template.id.name] = spec

    def run_workflow(self, name: str, inputs: Literals) -> Literals:
        """The outputs of a registered workflow. Raises NodeFailedError."""
        spec = self.workflows[name]
        return self._run_template(
            spec.template, {part.id.name: part for part in spec.sub_workflows}, self.tasks, inputs
        )

    def _run_template(
        self,
        template: WorkflowTemplate,
        parts: Mapping[str, WorkflowTemplate],
        tasks: Mapping[str, TaskTemplate],
        inputs: Literals,
    ) -> Literals:
        known = {"": inputs, "start-node": inputs}
        for node in in_order(template.nodes):
            given = {binding.var: resolve(binding.binding, known) for binding in node.inputs}
            if node.HasField("workflow_node"):
                name = node.workflow_node.sub_workflow_ref.name
                known[node.id] = self._run_template(parts[name], parts, tasks, given)
            elif node.HasField("array_node"):
                known[node.id] = self._run_array(node.array_node, tasks, given)
            else:
                known[node.id] = self._run_task(node, tasks, given)
        return {binding.var: resolve(binding.binding, known) for binding in template.outputs}

    def _run_array(self, array: ArrayNode, tasks: Mapping[str, TaskTemplate], given: Literals) -> Literals:
        """Each subnode has all inputs and its place in the lists; what they leave is put into lists again."""
        bound = set(array.bound_inputs)
        length = next(len(value.collection.literals) for name, value in given.items() if name not in bound)
        place = {"BATCH_JOB_ARRAY_INDEX_VAR_NAME": "FLYTE_K8S_ARRAY_INDEX", "BATCH_JOB_ARRAY_INDEX_OFFSET": "0"}
        collected: Literals = {}
        for index in range(length):
            left = self._run_task(array.node, tasks, given, {**place, "FLYTE_K8S_ARRAY_INDEX": str(index)})
            for name, value in left.items():
                collected.setdefault(name, Literal()).collection.literals.append(value)
        return collected

    def _run_task(
        self, node: Node, tasks: Mapping[str, TaskTemplate], given: Literals, variables: Mapping[str, str] | None = None
    ) -> Literals:
        template = tasks[node.task_node.reference_id.name]
        self.pods.append(Pod(task=short_name(template), node=node, template=template))
        store = self.folder / f"{len(self.pods):03}-{short_name(template)}"
        (store / "raw").mkdir(parents=True)
        write(store / "inputs.pb", LiteralMap(literals=given))
        environment = {variable.key: variable.value for variable in template.container.env}
        environment |= {"FLYTE_CODEGEN_CACHE": str(store / "disk"), **(variables or {})}
        status, said = self.start_pod(command_of(template, store), environment)
        if (store / "error.pb").exists():
            error = ErrorDocument.FromString((store / "error.pb").read_bytes()).error
            raise NodeFailedError(error.message, is_recoverable=error.kind == type(error).RECOVERABLE)
        if status != 0:
            raise NodeFailedError(f"{short_name(template)}: exit status {status}: {said}", is_recoverable=False)
        if (store / "futures.pb").exists():
            return self._run_job(read(store / "futures.pb", DynamicJobSpec))
        return dict(read(store / "outputs.pb", LiteralMap).literals)

    def _run_job(self, job: DynamicJobSpec) -> Literals:
        template = WorkflowTemplate(nodes=job.nodes, outputs=job.outputs)
        own = {part.id.name: part for part in job.tasks}
        return self._run_template(template, {part.id.name: part for part in job.subworkflows}, own, {})


def command_of(template: TaskTemplate, store: Path) -> list[str]:
    """The container's command line with its templates filled in."""
    values = {
        "{{.input}}": str(store / "inputs.pb"),
        "{{.outputPrefix}}": str(store),
        "{{.rawOutputDataPrefix}}": str(store / "raw"),
        "{{.checkpointOutputPrefix}}": str(store / "checkpoint"),
        "{{.prevCheckpointPrefix}}": '""',
    }
    return [values.get(part, part) for part in (*template.container.command, *template.container.args)]


def in_order(nodes: Iterable[Node]) -> list[Node]:
    """Each node after all that it takes something from."""
    waiting = {node.id: node for node in nodes}
    ordered: list[Node] = []
    while waiting:
        ready = [name for name, node in waiting.items() if not upstream_of(node) & set(waiting)]
        assert ready, f"a cycle among {sorted(waiting)}"
        ordered += [waiting.pop(name) for name in ready]
    return ordered


def upstream_of(node: Node) -> set[str]:
    promised = {promise for binding in node.inputs for promise in promises(binding.binding)}
    return set(node.upstream_node_ids) | promised


def promises(data: BindingData) -> set[str]:
    """The nodes that a binding takes something from."""
    inner = [*data.collection.bindings, *data.map.bindings.values()]
    direct = {data.promise.node_id} if data.HasField("promise") else set()
    return direct.union(*(promises(part) for part in inner))


def resolve(data: BindingData, known: Mapping[str, Literals]) -> Literal:
    """The literal that a binding stands for."""
    kind = data.WhichOneof("value")
    if kind == "promise":
        assert not data.promise.attr_path, "what is taken from within a literal is not walked here"
        return known[data.promise.node_id][data.promise.var]
    made = Literal()
    if kind == "collection":
        made.collection.literals.extend(resolve(part, known) for part in data.collection.bindings)
        made.collection.SetInParent()
    elif kind == "map":
        made.map.SetInParent()
        for name, part in data.map.bindings.items():
            made.map.literals[name].CopyFrom(resolve(part, known))
    else:
        made.scalar.CopyFrom(data.scalar)
    return made


def write(path: Path, message: Any) -> None:
    """As bytes, as small as a cluster has it."""
    content = message.SerializeToString()
    assert len(content) <= MAX_READ_BYTES, f"{path.name} of {path.parent.name} holds {len(content):,} bytes"
    path.write_bytes(content)


def read(path: Path, kind: Any) -> Any:
    """From bytes, as small as a cluster has them."""
    content = path.read_bytes()
    assert len(content) <= MAX_READ_BYTES, f"{path.name} of {path.parent.name} holds {len(content):,} bytes"
    return kind.FromString(content)


def short_name(template: TaskTemplate) -> str:
    """`run_tests` of `flyteplugins_codegen.flyte.tasks.run_tests`, and of a map task over it."""
    name = template.id.name.rpartition(".")[2]
    return name.removeprefix("map_").rpartition("_")[0] if name.endswith("-arraynode") else name


def start_process(command: list[str], variables: Mapping[str, str]) -> tuple[int, str]:
    """A pod as a new process of this machine's interpreter."""
    program = str(Path(sys.executable).with_name(command[0]))
    done = subprocess.run(
        [program, *command[1:]], env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr
