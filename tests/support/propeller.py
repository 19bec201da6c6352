"""What Flyte's propeller does with serialized specs, written anew from its rules: nodes in order, each a process.

A workflow is walked from the archive that `pyflyte package` leaves. A task is started by its container's command line,
with its inputs as a file of protobuf in a folder that stands for the object store, and is read by the files that it
leaves there: outputs, an error, or the job of a dynamic, whose nodes come next. Nothing of flytekit's local execution
takes part. Each pod has a disk of its own.

What a task's cache settings let it keep is found in the catalog by the next execution of the same walk. A pod that is
lost, or whose error is recoverable, is followed by another, as often as its task may be tried again.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from flyteidl.admin.task_pb2 import TaskSpec
from flyteidl.admin.workflow_pb2 import WorkflowSpec
from flyteidl.core.dynamic_job_pb2 import DynamicJobSpec
from flyteidl.core.errors_pb2 import ErrorDocument
from flyteidl.core.literals_pb2 import BindingData, Literal, LiteralMap
from flyteidl.core.tasks_pb2 import Resources, TaskTemplate
from flyteidl.core.workflow_pb2 import ArrayNode, Node, WorkflowTemplate
from google.protobuf.json_format import MessageToDict

MAX_READ_BYTES = 2 << 20
"""What a cluster reads at most of one file of inputs, outputs or nodes, by its default settings."""

MAP_ORDER = "CODEGEN_TEST_MAP_ORDER"
"""The variable with the order in which a pod gets the entries of maps: another one in every second execution."""

Literals: TypeAlias = dict[str, Literal]
StartPod: TypeAlias = Callable[[list[str], Mapping[str, str]], "tuple[int, str]"]
"""Runs a command with variables, and returns its status and what it said."""


class NodeFailedError(Exception):
    """A node failed; the text is its error's. A cluster tries again after one that `is_recoverable`.

    `is_inner` says that a node of a dynamic failed, after which the dynamic is not tried again.
    """

    def __init__(self, text: str, *, is_recoverable: bool) -> None:
        super().__init__(text)
        self.is_recoverable = is_recoverable
        self.is_inner = False


@dataclass(frozen=True, kw_only=True)
class Pod:
    """What was started: the task's short name, and what its node changes about it."""

    task: str
    node: Node
    template: TaskTemplate


class TaskContainer(NamedTuple):
    """What a task's template says of its container; `resources` are requests and limits by Kubernetes' names."""

    args: list[str]
    env: dict[str, str]
    resources: dict[str, dict[str, str]]


@dataclass(frozen=True)
class Start:
    """What every try of a node has alike."""

    node: Node
    template: TaskTemplate
    given: Literals
    variables: Mapping[str, str]


