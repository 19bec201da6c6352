"""What a metric is asked about and what it answers: eval-framework's values, field by field.

Same fields and meaning as `Error`, `Completion` and `MetricResult` of Aleph Alpha's eval-framework, so that its JSON
reads here and ours reads there; fields that a person would leave out have defaults.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue, SerializeAsAny

from flyteplugins_codegen.models.base import Value


class Error(Value):
    """Why there is no value. `error_class` is the exception's name, without its module."""

    error_class: str
    message: str
    traceback: str = ""


class ConcatCompression(NamedTuple):
    """How long a prompt and its completion are together."""

    num_bytes: int
    num_tokens: int


class BaseMetricContext(BaseModel):
    """What a metric needs beside the completion; contexts may hold fields of their own."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Completion(Value):
    """One answer of a model to one sample of a benchmark; `completion` is what is judged.

    `messages` are kept as they came. An `error` says that there is no answer to judge.
    """

    id: int
    subject: str = ""
    ground_truth: str | list[str] | None = None
    prompt: str
    prompt_sequence_positions: int | None = None
    concat_compression: ConcatCompression | None = None
    messages: list[dict[str, JsonValue]] | None = None
    completion: str
    raw_completion: str = ""
    raw_completion_sequence_positions: int | None = None
    context: list[SerializeAsAny[BaseMetricContext]] | SerializeAsAny[BaseMetricContext] | None = None
    error: Error | None = None

    @property
    def ground_truth_list(self) -> list[str] | list[None]:
        """The right answers as a list; one without a value where none is known."""
        if self.ground_truth is None:
            return [None]
        return self.ground_truth if isinstance(self.ground_truth, list) else [self.ground_truth]


class MetricResult(Value):
    """One figure. `value` is None where nothing could be measured, and then `error` says why."""

    metric_name: str
    value: float | None
    higher_is_better: bool
    llm_judge_prompt: str | None = None
    llm_judge_response: str | None = None
    code_execution_trace: str | None = None
    error: Error | None = None
