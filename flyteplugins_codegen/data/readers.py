"""A sample opened as a table, whatever its format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from flyteplugins_codegen.data.csv_tables import fold_csv
from flyteplugins_codegen.data.formats import Content
from flyteplugins_codegen.data.json_tables import fold_json
from flyteplugins_codegen.data.tables import Source, Table, unique_names

T = TypeVar("T")

_BATCH_ROWS = 1 << 16
_REMEDY = "it may have been cut off while it was copied; copy it again"


def fold_table(source: Source, content: Content, fold: Callable[[Table], T]) -> T:
    """What `fold` makes of the sample's batches, which are streamed and never all in memory.

    `fold` may be called again with a fresh table, so it must not keep anything from a call that was broken off.

    Raises:
        SampleError: the file cannot be read as what it is.
        NotRecordsError: a JSON document that is no table.
    """
    if content.format == "csv":
        return fold_csv(source, content, fold)
    if content.format in ("json", "jsonl"):
        return fold_json(source, content, fold)
    return fold(_typed_table(source, content))


def _typed_table(source: Source, content: Content) -> Table:
    try:
        schema, batches = _parquet(source) if content.format == "parquet" else _arrow(source, content)
    except (pa.ArrowException, OSError) as error:
        raise _fault(source, content, error) from error
    notes: list[str] = []
    names = unique_names(schema.names, notes)
    declared = _pandas_columns(schema)
    fields = [
        field.with_name(name).with_metadata(declared.get(field.name, {}))
        for name, field in zip(names, schema, strict=True)
    ]
    return Table(pa.schema(fields), _renamed(source, content, batches, names), notes)


def _parquet(source: Source) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(source.path)
    return file.schema_arrow, file.iter_batches(batch_size=_BATCH_ROWS)


def _arrow(source: Source, content: Content) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if content.kind == "Arrow stream":
        stream = pa.ipc.open_stream(pa.OSFile(str(source.path)))
        return stream.schema, iter(stream)
    file = pa.ipc.open_file(pa.memory_map(str(source.path)))
    return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))


def _renamed(
    source: Source, content: Content, batches: Iterator[pa.RecordBatch], names: list[str]
) -> Iterator[pa.RecordBatch]:
    """The batches under the table's names; a fault in the file's middle is the sample's, not the reader's."""
    try:
        for batch in batches:
            yield pa.RecordBatch.from_arrays(batch.columns, names=names)
    except (pa.ArrowException, OSError) as error:
        raise _fault(source, content, error) from error


def _fault(source: Source, content: Content, error: Exception) -> Exception:
    return source.error(f"cannot be read as {content.kind} ({error})", _REMEDY)


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
