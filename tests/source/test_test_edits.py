"""Merging two test modules: the result is run, because all tests of both must still run and mean the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flyteplugins_codegen.source.test_edits import merge_tests
from flyteplugins_codegen.source.tests import declared_tests

FIRST = '''\
"""Mine."""
import json

import pytest

LIMIT = 1


@pytest.fixture
def number():
    return 1


def run(x):  # a comment stays
    return x + LIMIT


def test_run(number):
    assert run(number) == 2
'''
SECOND = '''\
"""Theirs."""
from __future__ import annotations

import json
import pytest
from math import floor as run

LIMIT = 10


@pytest.fixture
def number():
    return 10.5


class Case:
    def check(self, number=LIMIT):
        return run(number)


def test_run(number):
    assert run(number) == LIMIT == Case().check(number=number)


@pytest.mark.parametrize("x", [1, 2])
def test_more(x):
    assert json.loads("1") < LIMIT + x


if __name__ == "__main__":
    pytest.main()
'''


def test_all_tests_of_both_modules_run_and_keep_their_meaning(tmp_path):
    merged = merge_tests(FIRST, SECOND)
    (tmp_path / "test_merged.py").write_text(merged)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_merged.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "4 passed" in ran.stdout, ran.stdout
    lines = iter(merged.splitlines())
    assert all(line in lines for line in FIRST.splitlines()), "every line of the first, in order"
    assert declared_tests(merged) == ("test_run", "test_run_2", "test_more[0]", "test_more[1]")


def test_statements_that_exist_already_are_not_repeated():
    assert merge_tests(FIRST, FIRST) == FIRST
    again = "import json\n\n\ndef test_run(number):\n    assert run(number) == 2\n\n\ndef test_b():\n    assert json\n"
    assert merge_tests(FIRST, again) == FIRST + "\n\ndef test_b():\n    assert json\n"


def test_added_imports_follow_the_existing_ones():
    merged = merge_tests(
        "import json\n\n\ndef test_a():\n    assert json\n", "import csv\n\ndef test_b():\n    assert csv\n"
    )
    assert merged.startswith("import json\nimport csv\n\n\ndef test_a()")
    assert merge_tests("def test_a():\n    assert a\n", "import csv\nassert csv\n").endswith(
        "import csv\n\n\nassert csv\n"
    )


def test_a_name_that_is_numbered_already_gets_the_next_number():
    added = "def test_a():\n    assert a\n\n\ndef test_a_2():\n    assert b\n"
    merged = merge_tests("def test_a():\n    assert c\n", added)
    assert declared_tests(merged) == ("test_a", "test_a_3", "test_a_2")


def test_setting_an_item_of_an_import_does_not_rename_it():
    added = 'import os\n\nos.environ["A"] = "1"\n\n\ndef test_b():\n    assert os\n'
    merged = merge_tests("import os\n\n\ndef test_a():\n    assert os\n", added)
    assert "os_2" not in merged


def test_a_name_that_a_loop_binds_is_renamed_if_it_is_taken():
    merged = merge_tests("def case(): ...\n\n\ndef test_a():\n    case()\n", "for case in (1, 2):\n    assert case\n")
    assert merged.endswith("for case_2 in (1, 2):\n    assert case_2\n")


def test_text_that_is_not_python_is_refused():
    with pytest.raises(SyntaxError):
        merge_tests(FIRST, "def test(:")
