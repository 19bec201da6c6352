"""How our values cross Flyte task boundaries: as pydantic models do, with a literal type that is computed once.

flytekit's own transformer computes the JSON schema at every conversion and warns about every tuple and JSON field.
Importing this module registers ours; `import flytekit` imports it through the entry point `flytekit.plugins`.
"""

from __future__ import annotations

import functools

from flytekit.core.constants import CACHE_KEY_METADATA, MESSAGEPACK, SERIALIZATION_FORMAT
from flytekit.core.type_engine import TypeEngine, TypeTransformer
from flytekit.extras.pydantic_transformer.transformer import PydanticTransformer
from flytekit.models.annotation import TypeAnnotation
from flytekit.models.types import LiteralType, SimpleType, TypeStructure

from flyteplugins_codegen.models.base import Value

_SIMPLE = (str, int, float, bool)


class ValueTransformer(PydanticTransformer):
    """Converts every `Value`. A promise gives access to fields of simple types: `generated.result.success`."""

    def __init__(self) -> None:
        TypeTransformer.__init__(self, "Codegen value", Value, enable_type_assertions=False)

    def get_literal_type(self, t: type[Value]) -> LiteralType:
        """A struct with the simple fields that a promise gives access to."""
        return _literal_type(t)


@functools.cache
def _literal_type(model: type[Value]) -> LiteralType:
    simple = {name: field.annotation for name, field in model.model_fields.items() if field.annotation in _SIMPLE}
    return LiteralType(
        simple=SimpleType.STRUCT,
        # Without the JSON schema: 45 kB of it in every interface and every spec of the loop's dynamic workflows, which
        # a cluster limits to 2 MB, and in `--help`. A fetched task takes a JSON object.
        metadata=None,
        structure=TypeStructure(
            tag="", dataclass_type={name: TypeEngine.to_literal_type(kind) for name, kind in simple.items()}
        ),
        annotation=TypeAnnotation({CACHE_KEY_METADATA: {SERIALIZATION_FORMAT: MESSAGEPACK}}),
    )


TypeEngine.register(ValueTransformer())
