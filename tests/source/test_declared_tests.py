"""Counting the tests that a source declares, compared with those that pytest collects."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from flyteplugins_codegen.source.tests import asserts_something, declared_tests

EVERYTHING = """
import unittest
import pytest

CASES = [(1, 2), (3, 4), (5, 6)]

def helper(): pass
class Helper:
    def test_not_mine(self): pass

@pytest.fixture
def test_data(): return 1

def test_plain(): pass
async def test_async(): pass

@pytest.mark.parametrize("x", [1, 2, 3])
@pytest.mark.parametrize("y", ("a", "b"))
def test_product(x, y): pass

@pytest.mark.parametrize(("a", "b"), CASES, ids=["one", "two", "three"])
def test_named_cases(a, b): pass

@pytest.mark.parametrize(argnames="x", argvalues=[pytest.param(1, id="one"), 2])
def test_keywords(x): pass

@pytest.mark.parametrize("x", range(4))
def test_computed(x): pass

@pytest.mark.parametrize("x", [])
def test_no_cases(x): pass

try:
    import json
except ImportError:
    pass
else:
    def test_in_else(): pass

if pytest:
    def test_in_if(): pass

if __name__ == "__main__":
    def test_main_only(): pass

class TestThings:
    pytestmark = [pytest.mark.parametrize("z", [1, 2])]
    def test_a(self, z): pass
    def helper(self): pass
    class TestInner:
        def test_b(self, z): pass

@pytest.mark.parametrize("w", [1, 2])
class TestMarked:
    def test_c(self, w): pass

class TestBuilt:
    def __init__(self): pass
    def test_d(self): pass

class TestOff:
    __test__ = False
    def test_e(self): pass

class Case(unittest.TestCase):
    def test_f(self): pass
    def testG(self): pass

def test_twice(): pass
def test_twice(): pass
"""


def collected(folder: Path, source: str) -> Counter[str]:
    (folder / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    finished = subprocess.run(
        [*command, f"--rootdir={folder}", "test_it.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    names = [line.partition("::")[2] for line in finished.stdout.splitlines() if "::" in line]
    return Counter(name.partition("[")[0] for name in names)


def test_every_kind_of_test_is_counted_as_pytest_collects_it(tmp_path: Path) -> None:
    declared = Counter(name.partition("[")[0] for name in declared_tests(EVERYTHING))
    found = collected(tmp_path, EVERYTHING)
    assert found.pop("test_computed") == 4
    assert declared.pop("test_computed") == 1
    assert declared == found


def test_cases_are_numbered_by_position() -> None:
    source = "@pytest.mark.parametrize('x', ['b', 'a'])\ndef test_x(x): pass\ndef test_y(): pass"
    assert declared_tests(source) == ("test_x[0]", "test_x[1]", "test_y")


def test_a_list_that_is_assigned_twice_counts_once() -> None:
    source = "C = [1, 2]\nC = [1]\n@pytest.mark.parametrize('x', C)\ndef test_x(x): pass"
    assert declared_tests(source) == ("test_x",)


def test_a_huge_product_of_cases_stays_bounded() -> None:
    marks = "@pytest.mark.parametrize('x', [" + "0," * 200 + "])\n"
    assert len(declared_tests(marks * 4 + "def test_x(x): pass")) == 10_000


@pytest.mark.parametrize("source", ["def test_a(:", "\0", "(" * 5000, "-" * 200_000 + "1"])
def test_text_that_is_not_python_is_a_syntax_error(source: str) -> None:
    with pytest.raises(SyntaxError):
        declared_tests(source)


@pytest.mark.parametrize(
    "body",
    [
        "assert x == 1",
        "with pytest.raises(ValueError): f()",
        "self.assertEqual(f(), 1)",
        "numpy.testing.assert_allclose(f(), 1)",
        "pytest.fail('no')",
        "self.fail('no')",
        "assert False, 'f did not raise'",
    ],
)
def test_a_check_is_recognised(body: str) -> None:
    assert asserts_something(f"def test_a():\n    {body}")


@pytest.mark.parametrize(
    "body",
    [
        "f()\n    print(f())",
        "assert True",
        "assert 1, f()",
        "assert 'f works'",
        "failover(f())",
        "f.fail()",
        "assert f() == f()",
        "x = f()\n    assert x is x and x >= x",
        "assert 'a' == 'a'",
        "assert f() or True",
        "assert (f() == 1, 'a tuple is always true')",
        "assert not None",
        "self.assertEqual(x, x)",
        "self.assertTrue(True)",
        "try:\n        assert f() == 1\n    except AssertionError:\n        pass",
        "try:\n        assert f() == 1\n    except:\n        print('no')",
        "try:\n        self.assertEqual(f(), 1)\n    except (ValueError, Exception) as error:\n        print(error)",
        "with contextlib.suppress(Exception):\n        assert f() == 1",
        "return\n    assert f() == 1",
        "if False:\n        assert f() == 1",
        "while 0:\n        assert f() == 1",
        "def never():\n        assert f() == 1",
    ],
)
def test_what_cannot_fail_is_not_a_check(body: str) -> None:
    assert not asserts_something(f"def test_a(self):\n    {body}")


@pytest.mark.parametrize(
    "body",
    [
        "try:\n        f()\n    except ValueError:\n        assert f() == 1",
        "try:\n        assert f() == 1\n    except ValueError:\n        pass",
        "try:\n        assert f() == 1\n    except AssertionError:\n        raise",
        "try:\n        assert f() == 1\n    except Exception as error:\n        pytest.fail(str(error))",
        "try:\n        f()\n    except Exception:\n        pass\n    else:\n        assert f() == 1",
        "with contextlib.suppress(ValueError):\n        assert f() == 1",
        "for x in f():\n        if x:\n            assert x == 1",
        "def inner():\n        assert f() == 1\n    inner()",
        "assert f() != f()",
        "assert f() == g()",
        "assert 1 <= f() <= 1",
        "check = [pytest.raises(ValueError)]",
    ],
)
def test_a_check_in_a_block_is_recognised(body: str) -> None:
    assert asserts_something(f"def test_a():\n    {body}")


def test_a_check_below_hundreds_of_branches_is_recognised() -> None:
    branches = "".join(f"    elif x == {number}:\n        pass\n" for number in range(700))
    start = "def test_a():\n    if x:\n        pass\n"
    assert asserts_something(f"{start}{branches}    else:\n        assert x\n")
    assert not asserts_something(f"{start}{branches}")


def test_a_check_in_a_helper_or_a_fixture_counts_if_it_is_used() -> None:
    helper = "def check(x):\n    assert x == 1\n"
    assert asserts_something(f"{helper}def test_a():\n    check(f())\n")
    assert not asserts_something(f"{helper}def test_a():\n    f()\n")
    assert asserts_something("@pytest.fixture\ndef x():\n    assert f()\n\ndef test_a(x):\n    pass\n")