@dataclass(kw_only=True)
class Walk:
    """One execution: what is registered, the store, and the pods in the order in which they were started.

    `secrets` are the cluster's by `group/key`, which its webhook gives to the pods that request them. `variables` are
    those of the registered templates; a node that a dynamic adds must have them too, or its pod is another than theirs.
    `row` is how many pods of the last execution ran one after the other: the longest chain of them.
    """

    folder: Path
    start_pod: StartPod
    tasks: dict[str, TaskTemplate] = field(default_factory=dict)
    workflows: dict[str, WorkflowSpec] = field(default_factory=dict)
    pods: list[Pod] = field(default_factory=list)
    catalog: dict[str, Literals] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    row: int = 0
    executions: int = 0

    @property
    def order(self) -> list[str]:
        """The short names of all tasks that ran."""
        return [pod.task for pod in self.pods]

    def register(self, archive: Path) -> None:
        """Take all entities of a package."""
        self.variables = registered_variables(archive)
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
        spec, self.row = self.workflows[name], 0
        self.executions += 1
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
        begun, ended = self.row, {}
        for node in in_order(template.nodes):
            self.row = max([begun, *(ended[name] for name in upstream_of(node) if name in ended)])
            given = {binding.var: resolve(binding.binding, known) for binding in node.inputs}
            if node.HasField("workflow_node"):
                name = node.workflow_node.sub_workflow_ref.name
                known[node.id] = self._run_template(parts[name], parts, tasks, given)
            elif node.HasField("array_node"):
                known[node.id] = self._run_array(node.array_node, tasks, given)
            else:
                known[node.id] = self._run_task(node, tasks, given)
            ended[node.id] = self.row
        self.row = max([begun, *ended.values()])
        return {binding.var: resolve(binding.binding, known) for binding in template.outputs}

    def _run_array(self, array: ArrayNode, tasks: Mapping[str, TaskTemplate], given: Literals) -> Literals:
        """Each subnode has all inputs and its place in the lists; what they leave is put into lists again."""
        bound = set(array.bound_inputs)
        length = next(len(value.collection.literals) for name, value in given.items() if name not in bound)
        place = {"BATCH_JOB_ARRAY_INDEX_VAR_NAME": "FLYTE_K8S_ARRAY_INDEX", "BATCH_JOB_ARRAY_INDEX_OFFSET": "0"}
        collected: Literals = {}
        begun, longest = self.row, self.row
        for index in range(length):
            self.row = begun
            own = {name: value if name in bound else value.collection.literals[index] for name, value in given.items()}
            variables = {**place, "FLYTE_K8S_ARRAY_INDEX": str(index)}
            left = self._run_task(array.node, tasks, given, own=own, variables=variables)
            longest = max(longest, self.row)
            for name, value in left.items():
                collected.setdefault(name, Literal()).collection.literals.append(value)
        self.row = longest
        return collected

    def _run_task(
        self,
        node: Node,
        tasks: Mapping[str, TaskTemplate],
        given: Literals,
        *,
        own: Literals | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Literals:
        """What the catalog has, else what a pod leaves; `own` are the inputs of one node of an array."""
        template = tasks[node.task_node.reference_id.name]
        key = cache_key(template, given if own is None else own)
        if key is not None and key in self.catalog:
            return self.catalog[key]
        retries = node.metadata.retries.retries or template.metadata.retries.retries
        left = self._try_pods(Start(node, template, given, variables or {}), retries)
        if key is not None:
            self.catalog[key] = left
        return left

    def _try_pods(self, start: Start, retries: int, earlier: str = '""') -> Literals:
        """What the first pod leaves that is not lost; `earlier` is the checkpoint of the one before."""
        self.row += 1
        self.pods.append(Pod(task=short_name(start.template), node=start.node, template=start.template))
        store = self.folder / f"{len(self.pods):03}-{short_name(start.template)}"
        try:
            return self._run_pod(start, store, earlier)
        except NodeFailedError as error:
            if error.is_inner or not (error.is_recoverable and retries):
                raise
        return self._try_pods(start, retries - 1, str(store / "checkpoint"))

    def _run_pod(self, start: Start, store: Path, earlier: str) -> Literals:
        template = start.template
        (store / "raw").mkdir(parents=True)
        write(store / "inputs.pb", LiteralMap(literals=start.given))
        environment = container_of(template).env
        assert own_variables(template) == self.variables, f"{short_name(template)} is registered with others"
        environment |= {"FLYTE_CODEGEN_CACHE": str(store / "disk"), **start.variables, **self._injected(template)}
        environment[MAP_ORDER] = "forwards" if self.executions % 2 else "backwards"
        status, said = self.start_pod(command_of(template, store, earlier), environment)
        if (store / "error.pb").exists():
            error = ErrorDocument.FromString((store / "error.pb").read_bytes()).error
            raise NodeFailedError(error.message, is_recoverable=error.kind == type(error).RECOVERABLE)
        if status != 0:  # it ended without a word
            raise NodeFailedError(f"{short_name(template)}: exit status {status}: {said}", is_recoverable=True)
        if (store / "futures.pb").exists():
            return self._run_job(read(store / "futures.pb", DynamicJobSpec))
        return dict(read(store / "outputs.pb", LiteralMap).literals)

    def _injected(self, template: TaskTemplate) -> dict[str, str]:
        """What the webhook adds to the pod."""
        requested = template.security_context.secrets
        return {secret.env_var: self.secrets[f"{secret.group}/{secret.key}"] for secret in requested}

    def _run_job(self, job: DynamicJobSpec) -> Literals:
        template = WorkflowTemplate(nodes=job.nodes, outputs=job.outputs)
        own = {part.id.name: part for part in job.tasks}
        try:
            return self._run_template(template, {part.id.name: part for part in job.subworkflows}, own, {})
        except NodeFailedError as error:
            error.is_inner = True
            raise


def cache_key(template: TaskTemplate, inputs: Literals) -> str | None:
    """What the outputs are kept under: task, version, interface and inputs; None where nothing is to be kept."""
    task = template.metadata
    if not task.discoverable:  # a cluster does not look at the node's `cacheable`
        return None
    kept = {name: hashed(value) for name, value in inputs.items() if name not in task.cache_ignore_input_vars}
    sha = hashlib.sha256(f"{template.id.name} {task.discovery_version}".encode())
    sha.update(template.interface.SerializeToString(deterministic=True))
    sha.update(LiteralMap(literals=kept).SerializeToString(deterministic=True))
    return sha.hexdigest()


def hashed(literal: Literal) -> Literal:
    """The literal's own hash where it has one, also within lists and maps."""
    if literal.hash:
        return Literal(hash=literal.hash)
    made = Literal()
    if literal.HasField("collection"):
        made.collection.SetInParent()
        made.collection.literals.extend(hashed(part) for part in literal.collection.literals)
    elif literal.HasField("map"):
        made.map.SetInParent()
        for name, part in literal.map.literals.items():
            made.map.literals[name].CopyFrom(hashed(part))
    else:
        made.CopyFrom(literal)
    return made


def read_tasks(archive: Path) -> list[TaskTemplate]:
    """The tasks of a package."""
    with tarfile.open(archive) as tar:
        files = [tar.extractfile(member) for member in tar.getmembers() if member.name.endswith("_1.pb")]
        return [TaskSpec.FromString(file.read()).template for file in files if file]


def registered_variables(archive: Path) -> dict[str, str]:
    """The variables that the templates of a package have, each the same ones; a solution's container has its own."""
    ours = (template for template in read_tasks(archive) if template.type != "raw-container")
    variables, *others = map(own_variables, ours)
    assert all(other == variables for other in others)
    return variables


def own_variables(template: TaskTemplate) -> dict[str, str]:
    """Those of the template's container; without what flytekit adds to a dynamic's, which differs."""
    return {name: value for name, value in container_of(template).env.items() if name != "_F_SS_C"}


def container_of(template: TaskTemplate) -> TaskContainer:
    """The container that the task is registered with, or the main one of its pod."""
    if not template.HasField("k8s_pod"):
        env = {variable.key: variable.value for variable in template.container.env}
        resources = template.container.resources
        sizes = {
            kind: {resource_name(entry): entry.value for entry in entries}
            for kind, entries in (("requests", resources.requests), ("limits", resources.limits))
        }
        return TaskContainer([*template.container.command, *template.container.args], env, sizes)
    spec = MessageToDict(template.k8s_pod.pod_spec)
    main = next(one for one in spec["containers"] if one["name"] == template.config["primary_container_name"])
    env = {variable["name"]: variable["value"] for variable in main["env"]}
    return TaskContainer([*main["command"], *main["args"]], env, main["resources"])


def resource_name(entry: Any) -> str:
    return Resources.ResourceName.Name(entry.name).lower().replace("_", "-")


def command_of(template: TaskTemplate, store: Path, earlier: str) -> list[str]:
    """The container's command line with its templates filled in."""
    values = {
        "{{.input}}": str(store / "inputs.pb"),
        "{{.outputPrefix}}": str(store),
        "{{.rawOutputDataPrefix}}": str(store / "raw"),
        "{{.checkpointOutputPrefix}}": str(store / "checkpoint"),
        "{{.prevCheckpointPrefix}}": earlier,
    }
    return [values.get(part, part) for part in container_of(template).args]


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
