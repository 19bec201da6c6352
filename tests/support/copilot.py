"""What Flyte's co-pilot does around a raw container, written anew from its rules: literals in, files, literals out.

In a cluster these are two containers beside the main one: the first lays the inputs out under /var/inputs, the second
reads /var/outputs after the main one ended. Here the main container is run by podman, held as its pod's spec says.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

from flyteidl.core import literals_pb2, types_pb2
from flyteidl.core.tasks_pb2 import TaskTemplate
from google.protobuf.json_format import MessageToDict

MAX_SIMPLE_BYTES, MAX_ERROR_BYTES = 1024, 1 << 20
_INT64 = 2**63
_BOOLS = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True)
_BOOLS |= dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False)
_UNITS_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


class TaskFailedError(Exception):
    """The node fails; the text is what its error shows."""


def run_task(template: TaskTemplate, inputs: literals_pb2.LiteralMap, folder: Path) -> literals_pb2.LiteralMap:
    """The outputs of a raw-container task. Raises TaskFailedError where the node would fail."""
    into, out, store = folder / "inputs", folder / "outputs", folder / "store"
    for made in (into, out, store):
        made.mkdir(parents=True)
    out.chmod(0o777)  # as a volume of Kubernetes has it
    lay_out(inputs, into)
    status, said = _run_main(template, into, out)
    error = out / "_ERROR"
    if error.exists():
        raise TaskFailedError(error.read_bytes()[:MAX_ERROR_BYTES].decode())
    if status != 0:
        raise TaskFailedError(f"exit status {status}: {said}")
    return collect(template.interface.outputs, out, store)


# --- inputs -----------------------------------------------------------------------------------------------------------


def lay_out(inputs: literals_pb2.LiteralMap, folder: Path) -> None:
    """Every input as a file or folder of its name, and all of them as JSON beside."""
    for name, literal in inputs.literals.items():
        scalar = literal.scalar
        if scalar.HasField("blob"):
            _download(scalar.blob, folder / name)
        else:
            (folder / name).write_text(_text(scalar.primitive), encoding="utf-8", newline="")
    (folder / "inputs.json").write_text(json.dumps(MessageToDict(inputs)))


def _download(blob: literals_pb2.Blob, target: Path) -> None:
    if blob.metadata.type.dimensionality == types_pb2.BlobType.MULTIPART:
        shutil.copytree(blob.uri, target)
    else:
        shutil.copyfile(blob.uri, target)


def _text(value: literals_pb2.Primitive) -> str:
    kind = value.WhichOneof("value")
    if kind == "float_value":
        return _float_text(value.float_value)
    if kind == "boolean":
        return "true" if value.boolean else "false"
    return str(getattr(value, kind))


def _float_text(value: float) -> str:
    """Go's `FormatFloat(v, 'f', -1, 64)`: the shortest digits, never an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits = format(Decimal(repr(value)), "f")
    return digits.removesuffix(".0")


# --- the main container -----------------------------------------------------------------------------------------------


def _run_main(template: TaskTemplate, into: Path, out: Path) -> tuple[int, str]:
    pod = MessageToDict(template.k8s_pod.pod_spec)
    (main,) = (part for part in pod["containers"] if part["name"] == template.config["primary_container_name"])
    data = template.k8s_pod.data_config
    command = [
        *("podman", "--runtime", "runc", "run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024"),
        *("--ulimit", "nproc=4096:4096"),
        *_security(main["securityContext"]),
        *(f"--tmpfs={mount['mountPath']}:rw,mode=1777" for mount in main["volumeMounts"]),
        *(f"--env={variable['name']}={variable['value']}" for variable in main["env"]),
        *(f"--volume={into}:{data.input_path}", f"--volume={out}:{data.output_path}"),
        *("--entrypoint", json.dumps(main["command"]), main["image"]),
    ]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=120)
    return done.returncode, done.stderr


def _security(context: dict[str, Any]) -> list[str]:
    """podman's flags for what a cluster's runtime would do."""
    flags = [f"--user={context['runAsUser']:.0f}:{context['runAsGroup']:.0f}"]
    flags += [f"--cap-drop={name}" for name in context["capabilities"]["drop"]]
    flags += ["--read-only", "--read-only-tmpfs=false"] * context["readOnlyRootFilesystem"]
    return flags + ["--security-opt=no-new-privileges"] * (not context["allowPrivilegeEscalation"])


