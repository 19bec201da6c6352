"""The solution beside this file as a Flyte task.

    pyflyte run task.py rainy_days --weather ...
    pyflyte register task.py
"""

from pathlib import Path

from flyteplugins_codegen.flyte.sandbox_task import SandboxTask
from flyteplugins_codegen.models.pods import PodSettings
from flyteplugins_codegen.models.resources import Resources
from flyteplugins_codegen.models.settings import SecretReference
from flyteplugins_codegen.stages.execute import ExecutionOptions

rainy_days = SandboxTask.from_folder(
    Path(__file__).parent,
    name="rainy-days",
    inputs={
        "weather": "file",
    },
    outputs={
        "rainy_days": "int",
        "monthly": "file",
    },
    image="rainy-days:81d753b4e9809db4",
    python="3.11",
    options=ExecutionOptions(resources=Resources(cpu="2", mem="2Gi"), timeout_s=600.0, env_vars={"LANG": "C.UTF-8"}, pod=PodSettings(runtime_class="gvisor", labels={"team": "weather"}, tmp_size="1Gi")),
    secrets=[SecretReference(key="TOKEN", group="team")],
)
