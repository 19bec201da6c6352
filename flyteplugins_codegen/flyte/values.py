"""How our values cross Flyte task boundaries: as pydantic models do, with a literal type that is worked out once.

flytekit's own transformer works out the JSON schema anew at every conversion and warns of every tuple and JSON field.
Importing this module registers ours; `import flytekit` does so by the entry point `flytekit.plugins`.
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
    """Converts every `Value`. Fields of simple types can be taken from a promise: `generated.result.success`."""

    def __init__(self) -> None:
        TypeTransformer.__init__(self, "Codegen value", Value, enable_type_assertions=False)

    def get_literal_type(self, t: type[Value]) -> LiteralType:
        """A struct by the name of its model, with the simple fields that a promise can give."""
        return _literal_type(t)


@functools.cache
def _literal_type(model: type[Value]) -> LiteralType:
    simple = {name: field.annotation for name, field in model.model_fields.items() if field.annotation in _SIMPLE}
    return LiteralType(
        simple=SimpleType.STRUCT,
        # Without the JSON schema: it would stand in every interface and every spec of the loop's dynamics, some 45 kB
        # each time, where a cluster reads 2 MB; and in `--help`. Whoever starts a fetched task passes a JSON object.
        metadata=None,
        structure=TypeStructure(
            tag="", dataclass_type={name: TypeEngine.to_literal_type(kind) for name, kind in simple.items()}
        ),
        annotation=TypeAnnotation({CACHE_KEY_METADATA: {SERIALIZATION_FORMAT: MESSAGEPACK}}),
    )


TypeEngine.register(ValueTransformer())
