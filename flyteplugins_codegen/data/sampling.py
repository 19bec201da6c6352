"""Some rows of a stream, each row as likely as any other, the same ones at every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from flyteplugins_codegen.data.values import arrow_integers

if TYPE_CHECKING:
    import numpy as np

_SEED = 20
_MOST_ROWS = 20_000
_MOST_CELLS = 1_000_000
_MOST_BYTES = 24 << 20
_MOST_PARTS = 16


class RowSample:
    """Keeps each row with a chance that is halved, for the rows kept so far too, whenever they grow too many.

    Bernoulli sampling; its numbers are drawn row by row, so that it does not matter how the rows come in batches.
    """

    def __init__(self, width: int) -> None:
        import numpy as np

        self._random = np.random.default_rng(_SEED)
        self._most_rows = max(100, min(_MOST_ROWS, _MOST_CELLS // max(1, width)))
        self._chance = 1.0
        self._kept: list[tuple[pa.RecordBatch, np.ndarray[tuple[int], np.dtype[np.float64]]]] = []
        self._kept_rows, self._kept_bytes = 0, 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the next batch."""
        self._keep(batch, self._random.random(batch.num_rows))
        while self._kept_rows > 2 * self._most_rows or (self._kept_bytes > _MOST_BYTES and self._kept_rows > 1):
            self._chance /= 2
            kept, self._kept, self._kept_rows, self._kept_bytes = self._kept, [], 0, 0
            for part, draws in kept:
                self._keep(part, draws)
        if len(self._kept) > _MOST_PARTS:
            self._join()

    def rows(self, schema: pa.Schema) -> pa.RecordBatch:
        """The rows kept, in their order."""
        return as_one_batch([part for part, _ in self._kept], schema)

    def _join(self) -> None:
        """One part instead of many: a part of thousands of columns is megabytes of Arrow's own objects."""
        import numpy as np

        parts, draws = zip(*self._kept, strict=True)
        self._kept = [(as_one_batch(list(parts), parts[0].schema), np.concatenate(draws))]

    def _keep(self, batch: pa.RecordBatch, draws: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        import numpy as np

        chosen = np.flatnonzero(draws < self._chance)
        if len(chosen):
            part = batch.take(arrow_integers(*chosen.tolist()))
            self._kept.append((part, draws[chosen]))
            self._kept_rows += len(chosen)
            self._kept_bytes += part.nbytes


def as_one_batch(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """All rows in one batch, which has no rows where there is none."""
    columns = [
        pa.concat_arrays([batch.column(i) for batch in batches] or [pa.nulls(0, f.type)]) for i, f in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
