from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from flyteplugins_codegen.errors import IndexUnavailableError, PackageError, SettingsError
from flyteplugins_codegen.packages.resolve import RUNNER_REQUIREMENTS, resolve
from flyteplugins_codegen.store import ContentStore

NOWHERE = "http://somebody:hidden-word@127.0.0.1:9/simple"

pytestmark = pytest.mark.usefixtures("cache")


def test_a_lock_pins_every_distribution_with_hashes_and_names_no_index():
    lock = resolve(["python-dateutil==2.9.0.post0", "Six"])
    pins = re.findall(r"^([a-z0-9-]+)==\S+ ", lock.requirements, flags=re.MULTILINE)
    assert pins == ["python-dateutil", "six"]
    assert lock.requirements.count("--hash=sha256:") >= len(pins)
    assert "://" not in lock.requirements
    assert lock.packages == ("python-dateutil==2.9.0.post0", "six")
    assert lock.python == f"{sys.version_info.major}.{sys.version_info.minor}"


def test_a_lock_is_told_by_its_content_not_by_how_it_was_asked_for():
    one, same = resolve(["six==1.16.0"]), resolve(["Six == 1.16", "six==1.16.0"])
    assert one.requirements == same.requirements
    assert one.digest == same.digest
    with_system = resolve(["six==1.16.0"], system_packages=["libgomp1", "curl", "curl"])
    assert with_system.system_packages == ("curl", "libgomp1")
    assert len({one.digest, resolve(["six==1.15.0"]).digest, with_system.digest}) == 3


NO_PROCESS = """
import sys
from flyteplugins_codegen.packages.install import install
from flyteplugins_codegen.packages.resolve import resolve

def refuse(event, arguments):
    if event in {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}:
        raise SystemExit(f"started a process: {event} {arguments}")

sys.addaudithook(refuse)
print(resolve(sys.argv[1:]).digest)
"""


def test_the_second_resolution_of_a_set_starts_no_process():
    command = [sys.executable, "-c", NO_PROCESS, "six==1.16.0"]
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "started a process: subprocess.Popen" in first.stderr
    lock = resolve(["six==1.16.0"])
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert second.stdout.strip() == lock.digest


def test_a_lock_is_kept_in_the_store_that_is_given(tmp_path):
    store = ContentStore(tmp_path / "mine")
    resolve(["six"], store=store)
    assert len(list((tmp_path / "mine" / "locks").rglob("*.json"))) == 1


def test_no_packages_need_no_resolution(monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", NOWHERE)
    assert resolve([]).requirements == ""


def test_requirements_of_another_platform_lock_to_nothing():
    assert resolve(["six ; sys_platform == 'win32'"]).requirements.strip() == ""


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_the_runner_resolves_on_every_supported_python(python):
    lock = resolve(RUNNER_REQUIREMENTS, python=python)
    assert lock.python == python
    assert f"\n{RUNNER_REQUIREMENTS[0]} " in "\n" + lock.requirements
    assert ("exceptiongroup==" in lock.requirements) == (python == "3.10")


@pytest.mark.parametrize("python", ["2.7", "3", "latest", "3.11; rm"])
def test_what_is_no_python_version_is_refused(python):
    with pytest.raises(SettingsError, match="python version"):
        resolve(["six"], python=python)


@pytest.mark.parametrize(
    ("requirements", "package", "message"),
    [
        (["six", "Surely-Not-There-9x>=1"], "surely-not-there-9x", "no such distribution on the index"),
        (["six==99"], "six", "no release on the index matches"),
        (["six>99"], "six", "no release on the index matches"),
        (["python-dateutil==2.9.0", "six<1.5"], "", "together: Because .*six>=1.5"),
        (["six==1.15.0", "six==1.16.0"], "", "together: Because you require six==1.15.0 and six==1.16.0"),
        (["pywin32==312"], "pywin32", "only wheels are installed"),
    ],
)
def test_a_set_that_cannot_be_resolved_is_the_candidates_fault_and_says_why(requirements, package, message):
    with pytest.raises(PackageError, match=message) as caught:
        resolve(requirements)
    assert caught.value.package == package
    assert "\n" not in str(caught.value)


@pytest.fixture
def source_only_index(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of releases in addition to the index; one has no wheel, and its setup.py must never run."""
    links = tmp_path / "links"
    links.mkdir()
    with tarfile.open(links / "source_only-1.0.tar.gz", "w:gz") as archive:
        for name, text in (
            ("PKG-INFO", "Metadata-Version: 2.1\nName: source-only\nVersion: 1.0\n"),
            ("setup.py", "1/0"),
        ):
            entry = tarfile.TarInfo(f"source_only-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    monkeypatch.setenv("UV_FIND_LINKS", str(links))


@pytest.mark.usefixtures("source_only_index")
def test_a_release_without_wheels_is_refused_and_never_built():
    with pytest.raises(PackageError, match="package source-only: only wheels are installed") as caught:
        resolve(["source_only"])
    assert caught.value.package == "source-only"


def test_an_index_out_of_reach_is_not_the_candidates_fault_and_its_password_stays_unsaid(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", NOWHERE)
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(IndexUnavailableError, match=r"127\.0\.0\.1:9.*(?s:.*)reachable") as caught:
        resolve(["surely-not-cached-9x"])
    assert "hidden-word" not in str(caught.value)


def test_without_network_an_unknown_name_is_not_called_unknown(monkeypatch):
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(IndexUnavailableError, match="network was disabled"):
        resolve(["surely-not-cached-9x"])


def test_a_lock_that_the_disk_does_not_keep_is_given_all_the_same(tmp_path):
    (tmp_path / "file").write_text("")
    assert resolve(["six"], store=ContentStore(tmp_path / "file")) == resolve(["six"])


def test_a_missing_uv_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "uv", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(IndexUnavailableError, match="pip install uv"):
        resolve(["six"])