# --- outputs ----------------------------------------------------------------------------------------------------------


def collect(declared: Any, folder: Path, store: Path) -> literals_pb2.LiteralMap:
    """The declared outputs as literals. Raises TaskFailedError for one that is missing or cannot be read."""
    outputs = literals_pb2.LiteralMap()
    for name, variable in declared.variables.items():
        path = folder / name
        if not path.exists():
            raise TaskFailedError(f"failed to find output {name}")
        if variable.type.HasField("blob"):
            outputs.literals[name].scalar.blob.CopyFrom(_upload(path, variable.type.blob, store / name))
        else:
            _read_simple(path, variable.type.simple, outputs.literals[name].scalar.primitive)
    return outputs


def _upload(path: Path, kind: types_pb2.BlobType, target: Path) -> literals_pb2.Blob:
    multipart = kind.dimensionality == types_pb2.BlobType.MULTIPART
    if path.is_dir() != multipart:
        raise TaskFailedError(f"{path.name} is a {'folder' if path.is_dir() else 'file'}")
    if multipart:
        target.mkdir()
        for file in (entry for entry in path.rglob("*") if entry.is_file()):
            shutil.copyfile(file, target / file.name)  # flat: the folders between are lost
    else:
        shutil.copyfile(path, target)
    return literals_pb2.Blob(metadata=literals_pb2.BlobMetadata(type=kind), uri=str(target))


def _read_simple(path: Path, kind: int, into: literals_pb2.Primitive) -> None:
    if path.stat().st_size > MAX_SIMPLE_BYTES:
        raise TaskFailedError(f"{path.name} is larger than {MAX_SIMPLE_BYTES} bytes")
    try:
        _READERS[kind](path.read_bytes().decode().strip(" \n\t"), into)
    except (ValueError, OverflowError) as error:
        raise TaskFailedError(f"{path.name}: {error}") from error


def _read_int(text: str, into: literals_pb2.Primitive) -> None:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"ParseInt: {text!r}")
    into.integer = int(text)


def _read_float(text: str, into: literals_pb2.Primitive) -> None:
    if not re.fullmatch(r"(?i)[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?inf(?:inity)?|nan", text):
        raise ValueError(f"ParseFloat: {text!r}")
    if math.isinf(float(text)) and "inf" not in text.lower():
        raise ValueError(f"ParseFloat: {text!r} is out of range")
    into.float_value = float(text)


def _read_bool(text: str, into: literals_pb2.Primitive) -> None:
    if text not in _BOOLS:
        raise ValueError(f"ParseBool: {text!r}")
    into.boolean = _BOOLS[text]


def _read_str(text: str, into: literals_pb2.Primitive) -> None:
    into.string_value = text


def _read_datetime(text: str, into: literals_pb2.Primitive) -> None:
    if not re.fullmatch(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})", text
    ):
        raise ValueError(f"RFC 3339: {text!r}")
    into.datetime.FromDatetime(dt.datetime.fromisoformat(text))


def _read_duration(text: str, into: literals_pb2.Primitive) -> None:
    found = re.fullmatch(r"([+-]?)((?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|ms|s|m|h))+)", text)
    if not found and text not in {"0", "+0", "-0"}:
        raise ValueError(f"ParseDuration: {text!r}")
    parts = re.findall(r"([0-9.]+)([a-zµ]+)", found[2]) if found else []
    total_ns = int(sum(Decimal(number) * _UNITS_NS[unit] for number, unit in parts))
    if total_ns >= _INT64:
        raise ValueError(f"ParseDuration: {text!r} is out of range")
    into.duration.FromNanoseconds(-total_ns if found and found[1] == "-" else total_ns)


_READERS = {
    types_pb2.INTEGER: _read_int,
    types_pb2.FLOAT: _read_float,
    types_pb2.BOOLEAN: _read_bool,
    types_pb2.STRING: _read_str,
    types_pb2.DATETIME: _read_datetime,
    types_pb2.DURATION: _read_duration,
}
