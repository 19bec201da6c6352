"""How much of a sample's values a model may see."""

from __future__ import annotations

from pydantic import Field

from flyteplugins_codegen.models.base import Value
from flyteplugins_codegen.models.profile import PrivacyMode


class Privacy(Value):
    """`masked`: personal values are replaced by fakes; `rows`: values as they are; `profile`: statistics only.

    `columns` are private by the user's word, each a name, or `sample.name`. By `profile` no value is sent that occurs
    in fewer than `min_rows` rows. What looks like a key or a password is replaced in every mode.
    """

    mode: PrivacyMode = "masked"
    columns: tuple[str, ...] = ()
    min_rows: int = Field(default=5, ge=2)

    def names(self, sample: str, column: str) -> bool:
        """Whether the user named this column of this sample."""
        return any(name.casefold() in {column.casefold(), f"{sample}.{column}".casefold()} for name in self.columns)
