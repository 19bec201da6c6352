"""Opens a sample of any table format as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa

from flyteplugins_codegen.data.csv import read_csv
from flyteplugins_codegen.data.excel import excel_table
from flyteplugins_codegen.data.json import read_json
from flyteplugins_codegen.data.tables import SampleFile, SampleSource, SampleTable, check_same_columns, unique_names

T = TypeVar("T")

_BATCH_ROWS = 1 << 16
_BATCH_CELLS = 1 << 20
_BUFFER_BYTES = 1 << 20
_MOST_LISTED_FIELDS = 5
_REMEDY = "it may have been cut off while it was copied; copy it again"


def read_table(source: SampleSource, consume: Callable[[SampleTable], T]) -> T:
    """Return `consume(table)`; the table's batches are streamed and never all in memory.

    `consume` may be called again with a new table, so it must not keep anything from a call that was interrupted.

    Raises:
        SampleError: the file cannot be read in its format.
        NotRecordsError: a JSON document that is not a table.
    """
    file_format = source.files[0].content.format
    if file_format == "csv":
        return read_csv(source, consume)
    if file_format in ("json", "jsonl"):
        return read_json(source, consume)
    return consume(excel_table(source) if file_format == "excel" else _typed_file_table(source))


def typed_table(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> SampleTable:
    """Return a table of batches that already have types. Repeated column names are made unique."""
    notes: list[str] = []
    names = unique_names(schema.names, notes)
    declared = _pandas_metadata(schema)
    fields = [
        field.with_name(name).with_metadata(declared.get(field.name, {}))
        for name, field in zip(names, schema, strict=True)
    ]
    renamed = (pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)
    return SampleTable(pa.schema(fields), renamed, notes)


def _typed_file_table(source: SampleSource) -> SampleTable:
    schema, batches = _open_file(source, source.files[0])
    return typed_table(schema, chain(batches, _following_batches(source, schema)))


def _following_batches(source: SampleSource, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches of all files after the first, cast to the types of the first."""
    for file in source.files[1:]:
        file_schema, batches = _open_file(source, file)
        check_same_columns(source, file, schema.names, file_schema.names)
        for batch in batches:
            yield _cast_batch(source, file, batch, schema)


def _cast_batch(source: SampleSource, file: SampleFile, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    try:
        columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        others = [f"{field.name!r} as {field.type}" for field in batch.schema if field not in schema]
        first = source.files[0].display_path.name
        raise source.error(
            f"has {', '.join(others[:_MOST_LISTED_FIELDS])}, which does not fit the types of {first}",
            "pass folders of files with the same types, one sample each",
            file,
        ) from error
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def _open_file(source: SampleSource, file: SampleFile) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    openers = {"parquet": _open_parquet, "orc": _open_orc, "arrow": _open_arrow}
    try:
        schema, batches = openers[file.content.format](file)
    except (pa.ArrowException, OSError) as error:
        raise _read_error(source, file, error) from error
    return schema, _checked_batches(source, file, batches)


def _open_parquet(file: SampleFile) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(file.path, pre_buffer=False, buffer_size=_BUFFER_BYTES)
    # Batches of wide tables have fewer rows.
    rows = max(1024, min(_BATCH_ROWS, _BATCH_CELLS // max(1, len(parquet.schema_arrow))))
    return parquet.schema_arrow, parquet.iter_batches(batch_size=rows)


def _open_orc(file: SampleFile) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    from pyarrow import orc

    reader = orc.ORCFile(file.path)
    return reader.schema, (reader.read_stripe(number) for number in range(reader.nstripes))


def _open_arrow(file: SampleFile) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if file.content.kind == "Arrow stream":
        stream = pa.ipc.open_stream(pa.OSFile(str(file.path)))
        return stream.schema, iter(stream)
    reader = pa.ipc.open_file(pa.OSFile(str(file.path)))
    return reader.schema, (reader.get_batch(number) for number in range(reader.num_record_batches))


def _checked_batches(
    source: SampleSource, file: SampleFile, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches; an error in the middle of the file becomes a SampleError."""
    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise _read_error(source, file, error) from error


def _read_error(source: SampleSource, file: SampleFile, error: Exception) -> Exception:
    return source.error(f"cannot be read as {file.content.kind} ({error})", _REMEDY, file)


def _pandas_metadata(schema: pa.Schema) -> dict[str, dict[str, str]]:
    """Return, by column name, the metadata that pandas stored about its columns when it wrote the file."""
    try:
        stored: Any = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        index = {name for name in stored.get("index_columns", []) if isinstance(name, str)}
        return {
            column["field_name"]: {
                "pandas_dtype": str(column["numpy_type"]),
                **({"is_index": "yes"} if column["field_name"] in index else {}),
            }
            for column in stored.get("columns", [])
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}  # another program's metadata under the same key
