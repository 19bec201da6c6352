"""Runs a solution the same way on this machine and in a pod, and checks its outputs.

    python /app/launcher.py --input weather:file --output rainy_days:int --validate strict /app/solution.py

One file, standard library only: the package imports it, and a solution's image contains it as a script. It reads the
inputs that the co-pilot of a Flyte cluster writes to /var/inputs (simple values as text, files without an extension,
folders), runs `python solution.py --name value ...`, passes stdout and stderr through, and checks every declared output
by the rules of co-pilot. With `--validate strict` or `warn`, the `validator.py` beside it checks files against the
schemas in `schemas.json`: inputs before the script starts, outputs after it has ended. On a failure it writes
`/var/outputs/_ERROR`, which a cluster shows as the task's error, and ends with the script's status, or with
`INPUT_ERROR`, `OUTPUT_ERROR` or `DATA_ERROR`; in a solution's pod with the status that `FLYTE_CODEGEN_FAILURE_STATUS`
names (`FAILURE_STATUS` says why).

The rules (flytecopilot `data/upload.go`, flyteidl `MakeLiteralForSimpleType`), including the surprising ones:

- A simple value's file holds at most 1,024 bytes, before trimming; only spaces, tabs and newlines are trimmed (a
  carriage return is not); it is UTF-8.
- int: Go `strconv.ParseInt(s, 10, 64)`: `+5` and `007` pass; `3.0`, `1_000`, `0x10` and digits of other scripts fail.
- float: Go `strconv.ParseFloat(s, 64)`: `1_000.5`, `0x1p-2`, `.5`, `5.`, `Infinity`, `nan` pass; `+nan`, `0x10`, `1,5`
  fail, and so does `1e400`, which is out of range, while `1e-400` is 0.
- bool: Go `strconv.ParseBool`: 1 t T TRUE true True 0 f F FALSE false False, and nothing else.
- datetime: Go `time.Parse(time.RFC3339, s)`: a zone is required, the `T` and the `Z` are capitals; one digit for the
  hour, a comma before the fraction and offsets up to 24:60 pass; a leap second fails. Years 1 to 9999 (protobuf).
- timedelta: Go `time.ParseDuration`: `1h30m`, `-1.5h`, `.5s`, `0`, `3us`; no spaces, no days; +-292 years.
- Values are cut to microseconds, the resolution of Python's types.
- directory: co-pilot uploads a folder flat, so a nested file would lose its folder; it is refused here.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, NamedTuple

INPUTS_VARIABLE: Final = "FLYTE_CODEGEN_INPUTS"
OUTPUTS_VARIABLE: Final = "FLYTE_CODEGEN_OUTPUTS"
FAILURE_VARIABLE: Final = "FLYTE_CODEGEN_FAILURE_STATUS"
FAILURE_STATUS: Final = 247
"""Exit status of a failure that no retry helps, where a cluster reads it.

