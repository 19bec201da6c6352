from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from flytekit.types.structured.structured_dataset import StructuredDataset

from flyteplugins_codegen.errors import InterfaceError, RequestError, SampleError
from flyteplugins_codegen.stages.prepare import JobArguments, prepare_job

CSV = "day,mm\n2024-01-01,1.5\n"


def prepared(**arguments):
    return prepare_job(JobArguments(prompt=arguments.pop("prompt", "Sum the rain"), **arguments))


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "rain.csv"
    path.write_text(CSV)
    return path


def test_every_sample_is_a_file_input_ahead_of_the_declared_ones(sample):
    job = prepared(samples={"rain": str(sample)}, inputs={"threshold": float}, outputs={"total": "float"})
    assert job.request.inputs == {"rain": "file", "threshold": "float"}
    assert job.request.outputs == {"total": "float"}
    assert job.samples == {"rain": sample}


def test_a_sample_is_identified_by_its_content_not_by_its_path(sample, tmp_path):
    twin = tmp_path / "elsewhere" / "rain.csv"
    twin.parent.mkdir()
    twin.write_text(CSV)
    assert prepared(samples={"rain": sample}).request == prepared(samples={"rain": twin}).request


def test_a_data_frame_becomes_a_csv_file_and_is_not_changed():
    frame = pd.DataFrame({"day": ["2024-01-01"], "mm": [1.5]})
    before = frame.copy()
    job = prepared(samples={"rain": frame})
    assert job.samples["rain"].read_text() == CSV
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    "read", [pl.from_pandas, pa.Table.from_pandas, lambda frame: StructuredDataset(dataframe=frame)]
)
def test_other_frames_and_data_sets_become_csv_files_too(read):
    frame = read(pd.DataFrame({"day": ["2024-01-01"], "mm": [1.5]}))
    assert pd.read_csv(prepared(samples={"rain": frame}).samples["rain"]).to_dict("list") == {
        "day": ["2024-01-01"],
        "mm": [1.5],
    }


def test_arguments_are_never_changed(sample):
    samples, inputs, outputs = {"rain": sample}, {"threshold": float}, {"total": float}
    examples = [{"inputs": {"threshold": 1}, "outputs": {"total": 2}}]
    prepared(samples=samples, inputs=inputs, outputs=outputs, examples=examples)
    assert (samples, inputs, outputs) == ({"rain": sample}, {"threshold": float}, {"total": float})
    assert examples == [{"inputs": {"threshold": 1}, "outputs": {"total": 2}}]


@pytest.mark.parametrize(
    "name", ["../total", "a/b", "..", "", "1st", "with space", "total\n", "class", "help", "x" * 64]
)
def test_an_output_name_that_is_no_safe_file_name_is_refused(name):
    with pytest.raises(InterfaceError, match="output name"):
        prepared(outputs={name: int})


@pytest.mark.parametrize("declared", [list, "list", dict[str, int], None, pd.DataFrame])
def test_an_unsupported_type_names_the_supported_ones(declared):
    with pytest.raises(InterfaceError, match=r"output 'x': unsupported type .*str, int, float, bool, file, directory"):
        prepared(outputs={"x": declared})


def test_times_are_outputs_but_no_inputs():
    assert prepared(outputs={"at": dt.datetime, "took": "timedelta"}).request.outputs == {
        "at": "datetime",
        "took": "timedelta",
    }
    with pytest.raises(InterfaceError, match="input 'at': unsupported type"):
        prepared(inputs={"at": dt.datetime})


def test_an_input_declared_twice_is_refused(sample):
    with pytest.raises(InterfaceError, match="'rain' is declared twice"):
        prepared(samples={"rain": sample}, inputs={"rain": "file"})


@pytest.mark.parametrize(("content", "message"), [(None, "nothing.csv"), (b"", "empty")])
def test_a_missing_or_empty_sample_is_refused(tmp_path, content, message):
    path = tmp_path / "nothing.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SampleError, match="'rain'") as caught:
        prepared(samples={"rain": path})
    assert message in str(caught.value).lower()


