"""See what a model would see of your data, and profile files and folders, with `pyflyte run`; no model is called.

pyflyte run workflows/profile.py profile_sample --sample workflows/data/seattle-weather.csv --name weather
pyflyte run workflows/profile.py extract_data_context --samples '{"weather": "workflows/data/seattle-weather.csv"}'

`pyflyte run workflows/profile.py profile_folder --help` explains every option.
"""

from __future__ import annotations

from flyteplugins_codegen.flyte import data
from flyteplugins_codegen.flyte.cli import with_defaults

profile_sample = with_defaults(data.profile_sample)
profile_folder = with_defaults(data.profile_folder)
extract_data_context = with_defaults(data.extract_data_context)

__all__ = ["extract_data_context", "profile_folder", "profile_sample"]
