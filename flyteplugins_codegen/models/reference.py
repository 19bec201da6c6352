"""What comparing a solution with a second, independent computation of the same outputs has shown."""

from __future__ import annotations

from flyteplugins_codegen.models.base import Value

REFERENCE_FILE = "reference.py"


class OutputsDiffer(Value):
    """A case on which the outputs of a solution and of the reference differ.

    `case` is `samples` or describes files that were derived from them. `where` is the output, and its row and column or
    line; `solution_answer` and `reference_answer` are what stands there, or the exception. `rows` is the content of the
    changed sample with the fewest rows on which they still differ, "" if the case could not be reduced; `arguments` are
    the other inputs as text.
    """

    case: str
    output_name: str
    where: str = ""
    solution_answer: str
    reference_answer: str
    sample: str = ""
    rows: str = ""
    row_count: int = 0
    arguments: str = ""

    @property
    def summary(self) -> str:
        """Both answers and the case in one line."""
        place = f"{self.output_name}, {self.where}" if self.where else self.output_name
        return f"on {self.case}, {place}: solution.py {self.solution_answer}, reference.py {self.reference_answer}"


class ReferenceReport(Value):
    """How a solution compares with the reference.

    `agreed` are the cases with the same outputs, `samples` first. `difference` is the first one where they differ and
    the description settles who is right; `unsettled` are cases where they differ in what it leaves open, or where one
    of them refuses its data. `dropped` says why the reference proves nothing: it broke a check of the user's, or failed
    on the samples. `witnesses` are the numbers of earlier independent candidates that do the same as this one.
    """

    agreed: tuple[str, ...] = ()
    difference: OutputsDiffer | None = None
    unsettled: tuple[OutputsDiffer, ...] = ()
    dropped: str = ""
    witnesses: tuple[int, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the outputs were compared and no settled difference was found."""
        return bool(self.agreed) and self.difference is None and not self.dropped