def test_a_sample_of_an_unknown_kind_names_the_known_ones():
    with pytest.raises(SampleError, match=r"'rain': list is not supported; pass a path, a FlyteFile, .*data frame"):
        prepared(samples={"rain": [1, 2]})


def test_tests_with_a_syntax_error_name_the_line():
    with pytest.raises(RequestError, match=r"tests: .* at line 2: 'assert \(1'"):
        prepared(tests="def test_x():\n    assert (1\n")


def test_a_request_by_which_nothing_could_be_judged_is_refused(sample):
    arguments = {"samples": {"rain": sample}, "inputs": {"threshold": float}, "outputs": {"n": int}, "skip_tests": True}
    with pytest.raises(RequestError, match="without a value for threshold"):
        prepared(**arguments)
    assert prepared(**arguments, examples=[{"inputs": {"threshold": 1.0}, "outputs": {"n": 1}}])
    assert prepared(**arguments, tests="def test_mine(): ...")
    assert prepared(**arguments | {"skip_tests": False})


@pytest.mark.parametrize("tests", ["tests/test_mine.py", "x = 1\n", "def check(): assert 1\n", ""])
def test_tests_that_declare_none_are_refused_before_anything_is_spent(tests):
    with pytest.raises(RequestError, match=r"tests: no test is declared .*read_text"):
        prepared(tests=tests)


def test_an_address_is_no_path_and_the_home_folder_is_one(sample, monkeypatch):
    with pytest.raises(SampleError, match=r"pass FlyteFile\('s3://bucket/rain\.csv'\)"):
        prepared(samples={"rain": "s3://bucket/rain.csv"})
    monkeypatch.setenv("HOME", str(sample.parent))
    assert prepared(samples={"rain": "~/rain.csv"}).samples["rain"] == sample


def test_an_empty_prompt_is_refused():
    with pytest.raises(RequestError, match="prompt is empty"):
        prepared(prompt=" \n")


@pytest.mark.parametrize(
    ("example", "message"),
    [
        ({"outputs": {"totl": 1.0}}, "undeclared output 'totl'; declared outputs: total"),
        ({"inputs": {"thresh": 1}, "outputs": {"total": 1.0}}, "undeclared input 'thresh'"),
        ({"inputs": {"threshold": 1}, "outputs": {"total": "many"}}, "'many' is no float"),
        ({"inputs": {"threshold": 1}, "outputs": {"total": True}}, "True is no float"),
        ({"outputs": {}}, "at least one output"),
        ({"output": {"total": 1.0}}, "write it as"),
        ("total=1", "write it as"),
        ({"outputs": {"total": 1.0}, "inputs": {}}, "no value for input 'threshold'"),
    ],
)
def test_an_example_that_does_not_fit_names_the_value(sample, example, message):
    with pytest.raises(InterfaceError, match="example 2") as caught:
        prepared(
            samples={"rain": sample},
            inputs={"threshold": float},
            outputs={"total": float},
            examples=[{"inputs": {"threshold": 1}, "outputs": {"total": 2}}, example],
        )
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", 2**63, "64-bit"),
        pytest.param("int", 10**5000, "int with a number of more digits .* 64-bit", id="int-of-5000-digits"),
        ("int", 1.0, r"1\.0 is no int: .*float, not a int; pass a whole number"),
        ("float", 10**400, "1000.* is no float"),
        ("str", "x" * 1025, "1024 bytes.*declare a file"),
        pytest.param("str", "\ud800", "UTF-8", id="str-surrogate"),
        ("datetime", dt.datetime.fromisoformat("2024-01-31"), "2024.* has no time zone"),
        ("datetime", "yesterday", "'yesterday'.*pass a datetime"),
        ("timedelta", "soon", "'soon'.*pass a timedelta"),
        ("timedelta", dt.timedelta(days=110_000), "292 years"),
        ("file", 3, "3 is no file: it is a int; pass a path"),
        ("file", b"bytes", "it is a bytes"),
        ("file", {"base64": "no base64!"}, "not base64"),
        ("file", {"base64": 1}, "it is a mapping other than"),
        ("file", {"text": "1"}, "it is a mapping other than"),
        ("directory", "a.txt", "'a.txt' is no directory: it is a str; pass a mapping"),
        ("directory", {"a/x": "1\n", "b/x": "2\n"}, "'a/x' is in a folder of its own"),
        ("directory", {"..": "1\n"}, r"'\.\.' is empty or points to another folder"),
        ("directory", {"": "1\n"}, "is empty"),
        ("directory", {"x" * 256: "1\n"}, "longer than 255 bytes"),
        ("directory", {1: "1\n"}, "1 is a int"),
        ("directory", {}, "the folder is empty"),
        ("directory", {"a": 3}, "3 is no directory: it is a int"),
    ],
)
def test_an_output_that_no_script_could_leave_is_refused_with_its_remedy(kind, value, message):
    with pytest.raises(InterfaceError, match=f"(?s)^example 1, output 'made': .*{message}"):
        prepared(outputs={"made": kind}, examples=[{"outputs": {"made": value}}])


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("str", "a\0b", "no NUL"),
        ("str", "x" * 131_072, "131071"),
        ("int", -(2**63) - 1, "64-bit"),
        ("file", "x" * 300, "no file 'xxx.*line breaks"),
        ("file", "a\0b", "no file"),
        ("directory", {"../a": "1\n"}, r"'\.\./a' is in a folder"),
    ],
)
def test_an_input_that_no_script_could_be_given_is_refused_with_its_remedy(kind, value, message):
    with pytest.raises(InterfaceError, match=f"(?s)^example 1, input 'given': .*{message}"):
        prepared(
            inputs={"given": kind},
            outputs={"made": int},
            examples=[{"inputs": {"given": value}, "outputs": {"made": 1}}],
        )


