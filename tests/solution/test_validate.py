"""Files held against their schemas when a solution runs: on this machine before it starts, in a pod by its launcher."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa
import pytest
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.data.pandera import read_schema
from flyteplugins_codegen.errors import DataError, OutputError, RequestError
from flyteplugins_codegen.portable import launcher
from flyteplugins_codegen.portable.validator import check_table
from flyteplugins_codegen.solution.task import SandboxTask

CODE = textwrap.dedent(
    """
    import argparse, shutil

    def main(argv=None):
        parser = argparse.ArgumentParser()
        parser.add_argument("--sales")
        shutil.copy(parser.parse_args(argv).sales, "/var/outputs/copy")
        open("/var/outputs/done", "w").write("true")

    if __name__ == "__main__":
        main()
    """
).lstrip()
REPLY = {"description": "d", "approach": "a", "code": CODE, "packages": [], "system_packages": []}
BROKEN = "sales: column 'quantity' must be of type integer: 1 row breaks this (row 2: 'many')"
CONSTRAINTS = ["sales.price must be positive", "copy.price is at most 100"]


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["id,quantity,price", *rows, ""]))
    return path


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> CodeGenEvalResult:
    sales = write(tmp_path_factory.mktemp("data") / "sales.csv", "1,2,3.5", "2,1,1.25")
    with ModelServer({"SolutionReply": [REPLY]}) as server:
        agent = AutoCoderAgent(model="openai/m", api_base=server.url, skip_tests=True)
        return agent.generate(
            "Copy.", samples={"sales": sales}, outputs={"copy": "file", "done": bool}, constraints=CONSTRAINTS
        )


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    return write(tmp_path / "broken.csv", "1,2,3.5", "2,many,1.25")


def test_an_input_that_breaks_its_schema_is_refused_before_anything_runs(
    result: CodeGenEvalResult, broken: Path
) -> None:
    with pytest.raises(DataError) as failure:
        result.run(sales=str(broken))
    assert BROKEN in str(failure.value)
    assert "validate='warn'" in str(failure.value)


def test_a_stated_constraint_holds_at_run_time_too(result: CodeGenEvalResult, tmp_path: Path) -> None:
    path = write(tmp_path / "negative.csv", "1,2,3.5", "2,1,-1.0")
    with pytest.raises(DataError, match="column 'price' must be more than 0: 1 row breaks this"):
        result.run(sales=str(path))


def test_by_warn_it_is_logged_and_by_off_not_looked_at(
    result: CodeGenEvalResult, broken: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "flyteplugins_codegen"):
        _, done = result.run(sales=str(broken), validate="warn", cache="disable")
        assert done
        assert BROKEN in caplog.text
        caplog.clear()
        result.run(sales=str(broken), validate="off", cache="disable")
        assert not caplog.text


def test_an_output_that_breaks_its_constraint_is_not_handed_out(result: CodeGenEvalResult, tmp_path: Path) -> None:
    path = write(tmp_path / "dear.csv", "1,2,3.5", "2,1,101.0")
    with pytest.raises(OutputError, match="copy: column 'price' must be at most 100: 1 row breaks this"):
        result.run(sales=str(path))
    assert result.run(sales=str(path), validate="off")[1]


def test_a_task_refuses_it_too(result: CodeGenEvalResult, broken: Path) -> None:
    with pytest.raises(DataError, match="must be of type integer"):
        result.as_task()(sales=str(broken))
    assert result.as_task(validate="off")(sales=str(broken))


@pytest.fixture(scope="module")
def folder(result: CodeGenEvalResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return result.save(tmp_path_factory.mktemp("saved") / "solution")


def test_a_saved_solution_keeps_its_schemas(result: CodeGenEvalResult, folder: Path) -> None:
    assert CodeGenEvalResult.load(folder).schemas == result.schemas
    assert "COPY launcher.py validator.py schemas.json solution.py /app/" in (folder / "Containerfile").read_text()
    task = SandboxTask.from_folder(
        folder, name="t", inputs={"sales": "file"}, outputs={"copy": "file", "done": "bool"}, image="i"
    )
    assert task.bundle.schemas == result.schemas


def launched(folder: Path, image: Path, sales: Path, *, validate: str) -> tuple[int, str, str]:
    """The status of a pod's command in the files of an image, its output, and the error that a cluster shows."""
    inputs, outputs = image / "inputs", image / "outputs"
    for mount in (inputs, outputs):
        mount.mkdir(parents=True)
    for name in ("launcher.py", "validator.py", "schemas.json"):
        shutil.copy(folder / name, image / name)
    (image / "solution.py").write_text((folder / "solution.py").read_text().replace("/var/outputs", str(outputs)))
    shutil.copy(sales, inputs / "sales")
    command = launcher.command_line(
        {"sales": "file"},
        {"copy": "file", "done": "bool"},
        python=sys.executable,
        launcher=str(image / "launcher.py"),
        solution=str(image / "solution.py"),
        validate=validate,
    )
    places = {launcher.INPUTS_VARIABLE: str(inputs), launcher.OUTPUTS_VARIABLE: str(outputs)}
    ran = subprocess.run(
        command, env={"PATH": os.environ["PATH"], **places}, capture_output=True, text=True, check=False
    )
    error = outputs / "_ERROR"
    return ran.returncode, ran.stderr, error.read_text() if error.exists() else ""


