"""Using a result: running it, making a task of it, saving and loading it."""

from __future__ import annotations

import asyncio
import datetime as dt
import html
import runpy
import textwrap
from pathlib import Path

import pytest
from flytekit import task, workflow
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile
from model_server import ModelServer
from storied_run import told_run

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.errors import (
    InterfaceError,
    NotSuccessfulError,
    OutputError,
    RequestError,
    SolutionFailedError,
)
from flyteplugins_codegen.models.settings import Resources, SecretReference
from flyteplugins_codegen.solution.task import SandboxTask
from flyteplugins_codegen.stages.actions import Driven, Finish

CODE = textwrap.dedent(
    """
    import argparse, os, sys

    def main(argv=None):
        parser = argparse.ArgumentParser()
        for name in ("rain", "name", "timeout", "scale", "strict"):
            parser.add_argument("--" + name, required=True)
        given = parser.parse_args(argv)
        rows = open(given.rain).read().split()[1:]
        if given.name == "fail":
            sys.exit("the name is fail")
        if given.name != "forget":
            open("/var/outputs/told", "w").write(f"{given.name} {given.timeout} {given.strict}")
        open("/var/outputs/total", "w").write("many" if given.name == "mistype" else str(sum(map(float, rows))))
        open("/var/outputs/at", "w").write("2024-01-31T12:00:00+02:00")
        open("/var/outputs/took", "w").write("90m")
        open("/var/outputs/copy", "w").write(open(given.rain).read())
        os.mkdir("/var/outputs/parts")
        for number, row in enumerate(rows):
            open(f"/var/outputs/parts/{number}.txt", "w").write(row)

    if __name__ == "__main__":
        main()
    """
).lstrip()
INPUTS = {"name": str, "timeout": int, "scale": float, "strict": bool}
OUTPUTS = {
    "told": str,
    "total": float,
    "at": dt.datetime,
    "took": dt.timedelta,
    "copy": FlyteFile,
    "parts": FlyteDirectory,
}
GIVEN = {"name": "n", "timeout": 3, "scale": 0.5, "strict": True}


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("samples") / "rain.txt"
    path.write_text("mm\n1.5\n2.0\n")
    return path


@pytest.fixture(scope="module")
def result(sample):
    reply = {"description": "d", "approach": "a", "code": CODE, "packages": [], "system_packages": []}
    with ModelServer({"SolutionReply": [reply]}) as server:
        agent = AutoCoderAgent(model="openai/x", api_base=server.url, name="rain-maker", skip_tests=True)
        made = agent.generate(
            "Tell the rain",
            samples={"rain": sample},
            inputs=INPUTS,
            outputs=OUTPUTS,
            examples=[
                {"inputs": GIVEN, "outputs": {"total": 3.5, "told": "n 3 true", "took": dt.timedelta(hours=1.5)}}
            ],
        )
    assert made.success, made.output
    return made


@pytest.fixture(scope="module")
def failed(sample):
    reply = {
        "description": "d",
        "approach": "a",
        "code": "raise SystemExit(3)\n",
        "packages": [],
        "system_packages": [],
    }
    with ModelServer({"SolutionReply": [reply]}) as server:
        agent = AutoCoderAgent(model="openai/x", api_base=server.url, skip_tests=True, max_iterations=1)
        return agent.generate("Tell the rain", samples={"rain": sample}, outputs={"total": float})


def test_run_returns_typed_outputs_in_declared_order(result):
    told, total, at, took, copy, parts = result.run(inputs=GIVEN)
    assert (told, total) == ("n 3 true", 3.5)
    assert at == dt.datetime(2024, 1, 31, 10, tzinfo=dt.timezone.utc)
    assert took == dt.timedelta(hours=1.5)
    assert isinstance(copy, FlyteFile)
    assert Path(copy).read_text() == "mm\n1.5\n2.0\n"
    assert isinstance(parts, FlyteDirectory)
    assert sorted(path.name for path in Path(parts).iterdir()) == ["0.txt", "1.txt"]


def test_run_takes_other_files_and_can_be_awaited(result, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("mm\n4\n")
    _, total, *_ = asyncio.run(result.run.aio(rain=other, scale=1.0, strict=False, inputs={"name": "x", "timeout": 1}))
    assert total == 4.0


def test_a_file_that_changed_in_place_is_read_anew(result, tmp_path):
    path = tmp_path / "rain.txt"
    totals = []
    for text in ("mm\n1\n", "mm\n2\n"):
        path.write_text(text)
        totals.append(result.run(rain=str(path), inputs=GIVEN)[1])
    assert totals == [1.0, 2.0]


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("fail", SolutionFailedError, "the name is fail"),
        ("forget", OutputError, "told"),
        ("mistype", OutputError, "total"),
    ],
)
def test_a_script_that_breaks_its_contract_raises_with_its_reason_and_returns_nothing(result, name, error, told):
    with pytest.raises(error, match=told) as caught:
        result.run(inputs={**GIVEN, "name": name})
    assert "rain" in str(caught.value) or "run_code" in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ({}, "input 'name' .* has no value"),
        ({**GIVEN, "colour": 1}, "no input 'colour'; declared inputs: rain, name"),
        ({**GIVEN, "timeout": "soon"}, "input 'timeout'"),
        ({**GIVEN, "rain": "gone.csv"}, r"input 'rain': there is no file at .*gone\.csv"),
    ],
)
def test_an_input_that_is_missing_unknown_or_mistyped_is_named(result, inputs, told):
    with pytest.raises(InterfaceError, match=told):
        result.run(inputs=inputs)