def test_one_long_line_is_the_content_of_an_output_file():
    line = "x" * 300
    job = prepared(outputs={"made": "file"}, examples=[{"outputs": {"made": line}}])
    assert job.request.examples[0].outputs == {"made": line}


@pytest.mark.parametrize("inputs", ["threshold", 3])
def test_inputs_of_an_example_that_are_no_mapping_are_refused(inputs):
    with pytest.raises(InterfaceError, match=r"example 1 is .*write it as"):
        prepared(outputs={"made": int}, examples=[{"inputs": inputs, "outputs": {"made": 1}}])


def test_an_examples_file_travels_as_its_content(tmp_path, sample):
    binary = tmp_path / "x.bin"
    binary.write_bytes(b"\xff\x00")
    job = prepared(
        samples={"rain": sample},
        inputs={"other": "file"},
        outputs={"copy": "file"},
        examples=[
            {"inputs": {"other": str(sample)}, "outputs": {"copy": "no line break"}},
            {"inputs": {"rain": "a,b\n1,2\n", "other": binary}, "outputs": {"copy": sample}},
        ],
    )
    first, second = job.request.examples
    assert first.inputs == {"other": CSV}
    assert first.outputs == {"copy": "no line break"}
    assert second.inputs == {"rain": "a,b\n1,2\n", "other": {"base64": "/wA="}}
    assert second.outputs == {"copy": CSV}


def test_an_examples_missing_file_is_named(sample):
    with pytest.raises(InterfaceError, match=r"example 1, input 'rain': no file 'gone\.csv'"):
        prepared(
            samples={"rain": sample},
            outputs={"n": int},
            examples=[{"inputs": {"rain": "gone.csv"}, "outputs": {"n": 1}}],
        )


def test_times_in_examples_are_kept_as_a_cluster_writes_them(sample):
    at = dt.datetime(2024, 1, 31, tzinfo=dt.timezone.utc)
    job = prepared(
        samples={"rain": sample},
        outputs={"at": dt.datetime, "took": dt.timedelta},
        examples=[{"outputs": {"at": at, "took": dt.timedelta(hours=1.5)}}],
    )
    assert job.request.examples[0].outputs == {"at": "2024-01-31T00:00:00Z", "took": "1h30m0s"}
