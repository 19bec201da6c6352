from __future__ import annotations

import json
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

import flyteplugins_codegen.packages.names as room
from flyteplugins_codegen.errors import PackageError
from flyteplugins_codegen.packages.names import check_name, distribution_for, requirements_of
from flyteplugins_codegen.packages.system import check_system_name
from flyteplugins_codegen.source.python import third_party_names


def needed(code, packages, base_packages=()):
    return requirements_of(third_party_names(code), packages, base_packages)


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("cv2", "opencv-python-headless"),  # the one that needs no display library
        ("PIL", "pillow"),
        ("PIL.Image", "pillow"),
        ("sklearn.linear_model", "scikit-learn"),
        ("yaml", "pyyaml"),
        ("pandas.DataFrame", "pandas"),
        ("flask_sqlalchemy", "flask-sqlalchemy"),
        ("IPython", "ipython"),
        ("google.cloud.storage.Client", "google-cloud-storage"),
        ("google.protobuf.message", "protobuf"),
        ("azure.storage.blob.BlobClient", "azure-storage-blob"),
        ("azure.identity", "azure-identity"),
        ("ruamel.yaml", "ruamel-yaml"),
        ("mysql.connector", "mysql-connector-python"),
    ],
)
def test_a_module_is_provided_by_its_distribution(module, distribution):
    assert distribution_for(module) == distribution


def test_the_table_holds_only_names_that_the_rule_does_not_give():
    def rule(module: str) -> str:
        return canonicalize_name(module.partition(".")[0])

    table = json.loads((Path(room.__file__).parent / "distributions.json").read_text())
    assert [module for module, name in table["modules"].items() if rule(module) == name] == []
    named = [*table["modules"].values(), *(name for names in table["alternatives"].values() for name in names)]
    assert [name for name in named if canonicalize_name(name) != name] == []


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("Pandas", "pandas"),
        (" scikit_learn >= 1.5, <2 ", "scikit-learn<2,>=1.5"),
        ("ruamel.yaml", "ruamel-yaml"),
        ("Requests[Socks, security]==2.*", "requests[security,socks]==2.*"),
        ("tomli; python_version<'3.11'", 'tomli ; python_version < "3.11"'),
    ],
)
def test_a_requirement_is_brought_to_normal_form(written, normal):
    assert check_name(written) == normal
    assert check_name(normal) == normal


@pytest.mark.parametrize(
    "refused",
    [
        "six @ https://files.example/six.whl",
        "git+https://host.example/x.git",
        "https://host.example/x.whl",
        "./local",
        "../up",
        "/etc/passwd",
        "C:\\x",
        "file:x",
        "-e .",
        "--index-url=http://host.example",
        "-r requirements.txt",
        "six\n--index-url http://host.example",
        "six # comment",
        "six --hash=sha256:00",
        "${HOME}",
        'six ; sys_platform == "${OPENAI_API_KEY}"',
        "six===1.0",
        "",
        "a b",
        "x" * 101,
        "x" * 5000,
        "six==" + "1." * 200 + "0",
    ],
)
def test_what_is_no_plain_name_on_the_index_is_refused_with_the_requirement_and_a_remedy(refused):
    with pytest.raises(PackageError, match=r"refused.*such as 'pandas") as caught:
        check_name(refused)
    assert caught.value.package[:20] == refused.strip()[:20]
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("refused", ["-y", "a; rm -rf /", "lib$(id)", "lib\nRUN x", "LIBX", "", "a" * 101, "x=1"])
def test_what_is_no_debian_package_is_refused(refused):
    with pytest.raises(PackageError, match="Debian"):
        check_system_name(refused)


def test_requirements_are_what_is_listed_and_what_is_imported_beyond_it():
    code = "import pandas, yaml, os\nfrom PIL import Image\n"
    assert needed(code, ["Pandas>=2.2"], ["pyarrow"]) == ("pandas>=2.2", "pillow", "pyarrow", "pyyaml")


@pytest.mark.parametrize(
    ("module", "listed"),
    [
        ("cv2", "opencv-contrib-python"),
        ("psycopg2", "psycopg2-binary>=2.9"),
        ("tensorflow", "tensorflow-cpu"),
        ("PIL", "pillow-simd"),
        ("google.cloud.storage", "google-cloud-storage==3.0"),
        ("yaml", "PyYAML"),
    ],
)
def test_a_module_that_a_listed_distribution_provides_adds_nothing(module, listed):
    assert needed(f"import {module}", [listed]) == (check_name(listed),)


def test_a_listed_import_name_means_its_distribution():
    code = "import sklearn, cv2, PIL, psycopg2"
    assert needed(code, ["sklearn>=1.5", "cv2", "PIL", "psycopg2"]) == (
        "opencv-python-headless",
        "pillow",
        "psycopg2-binary",
        "scikit-learn>=1.5",
    )


def test_listed_standard_modules_are_dropped_for_their_distributions_would_hide_them():
    assert needed("import json", ["json", "pathlib", "dataclasses", "typing", "six"]) == ("six",)


def test_a_bare_name_gives_way_to_a_more_exact_one():
    assert needed("", ["pandas", "pandas==2.3.0"], ["pandas", "pandas>=2"]) == ("pandas==2.3.0", "pandas>=2")


def test_requirements_do_not_depend_on_order():
    listed = ["six", "PyYAML", "pandas>=2", "lxml"]
    code = "import requests, numpy, bs4"
    assert needed(code, listed, ["attrs"]) == needed(code, [*listed[::-1], "Attrs"], [])


def test_a_refused_name_among_the_listed_fails_the_whole_list():
    with pytest.raises(PackageError, match=r"'\./local'"):
        needed("", ["six", "./local"])
