from __future__ import annotations

import json
import re

import pytest

from flyteplugins_codegen.errors import PackageError, SettingsError
from flyteplugins_codegen.models.environment import EnvironmentLock
from flyteplugins_codegen.models.settings import ImageConfig
from flyteplugins_codegen.packages.images.containerfile import (
    image_name,
    render_containerfile,
    render_environment,
    requirement_files,
)
from flyteplugins_codegen.packages.system import missing_system_packages

LOCK = EnvironmentLock(
    packages=("six",),
    system_packages=("libgomp1",),
    requirements="six==1.17.0 --hash=sha256:00\n",
    python="3.11",
    platform="linux-x86_64",
    digest="d" * 64,
)

# The grammar of a reference in the distribution project, tag included.
REFERENCE = re.compile(
    r"(?:[a-zA-Z0-9.-]+(?::[0-9]+)?/)?[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
    r"(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*:[\w][\w.-]{0,127}"
)


def instructions(text: str) -> list[tuple[str, str]]:
    """Instruction and arguments, line continuations joined."""
    lines = text.replace("\\\n", "").splitlines()
    return [(line.split(" ", 1)[0], " ".join(line.split(" ", 1)[1].split())) for line in lines]


def test_what_changes_least_comes_first_and_the_solution_last():
    found = instructions(render_containerfile(LOCK))
    assert found[0] == ("FROM", "python:3.11-slim")
    order = [
        next(index for index, (name, rest) in enumerate(found) if name == wanted and part in rest)
        for wanted, part in (
            ("RUN", "apt-get install --yes --no-install-recommends libgomp1"),
            ("COPY", "requirements.txt"),
            ("RUN", "pip install"),
            ("COPY", "launcher.py solution.py"),
            ("USER", "1000"),
            ("ENTRYPOINT", "launcher.py"),
        )
    ]
    assert order == sorted(order)


def test_packages_are_installed_from_hashes_and_wheels_only():
    (install,) = [rest for name, rest in instructions(render_containerfile(LOCK)) if "pip install" in rest]
    for option in ("--require-hashes", "--no-deps", "--only-binary :all:"):
        assert option in install


def test_a_distribution_s_own_python_is_told_to_take_packages():
    (install,) = [rest for name, rest in instructions(render_containerfile(LOCK)) if "pip install" in rest]
    assert " PIP_BREAK_SYSTEM_PACKAGES=1 python -m pip " in install


PANDAS = """\
numpy==2.0 --hash=sha256:01
pandas==2.2 \\
    --hash=sha256:02
    --hash=sha256:03
six==1.17.0 --hash=sha256:04
"""


def with_pins(requirements: str) -> EnvironmentLock:
    return LOCK.model_copy(update={"requirements": requirements, "system_packages": ()})


def test_pandas_has_a_layer_that_other_packages_do_not_change():
    alone, more = with_pins(PANDAS), with_pins("lxml==5.0 --hash=sha256:05\n" + PANDAS)
    assert requirement_files(alone) == {"requirements.txt": PANDAS, "requirements-shared.txt": PANDAS}
    assert requirement_files(more)["requirements-shared.txt"] == PANDAS
    before, after = (instructions(render_environment(lock)) for lock in (alone, more))
    assert after[: len(before)] == before
    assert [name for name, _ in after[len(before) :]] == ["COPY", "RUN"]
    assert after[-1][1].endswith("--requirement /app/requirements.txt")


def test_without_pandas_there_is_one_layer_of_packages():
    assert requirement_files(LOCK) == {"requirements.txt": LOCK.requirements}
    assert requirement_files(with_pins("")) == {}


def test_labels_are_quoted():
    text = render_containerfile(LOCK, labels={"a.b": 'c"d'})
    assert ("LABEL", 'a.b="c\\"d"') in instructions(text)


def test_what_is_not_needed_is_left_out():
    bare = LOCK.model_copy(update={"requirements": "", "system_packages": ()})
    text = render_containerfile(bare)
    assert "pip" not in text
    assert "apt-get" not in text


def test_arguments_reach_the_launcher_as_they_are():
    arguments = ('--name=a "b" \\ $HOME', "line\nbreak", "é")
    text = render_containerfile(LOCK, launcher_arguments=arguments)
    (entry,) = [rest for name, rest in instructions(text) if name == "ENTRYPOINT"]
    assert json.loads(entry)[2:] == list(arguments)


def test_base_image_version_and_system_packages_are_taken():
    text = render_containerfile(LOCK.model_copy(update={"system_packages": ("curl", "libgomp1")}), "3.12")
    assert text.startswith("FROM python:3.12-slim\n")
    assert "recommends curl libgomp1 " in text
    assert render_containerfile(LOCK, None, "localhost:5000/base/py:1@sha256:" + "a" * 64).startswith("FROM localhost")


@pytest.mark.parametrize("base", ["python:3.11\nRUN id", "Python:3", "a b", "https://x/y", "python:3.11 AS x", "-x"])
def test_a_base_image_that_is_no_reference_is_refused(base):
    with pytest.raises(SettingsError, match="base image"):
        render_containerfile(LOCK, base_image=base)


def test_a_version_or_a_system_package_that_would_add_a_line_is_refused():
    with pytest.raises(SettingsError):
        render_containerfile(LOCK, "3.11\nRUN id")
    with pytest.raises(PackageError):
        render_containerfile(LOCK.model_copy(update={"system_packages": ("curl && id",)}))


@pytest.mark.parametrize(
    "name",
    ["auto-coder", "Rainy Days!", "__x__", "Ünïcödé", "日本語", "", "-", "a" * 500, "a" * 99 + "-b", "a/../b", "x:y@z"],
)
@pytest.mark.parametrize("registry", [None, "localhost:5000", "Host.example:443/team/sub_a", "team"])
def test_every_agent_name_gives_a_valid_reference(name, registry):
    found = image_name(name, LOCK, "code", ImageConfig(registry=registry))
    assert REFERENCE.fullmatch(found)
    assert re.fullmatch(r"[0-9a-f]{16}", found.rpartition(":")[2])
    assert found.startswith(f"{registry}/" if registry else "")
    assert len(found) < 255


def test_the_tag_names_the_content():
    config = ImageConfig(registry="localhost:5000")
    first = image_name("x", LOCK, "code", config)
    assert first == image_name("x", LOCK.model_copy(), "code", config)
    others = [
        image_name("x", LOCK, "other", config),
        image_name("x", LOCK.model_copy(update={"digest": "e" * 64}), "code", config),
        image_name("x", LOCK, "code", config.model_copy(update={"base_image": "debian:12"})),
        image_name("x", LOCK, "code", config.model_copy(update={"platform": "linux/arm64"})),
    ]
    assert len({first, *others}) == 5


@pytest.mark.parametrize(
    "registry", ["https://host.example", "host.example/Team", "a b", "host:port", "../x", "host//x"]
)
def test_a_registry_that_cannot_be_one_is_refused(registry):
    with pytest.raises(SettingsError, match="registry"):
        image_name("x", LOCK, "", ImageConfig(registry=registry))


def test_missing_system_packages_are_told_by_dpkgs_files(tmp_path):
    for name in ("libc6:amd64.list", "curl.list", "libgomp1-dev.list"):
        (tmp_path / name).touch()
    lock = LOCK.model_copy(update={"system_packages": ("curl", "libc6", "libgomp1")})
    assert missing_system_packages(lock, tmp_path) == ("libgomp1",)
    assert missing_system_packages(lock, tmp_path / "no-dpkg") == ()
