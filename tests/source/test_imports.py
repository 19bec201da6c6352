from __future__ import annotations

import pytest

from flyteplugins_codegen.source.python import imported_modules, imported_names, third_party_modules, third_party_names

EVERYWHERE = """
from __future__ import annotations
import numpy as np, os.path
from pandas import DataFrame
from . import sibling
from .package import other

def work():
    import lxml.etree
    class Inner:
        from bs4 import BeautifulSoup

try:
    import ujson
except ImportError:
    import json
if True:
    import requests
"""


def test_absolute_imports_are_found_everywhere_and_relative_ones_are_left_out():
    assert imported_modules(EVERYWHERE) == (
        "__future__", "bs4", "json", "lxml", "numpy", "os", "pandas", "requests", "ujson",
    )  # fmt: skip


def test_the_standard_library_and_own_modules_are_not_third_party():
    code = "import os, json, solution, numpy\nfrom solution import work\nimport __main__\nimport helpers"
    assert third_party_modules(code) == ("helpers", "numpy")
    assert third_party_modules(code, own=("solution", "helpers")) == ("numpy",)


@pytest.mark.parametrize("guard", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_imports_for_type_checkers_do_not_count_but_their_else_does(guard):
    code = f"import typing\nif {guard}:\n    import pandas\nelse:\n    import polars\n"
    assert third_party_modules(code) == ("polars",)


def test_imports_that_run_outside_of_type_checking_count():
    assert third_party_modules("if not TYPE_CHECKING:\n    import pandas\n") == ("pandas",)


@pytest.mark.parametrize(
    "call", ["importlib.import_module('yaml')", "import_module('yaml.nodes')", "__import__('yaml')"]
)
def test_imports_by_a_call_with_a_literal_are_found(call):
    assert third_party_modules(f"module = {call}") == ("yaml",)


@pytest.mark.parametrize(
    "call",
    ["import_module(name)", "import_module('.near')", "import_module(3)", "import_module()", "other('x')", "f()('x')"],
)
def test_calls_that_name_no_absolute_module_are_left_alone(call):
    assert third_party_modules(call) == ()


def test_dotted_names_distinguish_namespace_packages():
    code = "from google.cloud import storage\nimport google.protobuf.message\nfrom os import path\nfrom yaml import *"
    assert third_party_names(code) == ("google.cloud.storage", "google.protobuf.message", "yaml")
    assert imported_names("from a import b as c") == ("a.b",)


@pytest.mark.parametrize("code", ["def f(:", "import", "x = '\0'", "(" * 5000 + ")" * 5000])
def test_code_that_does_not_parse_is_a_syntax_error(code):
    with pytest.raises(SyntaxError):
        imported_modules(code)


def test_text_that_only_looks_like_an_import_does_not_count():
    assert imported_modules('"""import pandas"""\n# import numpy\nx = "import six"') == ()