def test_as_task_is_called_directly_and_composed_in_a_workflow(result, tmp_path):
    tell_rain = result.as_task("tell_rain")
    assert isinstance(tell_rain, SandboxTask)
    assert tell_rain(**GIVEN).total == 3.5

    @task
    def double(value: float) -> float:
        return value * 2

    @workflow
    def twice(rain: FlyteFile) -> float:
        return double(value=tell_rain(rain=rain, **GIVEN).total)

    other = tmp_path / "other.txt"
    other.write_text("mm\n10\n")
    assert twice(rain=FlyteFile(str(other))) == 20.0


def test_types_are_real_to_the_caller_and_names_on_the_wire(result):
    assert result.declared_outputs == OUTPUTS
    assert result.declared_inputs == {"rain": FlyteFile, **INPUTS}
    assert result.model_dump(mode="json")["declared_outputs"]["took"] == "timedelta"


def test_a_result_survives_json_and_a_folder(result, tmp_path):
    again = CodeGenEvalResult.model_validate_json(result.model_dump_json())
    assert again.model_dump_json() == result.model_dump_json()
    folder = result.save(tmp_path / "folder")
    loaded = CodeGenEvalResult.load(folder)
    assert loaded.model_dump_json() == result.model_dump_json()
    assert loaded.run(inputs=GIVEN)[1] == 3.5
    assert {path.name for path in folder.iterdir()} == {
        "solution.py",
        "task.py",
        "launcher.py",
        "requirements.txt",
        "Containerfile",
        "report.html",
        "result.json",
    }


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {
            "sandbox": "bubblewrap",
            "resources": Resources(cpu="2", gpu="1"),
            "timeout_s": 90.5,
            "env_vars": {
                "LANG": "C.UTF-8",
                "GREETING": 'a "quoted" \\ \n é \N{CLOUD WITH RAIN}\N{UMBRELLA} {name} \U0001f327',
            },
            "secrets": (SecretReference(key="TOKEN", group="team"), SecretReference(key="KEY", group="other")),
        },
    ],
)
def test_the_saved_task_runs_as_the_solution_was_judged(result, tmp_path, settings):
    judged = result.model_copy(update={"settings": result.settings.model_copy(update=settings)})
    saved = runpy.run_path(str(judged.save(tmp_path) / "task.py"))["rain_maker"]
    task = judged.as_task("rain-maker")
    assert saved.options == task.options
    assert saved.security_context == task.security_context
    assert saved.bundle.inputs == task.bundle.inputs


def test_a_result_crosses_a_task_boundary(result):
    @task
    def pass_on(given: CodeGenEvalResult) -> CodeGenEvalResult:
        return given

    received = pass_on(given=result)
    assert received.success
    assert received.declared_outputs == OUTPUTS
    assert received.solution == result.solution


def test_a_failed_result_says_what_failed_and_can_be_saved(failed, tmp_path):
    assert not failed.success
    assert failed.exit_code == 3
    for call in (failed.run, failed.as_task):
        with pytest.raises(NotSuccessfulError, match="status 3"):
            call()
    folder = failed.save(tmp_path)
    assert (folder / "solution.py").read_text() == "raise SystemExit(3)\n"
    assert not (folder / "task.py").exists()
    assert not CodeGenEvalResult.load(folder).success


def test_saving_over_another_solution_leaves_nothing_of_it(result, failed, tmp_path):
    result.save(tmp_path)
    failed.save(tmp_path)
    assert not (tmp_path / "task.py").exists()


def test_a_save_that_breaks_off_leaves_no_folder_that_loads(result, failed, tmp_path):
    result.save(tmp_path)
    (tmp_path / "report.html").unlink()
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        failed.save(tmp_path)
    with pytest.raises(RequestError, match="no saved result"):
        CodeGenEvalResult.load(tmp_path)


def test_a_result_is_loaded_though_its_sample_is_no_longer_there(result, sample, tmp_path):
    folder = result.save(tmp_path / "folder")
    text = (folder / "result.json").read_text()
    (folder / "result.json").write_text(text.replace(str(sample), "/no/such/rain.txt"))
    loaded = CodeGenEvalResult.load(folder)
    assert loaded.run(rain=sample, inputs=GIVEN)[1] == 3.5
    with pytest.raises(InterfaceError, match=r"input 'rain': there is no file at /no/such/rain\.txt"):
        loaded.run(inputs=GIVEN)


def test_loading_from_a_folder_without_a_result_says_so(tmp_path):
    with pytest.raises(RequestError, match=r"result\.json: no saved result"):
        CodeGenEvalResult.load(tmp_path)


def test_a_notebook_shows_the_page_of_the_folder_in_a_frame(result, tmp_path):
    page = (result.save(tmp_path) / "report.html").read_text()
    shown = result._repr_html_()
    assert shown.startswith("<iframe ")
    assert html.unescape(shown.partition('srcdoc="')[2].rpartition('" style=')[0]) == page
    assert "rain.txt" in page
    assert "pyflyte run task.py rain_maker --rain FILE --name STR" in page


def test_the_page_tells_all_of_the_run_that_a_result_is_made_from(monkeypatch):
    run, shown = told_run().run, []
    monkeypatch.setattr("flyteplugins_codegen.stages.report.page.render_page", lambda told: shown.append(told) or "")
    driven = Driven(run=run, finish=Finish(success=True, reason="attempt 3 passed"), calls=run.calls)
    CodeGenEvalResult.from_run(driven, {"sales": "sales.csv"})._repr_html_()
    assert shown[0].run == run
    assert (shown[0].chosen, shown[0].error, shown[0].task_name) == (3, None, "revenue")
