"""Profiles of samples as Flyte tasks, for workflows and `pyflyte run`.

Not cached by Flyte: local execution keys a file by its path, whatever its content.
"""

from __future__ import annotations

from flytekit import task
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile

from flyteplugins_codegen.data import context, profile
from flyteplugins_codegen.flyte.cli import launchable
from flyteplugins_codegen.flyte.pods import POD_DEFAULTS
from flyteplugins_codegen.flyte.state import sample_paths
from flyteplugins_codegen.models.data import DataContext, PrivacyMode, SampleProfile
from flyteplugins_codegen.models.settings import Privacy
from flyteplugins_codegen.solution.flytekit import readable_errors


@launchable
@task(**POD_DEFAULTS)
@readable_errors
def profile_sample(sample: FlyteFile, name: str = "sample", max_sample_rows: int = 100) -> SampleProfile:
    """Profile all of a file: rows, columns, types, nulls, ranges, frequent values, shapes, keys, oddities.

    Args:
        sample: a table (CSV, Parquet, Arrow, ORC, JSON, Excel, packed or not), text, or anything else
        name: what the sample is called
        max_sample_rows: how many of its rows, chosen for variety, the profile holds at most
    """
    return profile.profile_sample(sample, name, max_sample_rows)


@launchable
@task(**POD_DEFAULTS)
@readable_errors
def profile_folder(sample: FlyteDirectory, name: str = "sample", max_sample_rows: int = 100) -> SampleProfile:
    """Profile a folder of parts as the one table that they are.

    Args:
        sample: a folder of files of one format and the same columns
        name: what the sample is called
        max_sample_rows: how many of its rows, chosen for variety, the profile holds at most
    """
    return profile.profile_sample(sample, name, max_sample_rows)


@launchable
@task(**POD_DEFAULTS)
@readable_errors
def extract_data_context(
    samples: dict[str, FlyteFile],
    max_sample_rows: int = 100,
    privacy: PrivacyMode = "masked",
    private_columns: list[str] | None = None,
) -> DataContext:
    """Profile several samples, find the keys between them, and write what a model may see of them.

    Args:
        samples: a JSON object of names and files
        max_sample_rows: how many rows of a sample the text shows at most
        privacy: masked shows rows with personal values replaced, rows shows them as they are, profile shows statistics
        private_columns: columns whose values are private, each as column or sample.column
    """
    rules = Privacy(mode=privacy, columns=tuple(private_columns or ()))
    return context.extract_data_context(sample_paths(samples), max_sample_rows, rules)
