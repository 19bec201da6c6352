"""What a user sees at the terminal: help that reads, a request from a file, wrong input reported in one line."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest
import row_count_job as job
import yaml
from flyte_admin import FlyteAdmin
from flytekit.core.type_engine import TypeEngine
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent, load_solution
from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.flyte.launch import configured_agent
from flyteplugins_codegen.flyte.tasks import extract_context, finish, register_solution, run_tests
from flyteplugins_codegen.flyte.workflow import configure_and_take_stages, generate, generate_with, prepare
from flyteplugins_codegen.models.settings import Settings

ROOT = Path(__file__).parents[2]
PARTS_OF_AN_EVALUATION = {
    *("gather_evaluation", "join_samples", "judge_part", "judge_parts"),
    *("plan_sampling", "sample_chunk", "sample_chunks", "split_evaluation"),
}
GENERATE = ("run", str(ROOT / "workflows" / "generate.py"), "generate")


def text_of(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": {"a": "gone.csv"}}, "--samples: there is no file 'gone.csv'"),
        ({"samples": {"a": 1}}, "--samples: .*<class 'int'> to FlyteFile"),
        ({"outputs": "nojson"}, "--outputs: Value nojson is not of type"),
        ({"outputs": ["n"]}, r"--outputs: Value \['n'\] is not of type"),
        ({"max_iterations": "many"}, "--max_iterations: .*many"),
        ({"prompt": 3}, "--prompt: "),
    ],
)
def test_input_that_cannot_be_converted_is_reported_by_its_option(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        generate(**{"prompt": "p", "model": "replay:none", **wrong})
    # Nothing below it is printed.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "\n" not in str(caught.value)


def test_a_missing_option_is_reported_with_its_description() -> None:
    with pytest.raises(RequestError, match="--model is missing: openai/NAME, anthropic/NAME"):
        generate(prompt="p")


def test_help_says_each_thing_once() -> None:
    assert generate.__doc__ is not None
    assert "Turn a prompt and sample data into tested code" in generate.__doc__
    assert "Args:" not in generate.__doc__
    assert generate.interface.inputs["prompt"].description == "the job in words"


def test_every_setting_of_an_agent_is_an_option() -> None:
    of_the_job = set(generate_with.python_interface.inputs) - {"agent"}
    assert set(generate.python_interface.inputs) == of_the_job | set(Settings.model_fields)
    assert configure_and_take_stages.python_interface.inputs == generate.python_interface.inputs


def test_every_setting_arrives() -> None:
    given = {
        "resources": {"cpu": "2", "mem": "3Gi"},
        "env_vars": {"LANG": "C.UTF-8"},
        "secrets": [{"group": "team", "key": "TOKEN"}],
        "system_prompt": "You count.",
        "private_rows": 9,
        "sandbox_retries": 2,
    }
    options = {name: default for name, (_, default) in generate.python_interface.inputs_with_defaults.items()}
    made = configured_agent({**options, **given, "model": "openai/any"})
    expected = AutoCoderAgent.model_validate({"model": "openai/any", **given})
    assert made.model_dump() == expected.model_dump()


@pytest.mark.parametrize("script", ["evaluate", "generate", "implement", "profile"])
def test_every_option_of_a_stage_says_what_it_is(script: str) -> None:
    """flytekit describes an option that nobody described by its own name."""
    module = runpy.run_path(str(ROOT / "workflows" / f"{script}.py"))
    entities = {name: module[name] for name in module["__all__"] if name not in PARTS_OF_AN_EVALUATION}
    undescribed = {
        f"{name} --{option}"
        for name, entity in entities.items()
        for option, variable in entity.interface.inputs.items()
        if variable.description == option
    }
    assert not undescribed


def test_a_state_is_printed_as_the_next_stage_takes_it(tmp_path: Path) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    agent = AutoCoderAgent(model="openai/any")
    state = prepare(agent=agent, prompt="p", samples={"table": str(table)}, outputs=job.OUTPUTS)
    again = type(state).model_validate_json(str(state))
    assert extract_context(state=again, samples={"table": str(table)}).run.context is not None


@pytest.mark.parametrize("entity", [run_tests, finish, register_solution])
def test_a_value_of_ours_takes_few_words_in_help_and_specs(entity: Any) -> None:
    variables = [*entity.interface.inputs.values(), *entity.interface.outputs.values()]
    assert all(len(variable.type.to_flyte_idl().SerializeToString()) < 1_500 for variable in variables)
    # What a client that has fetched the task takes for it.
    assert TypeEngine.guess_python_type(variables[0].type) is dict


def test_a_wrong_option_ends_in_one_line_and_the_logging_level_shows_where(pyflyte: Any) -> None:
    command = (*GENERATE, "--prompt", "p", "--model", "replay:none", "--samples", '{"a": "gone.csv"}')
    failed = pyflyte.run(*command)
    assert failed.returncode == 1
    assert failed.stdout.splitlines()[1:] == [
        "RequestError: --samples: there is no file 'gone.csv'; --help shows what it takes"
    ]
    pyflyte.environment["FLYTE_SDK_LOGGING_LEVEL"] = "10"
    told = text_of(pyflyte.run(*command))
    assert "Traceback (most recent call last)" in told
    assert "_converted" in told  # the frame, whose line may be broken before the name


def test_a_request_in_a_file_is_run_and_its_solution_registered(pyflyte: Any, tmp_path: Path) -> None:
    table = job.write_table(tmp_path / "table.csv", rows=3)
    with ModelServer({"SolutionReply": [job.solution()], "TestsReply": [job.TESTS]}) as server, FlyteAdmin() as admin:
        request = {
            "prompt": "count by a file",
            "model": "openai/any",
            "api_base": server.url,
            "name": "file-counter",
            "samples": {"table": str(table)},
            "outputs": job.OUTPUTS,
            "image_config": {"registry": "registry.example/team", "builder": "none"},
            "register": True,
        }
        (tmp_path / "request.yaml").write_text(yaml.safe_dump(request))
        admin.write_config(Path(pyflyte.environment["HOME"]))
        done = pyflyte.run(*GENERATE, "--inputs-file", "request.yaml")
        assert done.returncode == 0, text_of(done)
        (task,) = admin.tasks
        assert f"registered: flytesnacks:development:file-counter:{task.id.version} (http://" in done.stderr
        assert load_solution("file-counter", admin.remote()).prompt == "count by a file"