Flyte's `DemystifyFailure` takes a pod that ended with a status it does not know for one that was interrupted, and tries
it three more times, whatever the task's retries. 137 and 247 are the two that it counts as the task's own failure. With
status 0, co-pilot's report of `_ERROR` is lost: it is written to `errors.pb` and looked for in `error.pb` (1.16.8).
"""
MAX_TEXT_BYTES: Final = 1024
INPUT_ERROR: Final = 120
"""Exit status if an input is missing or not of its type; the script was not started."""
OUTPUT_ERROR: Final = 121
"""Exit status if the script succeeded but an output is missing, not of its type, or violates its schema."""
DATA_ERROR: Final = 122
"""Exit status if an input file violates its schema; the script was not started."""
VALIDATE_OPTION: Final = "--validate"
SCHEMAS_FILE: Final = "schemas.json"

_TRIMMED: Final = " \n\t"
_EXCERPT_CHARS: Final = 60
_LONGEST_ARGUMENT_BYTES: Final = 131_071  # Linux's MAX_ARG_STRLEN without the final zero
_ERROR_FILE: Final = "_ERROR"
_STDERR_TAIL_BYTES: Final = 16_384
_DRAIN_S: Final = 0.5

# --- values as text ---------------------------------------------------------------------------------------------------

_INT: Final = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+\Z")
_SPECIAL: Final = re.compile(r"(?:[+-]?(?:inf|infinity)|nan)\Z", re.IGNORECASE)
# Go allows an underscore between two digits, or between the prefix 0x and a digit.
_STRAY_UNDERSCORE: Final = re.compile(r"(?<![0-9])_|_(?![0-9])")
_STRAY_HEX_UNDERSCORE: Final = re.compile(r"(?<![0-9a-fA-FxX])_|_(?![0-9a-fA-F])")
_DATETIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(Z|([+-])(\d\d):(\d\d))\Z", re.ASCII
)
_DURATION: Final = re.compile(r"([+-]?)((?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)\Z")
_DURATION_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_NANOSECONDS: Final = MappingProxyType(
    {
        "ns": 1,
        "us": 10**3,
        "\u00b5s": 10**3,
        "\u03bcs": 10**3,
        "ms": 10**6,
        "s": 10**9,
        "m": 60 * 10**9,
        "h": 3600 * 10**9,
    }
)
_BOOLS: Final = MappingProxyType(
    dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True)
    | dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False)
)
_LARGEST_INT64: Final = 2**63 - 1
_HIGHEST_OFFSET: Final = (24, 60)


def parse_value(text: str, type_name: str) -> Any:
    """The value that a cluster reads from this text: str, int, float, bool, datetime (in UTC) or timedelta.

    Raises ValueError that shows the beginning of the text and says what is wrong and what to write instead.
    """
    return _codec(type_name).parse(text.strip(_TRIMMED))


def parse_output(content: bytes, type_name: str) -> Any:
    """The value that a cluster reads from the content of a simple output's file. Raises ValueError as `parse_value`."""
    if len(content) > MAX_TEXT_BYTES:
        raise ValueError(
            f"it holds more than {MAX_TEXT_BYTES} bytes, the most that a cluster reads of a {type_name}; "
            "shorten it, or declare the output as a file"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text ({error.reason} at byte {error.start}); write it as UTF-8") from None
    return parse_value(text, type_name)


def format_value(value: Any, type_name: str) -> str:
    """The text that a cluster writes to /var/inputs for this value, and reads from /var/outputs as the same value.

    Datetimes are RFC 3339 in UTC, timedeltas are Go durations. Raises ValueError for a value that is not of the type or
    out of its range, and for a datetime without a zone.
    """
    codec = _codec(type_name)
    if not isinstance(value, codec.accepts) or (isinstance(value, bool) and type_name != "bool"):
        raise ValueError(f"{_excerpt(value)} is a {type(value).__name__}, not a {type_name}")
    return codec.format(value)


def _parse_str(text: str) -> str:
    return text


def _parse_int(text: str) -> int:
    if not _INT.match(text):
        raise ValueError(f"{_excerpt(text)} is not a whole number in base 10; write str(int(value)), such as '42'")
    return _checked_int(int(text) if len(text) < MAX_TEXT_BYTES else 2**64)


def _checked_int(value: int) -> int:
    if not -_LARGEST_INT64 - 1 <= value <= _LARGEST_INT64:
        raise ValueError(f"{_excerpt(value)} does not fit a 64-bit integer; declare it as a str or a float")
    return value


def _parse_float(text: str) -> float:
    digits = text.replace("_", "")
    if not _is_go_float(text, digits):
        raise ValueError(f"{_excerpt(text)} is not a number; write repr(float(value)), such as '2.5'")
    if _SPECIAL.match(digits):
        return float(digits)
    value = _from_digits(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(
            f"{_excerpt(text)} does not fit a 64-bit float; write a smaller number, or 'inf' where you mean it"
        )
    return value


def _is_go_float(text: str, digits: str) -> bool:
    if _SPECIAL.match(text):
        return True
    if _HEXADECIMAL.match(digits):
        return not _STRAY_HEX_UNDERSCORE.search(text)
    return bool(_DECIMAL.match(digits)) and not _STRAY_UNDERSCORE.search(text)


def _from_digits(digits: str) -> float:
    if not _HEXADECIMAL.match(digits):
        return float(digits)
    try:
        return float.fromhex(digits)
    except OverflowError:
        return float("inf")


def _parse_bool(text: str) -> bool:
    if text not in _BOOLS:
        raise ValueError(f"{_excerpt(text)} is not a truth value; write 'true' or 'false'")
    return _BOOLS[text]


def _parse_datetime(text: str) -> dt.datetime:
    remedy = "write value.astimezone(timezone.utc).isoformat(), such as '2024-01-31T08:00:00+00:00'"
    match = _DATETIME.match(text)
    if not match:
        zoneless = _DATETIME.match(text + "Z") or _DATETIME.match(text.replace(" ", "T") + "Z")
        flaw = "has no time zone" if zoneless else "is not a date and time as RFC 3339 has them"
        raise ValueError(f"{_excerpt(text)} {flaw}; {remedy}")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    microsecond = int((match[7] or "0")[:6].ljust(6, "0"))
    try:
        local = dt.datetime(year, month, day, hour, minute, second, microsecond, tzinfo=dt.timezone.utc)
        return local - _offset(match)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{_excerpt(text)} is not a possible date and time ({error}); {remedy}") from None


def _offset(match: re.Match[str]) -> dt.timedelta:
    if match[8] == "Z":
        return dt.timedelta()
    hours, minutes = int(match[10]), int(match[11])
    if hours > _HIGHEST_OFFSET[0] or minutes > _HIGHEST_OFFSET[1]:
        raise ValueError(f"the offset {match[8]} is out of range")
    offset = dt.timedelta(hours=hours, minutes=minutes)
    return -offset if match[9] == "-" else offset


def _parse_timedelta(text: str) -> dt.timedelta:
    match = _DURATION.match(text)
    if not match and text.lstrip("+-") == "0" and len(text) <= len("+0"):
        return dt.timedelta()
    if not match:
        raise ValueError(
            f"{_excerpt(text)} is not a duration as Go has them; write f'{{value.total_seconds():f}}s', such as '5400s'"
        )
    nanoseconds = sum(_part_nanoseconds(*part) for part in _DURATION_PART.findall(match[2]))
    if nanoseconds > _LARGEST_INT64 + (match[1] == "-"):
        raise ValueError(f"{_excerpt(text)} is longer than the 292 years that a duration holds; declare it as a float")
    microseconds = nanoseconds // 1000
    return dt.timedelta(microseconds=-microseconds if match[1] == "-" else microseconds)


def _part_nanoseconds(whole: str, fraction: str, unit: str) -> int:
    scale = _NANOSECONDS[unit]
    return int(whole or "0") * scale + int(fraction or "0") * scale // int("1" + "0" * len(fraction))


def _format_str(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{_excerpt(value)} cannot be written as UTF-8") from None
    return value


def _format_int(value: int) -> str:
    return str(_checked_int(value))


def _format_float(value: float) -> str:
    from decimal import Decimal

    number = float(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    return format(Decimal(repr(number)), "f").removesuffix(".0")


def _format_bool(value: bool) -> str:  # noqa: FBT001  -- the value itself, not a switch
    return "true" if value else "false"


def _format_datetime(value: dt.datetime) -> str:
    if value.utcoffset() is None:
        raise ValueError(
            f"{value.isoformat()!r} has no time zone; pass value.replace(tzinfo=timezone.utc) or another zone"
        )
    text = value.astimezone(dt.timezone.utc).replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"


def _format_timedelta(value: dt.timedelta) -> str:
    microseconds = value // dt.timedelta(microseconds=1)
    sign, microseconds = ("-", -microseconds) if microseconds < 0 else ("", microseconds)
    if microseconds * 1000 > _LARGEST_INT64:
        raise ValueError(f"{value} is longer than the 292 years that a duration holds")
    return sign + _go_duration(microseconds)


def _go_duration(microseconds: int) -> str:
    """The text of Go's `Duration.String`: `1h30m0s`, `1.5s`, `20ms`, `3us` with the micro sign, `0s`."""
    for unit, size in (("\u00b5s", 1), ("ms", 1000)):
        if 0 < microseconds < size * 1000:
            return _fraction(microseconds, size) + unit
    minutes, rest = divmod(microseconds, 60 * 10**6)
    hours, minutes = divmod(minutes, 60)
    front = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return front + _fraction(rest, 10**6) + "s"


def _fraction(amount: int, size: int) -> str:
    whole, rest = divmod(amount, size)
    digits = str(rest).rjust(len(str(size)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


class _Codec(NamedTuple):
    accepts: type | tuple[type, ...]
    parse: Callable[[str], Any]
    format: Callable[[Any], str]


_CODECS: Final[Mapping[str, _Codec]] = MappingProxyType(
    {
        "str": _Codec(str, _parse_str, _format_str),
        "int": _Codec(int, _parse_int, _format_int),
        "float": _Codec((int, float), _parse_float, _format_float),
        "bool": _Codec(bool, _parse_bool, _format_bool),
        "datetime": _Codec(dt.datetime, _parse_datetime, _format_datetime),
        "timedelta": _Codec(dt.timedelta, _parse_timedelta, _format_timedelta),
    }
)


def is_simple(type_name: str) -> bool:
    """Whether values of this type are passed as text; the other types are `file` and `directory`."""
    return type_name in _CODECS


def _codec(type_name: str) -> _Codec:
    if type_name not in _CODECS:
        raise ValueError(f"a {type_name} has no text of its own; simple types are {', '.join(_CODECS)}")
    return _CODECS[type_name]


def _excerpt(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) <= 2**64 else "an integer of more than 64 bits"
    return text if len(text) <= _EXCERPT_CHARS else f"{text[:_EXCERPT_CHARS]}... ({len(text)} characters)"


# --- the command line -------------------------------------------------------------------------------------------------


def command_line(
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    *,
    python: str = "python",
    launcher: str = "/app/launcher.py",
    solution: str = "/app/solution.py",
    validate: str = "off",
) -> tuple[str, ...]:
    """The command that launches a solution with this interface (names to type names, in declared order).

    `validate` may be `strict` or `warn` if there are schemas beside the launcher.
    """
    declared = [("--input", *item) for item in inputs.items()] + [("--output", *item) for item in outputs.items()]
    options = [part for option, name, type_name in declared for part in (option, f"{name}:{type_name}")]
    checked = (VALIDATE_OPTION, validate) if validate != "off" else ()
    return (python, launcher, *options, *checked, solution)


class Declaration(NamedTuple):
    """The content of a command line: inputs and outputs with type names, the script, and how data are validated."""

    inputs: dict[str, str]
    outputs: dict[str, str]
    solution: str
    validate: str = "off"


def parse_command_line(arguments: Sequence[str]) -> Declaration:
    """The inverse of `command_line`, from the first option on. Raises ValueError for anything else."""
    declared: dict[str, dict[str, str]] = {"--input": {}, "--output": {}}
    validate = "off"
    if not arguments or len(arguments) % 2 == 0:
        raise ValueError(
            "usage: launcher.py [--input NAME:TYPE]... [--output NAME:TYPE]... [--validate strict|warn|off] SOLUTION"
        )
    for option, value in zip(arguments[:-1:2], arguments[1:-1:2], strict=True):
        if option == VALIDATE_OPTION and value in {"strict", "warn", "off"}:
            validate = value
            continue
        name, colon, type_name = value.partition(":")
        if option not in declared or not colon or not (is_simple(type_name) or type_name in {"file", "directory"}):
            raise ValueError(f"{option} {value}: expected --input or --output with NAME:TYPE")
        declared[option][name] = type_name
    return Declaration(declared["--input"], declared["--output"], arguments[-1], validate)


# --- inputs -----------------------------------------------------------------------------------------------------------


def script_arguments(inputs: Mapping[str, str], folder: Path) -> list[str]:
    """The script's arguments, read from the files of co-pilot. Raises ValueError that names the faulty input."""
    values = {name: _named_argument(name, type_name, folder) for name, type_name in inputs.items()}
    return [part for name, value in values.items() for part in option(name, value)]


def option(name: str, value: str) -> tuple[str, ...]:
    """The option and its value, joined by `=` if argparse would read the value as an option: `-x`, `-1e-05`, `-inf`."""
    return (f"--{name}={value}",) if value.startswith("-") else (f"--{name}", value)


def _named_argument(name: str, type_name: str, folder: Path) -> str:
    try:
        return _argument(folder / name, type_name)
    except (OSError, ValueError) as error:
        raise ValueError(f"input {name!r} ({type_name}): {_reason(error)}") from None


def _argument(path: Path, type_name: str) -> str:
    if not path.exists():
        raise ValueError(f"nothing is at {path}; bind a value to this input of the task")
    if not is_simple(type_name):
        if path.is_dir() != (type_name == "directory"):
            raise ValueError(f"{path} is a {'folder' if path.is_dir() else 'file'}, not a {type_name}")
        return str(path)
    text = path.read_bytes().decode()
    argument = text if type_name == "str" else canonical(parse_value(text, type_name), type_name)
    check_argument(argument)
    return argument


def check_argument(text: str) -> None:
    """Raise ValueError for a text that Linux does not accept as an argument of a command."""
    if "\0" in text or len(text.encode()) > _LONGEST_ARGUMENT_BYTES:
        raise ValueError(
            f"a text of {len(text)} characters cannot be an argument of a command (at most {_LONGEST_ARGUMENT_BYTES} "
            "bytes, no NUL); declare the input as a file"
        )


def canonical(value: Any, type_name: str) -> str:
    """The text of a value on the script's command line."""
    return repr(value) if type_name == "float" else format_value(value, type_name)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


# --- outputs ----------------------------------------------------------------------------------------------------------


def output_flaws(outputs: Mapping[str, str], folder: Path) -> list[str]:
    """The flaws for which a cluster would refuse declared outputs, one sentence each, with its remedy."""
    flaws = (output_flaw(name, type_name, folder) for name, type_name in outputs.items())
    return [flaw for flaw in flaws if flaw]


def output_flaw(name: str, type_name: str, folder: Path) -> str | None:
    """The flaw for which a cluster would refuse one output, or None."""
    path = folder / name
    try:
        _check_output(path, type_name, path.lstat().st_mode)
    except FileNotFoundError:
        return missing_output(name, type_name, _names(folder))
    except OSError as error:
        return invalid_output(name, type_name, f"it cannot be read: {error.strerror}")
    except ValueError as error:
        return invalid_output(name, type_name, str(error))
    return None


def missing_output(name: str, type_name: str, present: Iterable[str]) -> str:
    """The message for a missing output. It lists the outputs that exist."""
    others = ", ".join(repr(other) for other in sorted(present)[:10] if other != _ERROR_FILE) or "nothing"
    return (
        f"output {name!r} ({type_name}) is missing: the script has to write it to /var/outputs/{name}, "
        f"a name without an extension; found there: {others}"
    )


def invalid_output(name: str, type_name: str, flaw: str) -> str:
    """The message for an output that exists but is not of its type."""
    return f"output {name!r} ({type_name}) in /var/outputs/{name} is not usable: {flaw}"


def check_folder_files(names: Iterable[str]) -> None:
    """Raise ValueError for the files of a folder output (relative paths) if a cluster could not store them flat."""
    listed = sorted(names)
    nested = [name for name in listed if "/" in name]
    if not listed:
        raise ValueError(
            "the folder is empty, and a cluster cannot store an empty folder; write at least one file to it"
        )
    if nested:
        raise ValueError(
            f"it holds {nested[0]!r} in a folder of its own, and a cluster stores a folder output flat; "
            f"write {nested[0].replace('/', '_')!r} instead"
        )


def _check_output(path: Path, type_name: str, mode: int) -> None:
    is_folder = stat.S_ISDIR(mode)
    if not (is_folder or stat.S_ISREG(mode)):
        raise ValueError("it is a link or a special file; write the content itself")
    if is_folder != (type_name == "directory"):
        raise ValueError(f"it is a {'folder' if is_folder else 'file'}; write a {type_name if is_folder else 'folder'}")
    if is_folder:
        check_folder_files(_folder_files(path))
    elif is_simple(type_name):
        with path.open("rb") as file:
            content = file.read(MAX_TEXT_BYTES + 1)
        parse_output(content, type_name)


def _folder_files(path: Path) -> list[str]:
    names = []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                names.append(f"{entry.name}/{next(iter(_names(path / entry.name)), '')}")
            elif entry.is_file(follow_symlinks=False):
                names.append(entry.name)
            else:
                raise ValueError(f"it holds {entry.name!r}, a link or a special file; write the content itself")
    return names


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


# --- running ----------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the solution that the command line declares and return the exit status."""
    declaration = parse_command_line(sys.argv[1:] if arguments is None else arguments)
    inputs = Path(os.environ.get(INPUTS_VARIABLE, "/var/inputs"))
    outputs = Path(os.environ.get(OUTPUTS_VARIABLE, "/var/outputs"))
    try:
        values = script_arguments(declaration.inputs, inputs)
    except ValueError as error:
        return _fail(outputs, str(error), INPUT_ERROR)
    broken = data_flaws(declaration, declaration.inputs, inputs)
    if broken:
        return _fail(outputs, f"{broken}\nThe script was not started.", DATA_ERROR)
    ended = _run([sys.executable, declaration.solution, *values])
    if ended.status:
        status = ended.status if ended.status > 0 else 128 - ended.status
        if ended.is_interrupted:
            # The pod is taken away: whatever the script said, another one may do.
            sys.stderr.write("launcher: the pod was told to end before the script had ended\n")
            return status
        return _fail(outputs, _ending(ended.status), status, ended.stderr_tail)
    if os.path.lexists(outputs / _ERROR_FILE):
        return _fail(outputs, f"the script left {_own_error(outputs / _ERROR_FILE)}", OUTPUT_ERROR)
    flaws = "\n".join(output_flaws(declaration.outputs, outputs))
    written = {name: kind for name, kind in declaration.outputs.items() if name not in declaration.inputs}
    flaws = flaws or data_flaws(declaration, written, outputs)
    return _fail(outputs, flaws, OUTPUT_ERROR) if flaws else 0


def data_flaws(declaration: Declaration, names: Mapping[str, str], folder: Path) -> str:
    """How the files of these names violate their schemas. With `warn` this goes to stderr, and the result is ""."""
    if declaration.validate == "off":
        return ""
    import validator  # type: ignore[import-not-found]  # beside this file in the image, outside of any package

    schemas = json.loads(Path(__file__).with_name(SCHEMAS_FILE).read_text(encoding="utf-8"))
    flaws = validator.check_folder({name: schemas[name] for name in names if name in schemas}, folder)
    if declaration.validate == "warn":
        sys.stderr.write("".join(f"launcher: warning: {sentence}\n" for sentence in flaws))
        return ""
    return "\n".join(flaws)


class _Ended(NamedTuple):
    """How the script ended: its status, negative for a signal. `is_interrupted` says that we were told to end it."""

    status: int
    stderr_tail: str
    is_interrupted: bool


def _run(command: list[str]) -> _Ended:
    """Run the command; its stderr is passed through."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_script_environment())
    tail = bytearray()
    interrupted = threading.Event()
    # A descendant that outlives the script may keep the pipe open, so the daemon thread is not awaited for long.
    reader = threading.Thread(target=_pass_through, args=(process.stderr, tail), daemon=True)
    reader.start()

    def interrupt(*_: object) -> None:
        interrupted.set()
        process.terminate()

    # In a pod this is process 1, which ignores SIGTERM unless it has a handler.
    signal.signal(signal.SIGTERM, interrupt)
    status = process.wait()
    reader.join(_DRAIN_S)
    return _Ended(status, bytes(tail).decode(errors="replace").strip(), interrupted.is_set())


def _script_environment() -> dict[str, str]:
    """The script's environment. Its interpreter imports the `sitecustomize.py` beside this file, if there is one."""
    here = Path(__file__).parent
    given = {name: value for name, value in os.environ.items() if name != FAILURE_VARIABLE}
    if not (here / "sitecustomize.py").exists():
        return given
    folders = filter(None, (str(here), given.get("PYTHONPATH")))
    return {**given, "PYTHONPATH": os.pathsep.join(folders)}


def _pass_through(source: IO[bytes], tail: bytearray) -> None:
    while chunk := os.read(source.fileno(), 65_536):
        with contextlib.suppress(OSError):
            sys.stderr.buffer.write(chunk)
            sys.stderr.buffer.flush()
        tail += chunk
        del tail[:-_STDERR_TAIL_BYTES]


def _ending(status: int) -> str:
    if status > 0:
        return f"the script ended with exit status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    hint = "; the task may have run out of memory: raise its memory" if -status == signal.SIGKILL else ""
    return f"the script was ended by {name}{hint}"


def _own_error(path: Path) -> str:
    """The path and the content of an `_ERROR` file that the script wrote itself."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return f"{path}, which is no file; that name is the cluster's own"
    with path.open("rb") as file:
        return f"{path}, by which a task fails: {file.read(_STDERR_TAIL_BYTES).decode(errors='replace')}"


def _fail(outputs: Path, message: str, status: int, stderr_tail: str = "") -> int:
    """Report a failure on stderr and in `_ERROR`. `stderr_tail` is on stderr already.

    Returns the status, or the one that the environment names for failures that no retry helps.
    """
    sys.stderr.write(f"launcher: {message}\n")
    with contextlib.suppress(OSError):
        (outputs / _ERROR_FILE).unlink()  # writing to a pipe of this name would block for ever
    try:
        (outputs / _ERROR_FILE).write_text(f"{message}\n{stderr_tail}".rstrip(), encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"launcher: cannot write {outputs / _ERROR_FILE}: {error.strerror}\n")
        return status
    return int(os.environ.get(FAILURE_VARIABLE) or status)


if __name__ == "__main__":
    sys.exit(main())
