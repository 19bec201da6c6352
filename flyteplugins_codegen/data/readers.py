"""A sample opened as a table, whatever its format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa

from flyteplugins_codegen.data.csv import fold_csv
from flyteplugins_codegen.data.excel import excel_table
from flyteplugins_codegen.data.json import fold_json
from flyteplugins_codegen.data.tables import Part, Source, Table, check_same_columns, unique_names

T = TypeVar("T")

_BATCH_ROWS = 1 << 16
_BATCH_CELLS = 1 << 20
_BUFFER_BYTES = 1 << 20
_MOST_NAMED = 5
_REMEDY = "it may have been cut off while it was copied; copy it again"


def fold_table(source: Source, fold: Callable[[Table], T]) -> T:
    """What `fold` makes of the sample's batches, which are streamed and never all in memory.

    `fold` may be called again with a fresh table, so it must not keep anything from a call that was broken off.

    Raises:
        SampleError: the file cannot be read as what it is.
        NotRecordsError: a JSON document that is no table.
    """
    form = source.parts[0].content.format
    if form == "csv":
        return fold_csv(source, fold)
    if form in ("json", "jsonl"):
        return fold_json(source, fold)
    return fold(excel_table(source) if form == "excel" else _typed_table(source))


def typed_table(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Table:
    """A table of batches whose types are settled, under names that differ."""
    notes: list[str] = []
    names = unique_names(schema.names, notes)
    declared = _pandas_columns(schema)
    fields = [
        field.with_name(name).with_metadata(declared.get(field.name, {}))
        for name, field in zip(names, schema, strict=True)
    ]
    renamed = (pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)
    return Table(pa.schema(fields), renamed, notes)


def _typed_table(source: Source) -> Table:
    first = source.parts[0]
    schema, batches = _opened(source, first)
    return typed_table(schema, chain(batches, _others(source, schema)))


def _others(source: Source, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of all files after the first, in the types of the first."""
    for part in source.parts[1:]:
        found, batches = _opened(source, part)
        check_same_columns(source, part, schema.names, found.names)
        for batch in batches:
            yield _in_types_of(source, part, batch, schema)


def _in_types_of(source: Source, part: Part, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    try:
        columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        others = [f"{field.name!r} as {field.type}" for field in batch.schema if field not in schema]
        raise source.error(
            f"has {', '.join(others[:_MOST_NAMED])}, which does not fit the types of {source.parts[0].shown.name}",
            "pass folders of files with the same types, one sample each",
            part,
        ) from error
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def _opened(source: Source, part: Part) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    openers = {"parquet": _parquet, "orc": _orc, "arrow": _arrow}
    try:
        schema, batches = openers[part.content.format](part)
    except (pa.ArrowException, OSError) as error:
        raise _fault(source, part, error) from error
    return schema, _guarded(source, part, batches)


def _parquet(part: Part) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(part.path, pre_buffer=False, buffer_size=_BUFFER_BYTES)
    return file.schema_arrow, file.iter_batches(batch_size=_batch_rows(file.schema_arrow))


def _orc(part: Part) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    from pyarrow import orc

    file = orc.ORCFile(part.path)
    return file.schema, (file.read_stripe(number) for number in range(file.nstripes))


def _arrow(part: Part) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if part.content.kind == "Arrow stream":
        stream = pa.ipc.open_stream(pa.OSFile(str(part.path)))
        return stream.schema, iter(stream)
    file = pa.ipc.open_file(pa.OSFile(str(part.path)))
    return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))


def _batch_rows(schema: pa.Schema) -> int:
    """Fewer rows at a time of wide tables."""
    return max(1024, min(_BATCH_ROWS, _BATCH_CELLS // max(1, len(schema))))


def _guarded(source: Source, part: Part, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches; a fault in the file's middle is the sample's, not the reader's."""
    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise _fault(source, part, error) from error


def _fault(source: Source, part: Part, error: Exception) -> Exception:
    return source.error(f"cannot be read as {part.content.kind} ({error})", _REMEDY, part)


def _pandas_columns(schema: pa.Schema) -> dict[str, dict[str, str]]:
    """What pandas noted about its columns when it wrote the file."""
    try:
        noted: Any = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        index = {name for name in noted.get("index_columns", []) if isinstance(name, str)}
        return {
            column["field_name"]: {
                "pandas_dtype": str(column["numpy_type"]),
                **({"is_index": "yes"} if column["field_name"] in index else {}),
            }
            for column in noted.get("columns", [])
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}  # another program's metadata under the same key