def test_in_a_pod_the_launcher_refuses_and_the_cluster_shows_why(folder: Path, broken: Path, tmp_path: Path) -> None:
    status, _, error = launched(folder, tmp_path / "a", broken, validate="strict")
    assert (status, error) == (launcher.DATA_ERROR, f"{BROKEN}\nThe script was not started.")
    assert not (tmp_path / "a" / "outputs" / "done").exists()
    status, output, error = launched(folder, tmp_path / "b", broken, validate="warn")
    assert (status, error) == (0, "")
    assert f"launcher: warning: {BROKEN}" in output


def test_in_a_pod_outputs_are_held_against_their_schema(folder: Path, tmp_path: Path) -> None:
    dear = write(tmp_path / "dear.csv", "1,2,3.5", "2,1,101.0")
    status, _, error = launched(folder, tmp_path / "a", dear, validate="strict")
    assert status == launcher.OUTPUT_ERROR
    assert "must be at most 100" in error


def test_a_candidate_whose_output_breaks_a_constraint_is_repaired(tmp_path: Path) -> None:
    sales = write(tmp_path / "sales.csv", "1,2,3.5")
    wrong = CODE.replace(
        'shutil.copy(parser.parse_args(argv).sales, "/var/outputs/copy")',
        'open("/var/outputs/copy", "w").write("price\\n900\\n")',
    )
    nothing: dict[str, Any] = {"edits": [], "test_code": None, "packages": [], "system_packages": []}
    repair = {"cause": "c", "error_type": "logic", "code": CODE, **nothing}
    with ModelServer({"SolutionReply": [REPLY | {"code": wrong}], "RepairReply": [repair]}) as server:
        agent = AutoCoderAgent(model="openai/m", api_base=server.url, skip_tests=True)
        repaired = agent.generate(
            "Copy.", samples={"sales": sales}, outputs={"copy": "file", "done": bool}, constraints=CONSTRAINTS
        )
        asked = json.dumps(server.calls[1].body)
    assert repaired.success
    assert repaired.attempt_history[0].cause.kind == "invalid_output"
    assert "column 'price' must be at most 100" in asked


REPORT = pa.DataFrameSchema(
    {
        "price": pa.Column(float, [pa.Check.in_range(0, 100, include_max=False), pa.Check.ne(50)], nullable=True),
        "quantity": pa.Column(int, pa.Check.isin([1, 2])),
        "name": pa.Column(str, [pa.Check.str_matches("[A-Z]"), pa.Check.str_length(2, 3)], required=False, unique=True),
    }
)


def test_a_pandera_schema_of_the_users_own_is_held_to(tmp_path: Path) -> None:
    table = read_schema("report", REPORT).for_validator()
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("price,quantity,name\n99.5,1,Abc\n,2,Bcd\n")
    bad.write_text("price,quantity,name\n100,1,Abc\n50,3,bcd\n1,2.5,Abc\n2,1,Long\n")
    assert not check_table(good, table)
    REPORT.validate(pd.read_csv(good))
    assert {(flaw.column, flaw.check): [number for number, _ in flaw.rows] for flaw in check_table(bad, table)} == {
        ("price", "between 0 and 100, 100 excluded"): [1],
        ("price", "none of 50"): [2],
        ("quantity", "of type integer"): [3],
        ("quantity", "one of 1, 2"): [2, 3],
        ("name", "matches (?:[A-Z])[\\s\\S]*"): [2],
        ("name", "between 2 and 3 characters long"): [4],
        ("name", "unique"): [3],
    }


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            pa.DataFrameSchema({"a": pa.Column(int, pa.Check(lambda column: column > 0, name="mine"))}),
            "'mine', which is code",
        ),
        (pa.DataFrameSchema({"a": pa.Column(str, pa.Check.str_matches("(a+)+b"))}), "repeats a repetition"),
        ("import pandera", "str is no schema"),
        ({"columns": [{"name": "a", "type": "money"}]}, "columns.0.type"),
    ],
)
def test_a_schema_that_cannot_be_taken_over_says_why(schema: Any, message: str) -> None:
    with pytest.raises(RequestError, match=re.escape(message)):
        read_schema("report", schema)


def test_a_sample_that_breaks_the_users_schema_is_told_before_anything_is_spent(tmp_path: Path) -> None:
    sales = write(tmp_path / "sales.csv", "1,2,3.5", "2,7,1.25")
    with ModelServer({}) as server, pytest.raises(DataError, match="quantity' must be one of 1, 2: 1 row breaks this"):
        AutoCoderAgent(model="openai/m", api_base=server.url).generate(
            "Copy.", samples={"sales": sales}, outputs={"done": bool}, schemas={"sales": REPORT}
        )
    assert not server.calls
