"""The pod that a solution is registered with, as flytekit serializes it and as Kubernetes reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
import yaml
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.tools.translator import get_serializable
from google.protobuf.json_format import MessageToJson
from kubernetes.client import ApiClient, V1NetworkPolicy, V1PodSpec
from pydantic import ValidationError

from flyteplugins_codegen.models.job import SolutionBundle
from flyteplugins_codegen.models.settings import PodSettings, Resources, SecretReference
from flyteplugins_codegen.packages.resolve import resolve
from flyteplugins_codegen.solution.execute import ExecutionOptions
from flyteplugins_codegen.solution.task import SandboxTask

POLICIES = sorted((Path(__file__).parents[2] / "docs" / "deploy").glob("network-policy-*.yaml"))


def template(secrets: tuple[SecretReference, ...] = (), **options: Any) -> Any:
    """The task's template on the wire."""
    bundle = SolutionBundle(
        name="counter",
        code=job.code(),
        lock=resolve(()),
        inputs={"table": "file"},
        outputs={"row_count": "int"},
        image="counter:1",
    )
    made = SandboxTask(bundle, options=ExecutionOptions.model_validate(options), secrets=secrets)
    image = Image(name="default", fqn="runner", tag="1")
    settings = SerializationSettings(image_config=ImageConfig(default_image=image, images=[image]))
    return get_serializable({}, settings, made).template.to_flyte_idl()


def pod_spec(**options: Any) -> dict[str, Any]:
    return spec_of(template(**options))


def spec_of(made: Any) -> dict[str, Any]:
    """Go writes the whole numbers of a protobuf struct whole, Python does not."""
    read: dict[str, Any] = json.loads(MessageToJson(made.k8s_pod.pod_spec), parse_float=lambda text: int(float(text)))
    return read


def as_kubernetes_reads_it(written: Any, model: type) -> Any:
    """Fields that Kubernetes does not know are dropped in silence, as a cluster drops them."""
    client = ApiClient()
    read = client.deserialize(json.dumps(written), model.__name__, "application/json")
    return client.sanitize_for_serialization(read)


def test_the_main_container_has_no_privilege_and_nothing_but_tmp_to_write_to() -> None:
    pod = pod_spec()
    (main,) = pod["containers"]
    assert main["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["automountServiceAccountToken"] is False
    assert "securityContext" not in pod  # co-pilot's containers share the pod, and run as root
    assert [mount["mountPath"] for mount in main["volumeMounts"]] == ["/tmp"]
    assert [volume["emptyDir"] for volume in pod["volumes"]] == [{"sizeLimit": "512Mi"}]


def test_kubernetes_knows_every_field_of_the_pod() -> None:
    written = pod_spec(
        pod=PodSettings(runtime_class="gvisor"), env_vars={"LANG": "C.UTF-8"}, resources=Resources(gpu="1")
    )
    assert as_kubernetes_reads_it(written, V1PodSpec) == written


def test_requests_are_limits_and_the_disk_has_one_though_nothing_is_said() -> None:
    resources = pod_spec()["containers"][0]["resources"]
    assert resources["limits"] == {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "2Gi"}
    assert resources["requests"] == resources["limits"]


def test_a_pod_gets_the_launcher_the_limits_and_the_names_of_secrets() -> None:
    resources = Resources(cpu="2", mem="3Gi", ephemeral_storage="5Gi")
    made = template(
        (SecretReference(group="team", key="TOKEN"),),
        resources=resources,
        timeout_s=90,
        env_vars={"LANG": "C.UTF-8"},
        retries=2,
    )
    (main,) = spec_of(made)["containers"]
    assert main["image"] == "counter:1"
    launched = ["--input", "table:file", "--output", "row_count:int", "/app/solution.py"]
    assert main["command"] == ["python", "/app/launcher.py", *launched]
    assert main["resources"]["limits"] == {"cpu": "2", "memory": "3Gi", "ephemeral-storage": "5Gi"}
    assert {"name": "LANG", "value": "C.UTF-8"} in main["env"]
    assert [(secret.group, secret.key) for secret in made.security_context.secrets] == [("team", "TOKEN")]
    assert (made.metadata.retries.retries, made.metadata.timeout.seconds) == (2, 90)


def test_co_pilot_is_told_the_folders_and_which_container_is_ours() -> None:
    made = template()
    assert not made.HasField("container")
    data = made.k8s_pod.data_config
    assert (data.enabled, data.input_path, data.output_path) == (True, "/var/inputs", "/var/outputs")
    (main,) = spec_of(made)["containers"]
    assert made.config["primary_container_name"] == made.k8s_pod.primary_container_name == main["name"]


def test_runtime_class_labels_and_room_in_tmp_are_the_users() -> None:
    made = template(pod=PodSettings(runtime_class="gvisor", labels={"team": "data"}, tmp_size="4Gi"))
    pod = spec_of(made)
    assert pod["runtimeClassName"] == "gvisor"
    assert pod["volumes"][0]["emptyDir"] == {"sizeLimit": "4Gi"}
    assert dict(made.k8s_pod.metadata.labels) == {"team": "data", "flyteplugins-codegen": "solution"}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"runtime_class": "gVisor!"}, "no name of a RuntimeClass"),
        ({"labels": {"team": "a b"}}, "no label"),
        ({"labels": {"flyteplugins-codegen": "trusted"}}, "set by the task itself"),
        ({"tmp_size": "lots"}, "no quantity"),
    ],
)
def test_a_setting_that_kubernetes_would_refuse_is_refused_here(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PodSettings(**setting)


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.name)
def test_a_network_policy_chooses_the_pods_of_solutions_and_leaves_nothing_open_but_what_it_names(path: Path) -> None:
    policy = yaml.safe_load(path.read_text())
    assert as_kubernetes_reads_it(policy, V1NetworkPolicy) == policy
    labels = template().k8s_pod.metadata.labels
    assert policy["spec"]["podSelector"] == {"matchLabels": dict(labels)}
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy["spec"]
    for rule in policy["spec"]["egress"]:
        assert rule["to"], "a rule without `to` opens its ports to everybody"
        assert rule["ports"], "a rule without `ports` opens all of them"
        assert not any(peer.get("ipBlock", {}).get("cidr", "").endswith("/0") for peer in rule["to"])
    assert {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]} <= {53, 443, 9000}


def test_there_is_a_policy_for_a_store_in_the_cluster_and_for_a_hosted_one() -> None:
    assert [path.name for path in POLICIES] == ["network-policy-hosted-store.yaml", "network-policy-minio.yaml"]
