from __future__ import annotations

import flytekit
import pytest
from pydantic import ValidationError

from flyteplugins_codegen import AutoCoderAgent
from flyteplugins_codegen.models.settings import Resources, SecretReference, Settings


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_iterations": 0},
        {"max_iterations": 51},
        {"max_sample_rows": -1},
        {"timeout_s": 0},
        {"cache": "never"},
        {"colour": "red"},
        {"backend": "agent", "candidates": 3},
        {"max_turns": 0},
    ],
)
def test_a_setting_that_is_not_allowed_is_named(wrong):
    with pytest.raises(ValidationError) as caught:
        AutoCoderAgent(model="openai/x", **wrong)
    assert caught.value.errors()[0]["loc"] == (next(iter(wrong)),)


def test_an_agent_cannot_be_changed():
    agent = AutoCoderAgent(model="openai/x")
    with pytest.raises(ValidationError, match="frozen"):
        agent.model = "openai/y"


def test_flytekits_own_resources_and_secrets_are_accepted():
    agent = AutoCoderAgent(
        model="openai/x",
        resources=flytekit.Resources(cpu=2, mem="512Mi"),
        secrets=[flytekit.Secret(group="llm", key="token")],
    )
    assert agent.resources == Resources(cpu="2", mem="512Mi")
    assert agent.secrets == (SecretReference(key="token", group="llm"),)


def test_an_agent_survives_json():
    agent = AutoCoderAgent(model="openai/x", model_params={"seed": 1, "stop": ["a"]}, base_packages=["pandas"])
    assert AutoCoderAgent.model_validate_json(agent.model_dump_json()) == agent


def test_the_settings_of_an_agent_are_all_its_fields():
    agent = AutoCoderAgent(model="openai/x", name="n", max_iterations=3)
    assert dict(agent.settings) == dict(agent)
    assert type(agent.settings) is Settings


@pytest.mark.parametrize(("mem", "mib"), [("1Gi", 1024), ("512Mi", 512), ("1G", 953), ("2097152", 2), ("1.5Gi", 1536)])
def test_memory_is_read_as_kubernetes_reads_it(mem, mib):
    assert Resources(mem=mem).memory_mib == mib


def test_memory_that_is_not_a_quantity_is_refused():
    with pytest.raises(ValidationError, match="'lots' is no quantity of memory"):
        Resources(mem="lots")


@pytest.mark.parametrize("wrong", [{"cpu": "lots"}, {"cpu": "0"}, {"cpu": "1Gi"}, {"gpu": "half"}])
def test_processors_and_gpus_that_no_cluster_takes_are_refused(wrong):
    with pytest.raises(ValidationError, match="write it like"):
        Settings(model="openai/gpt-5", resources=wrong)


@pytest.mark.parametrize("cpu", ["1", "2.5", "250m", 4, 0.5])
def test_processors_are_kubernetes_quantities(cpu):
    settings = Settings(model="openai/gpt-5", resources={"cpu": cpu})
    assert settings.resources is not None
    assert settings.resources.cpu == str(cpu)


@pytest.mark.parametrize("resources", ["1Gi", 3, object()])
def test_resources_of_another_kind_are_refused_and_not_ignored(resources):
    with pytest.raises(ValidationError, match="is no Resources"):
        AutoCoderAgent(model="openai/x", resources=resources)


@pytest.mark.parametrize("name", ["", "A=B", "1X", "PATH", "PYTHONPATH"])
def test_a_variable_that_no_solution_could_be_given_is_refused(name):
    with pytest.raises(ValidationError, match="env_vars"):
        AutoCoderAgent(model="openai/x", env_vars={name: "x"})
