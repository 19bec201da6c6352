"""Outputs of which no test asserts a value: told where it is certain, and only there."""

from __future__ import annotations

import pytest
from good_suites import GOOD_SUITES, OUTPUTS, SOLUTION
from strong_suites import JOBS
from vacuous_suites import VACUOUS_SUITES, vacuous_suite

from benchmarks.repair.tasks import TASKS
from flyteplugins_codegen.source.vacuity import unasserted_outputs

SUITE = """
import csv, json, math, os
from pathlib import Path
import pandas as pd
import pytest
import solution
from solution import main

OUT = Path("/var/outputs")

def read(name):
    return (OUT / name).read_text()

def run(tmp_path):
    main(["--data", str(tmp_path / "data")])
    return read("total")

def test_it(tmp_path):
    total = run(tmp_path)
    path = OUT / "total"
    CHECK
"""


def lacking(check, *outputs):
    return unasserted_outputs([SUITE.replace("CHECK", check)], outputs or ("total",))


@pytest.mark.parametrize(
    "check",
    [
        "assert total",
        "assert total.strip()",
        "assert total is not None",
        "assert float(total) is not None",
        "assert float(total) >= 0",
        "assert 0 <= float(total) <= 1",
        "assert math.isfinite(float(total))",
        "assert isinstance(json.loads(total), dict)",
        "assert type(json.loads(total)) == dict",
        "assert path.exists() and path.stat().st_size > 0",
        "assert not not path.is_file() or path.exists()",
        "assert len(total.splitlines()) > 0",
        "assert total != ''",
        "assert 'total' in os.listdir(OUT)",
        "assert list(pd.read_csv(path).columns) == ['a', 'b']",
        "assert list(csv.DictReader(path.open()))",
        "assert 1 + 1 == 2",
        "assert main is not None",
        "assert read('total') == read('total')",
        "once = read('total')\n    again = read('total')\n    assert once == again",
        "unittest.TestCase().assertGreater(float(total), 0)",
        "unittest.TestCase().assertEqual(list(pd.read_csv(path).columns), ['a', 'b'])",
        "import contextlib\n    with contextlib.suppress(AssertionError):\n        assert total == '5'",
        "names = sorted(p.name for p in OUT.iterdir())\n    assert names == ['total']",
        "assert -1 <= float(total) <= 1",
        "assert 'nan' not in total.lower()",
    ],
)
def test_a_suite_that_only_looks_whether_an_output_is_there_asserts_no_value(check):
    assert lacking(check) == ("total",)


@pytest.mark.parametrize(
    "check",
    [
        "assert total == '5'",
        "assert '5' == total",
        "assert float(total) == pytest.approx(5)",
        "assert float(total) > 4.5",
        "assert total.startswith('5')",
        "assert json.loads(total)['ok']",
        "assert json.loads(total)['ok'] is True",
        "assert json.loads(total)['x'] is None",
        "assert not json.loads(total)",
        "assert math.isclose(float(total), 5)",
        "assert math.isnan(float(total))",
        "assert pd.read_csv(path).equals(pd.DataFrame())",
        "pd.testing.assert_frame_equal(pd.read_csv(path), 3)",
        "unittest.TestCase().assertEqual(total, '5')",
        "assert {p.name: p.read_text() for p in OUT.iterdir()} == {'x': '5'}",
        "if total != '5':\n        pytest.fail('no')",
        "missing = {'a'} - set(total.split())\n    assert not missing",
        "rows = []\n    rows.append(total)\n    assert rows == ['5']",
        "for row in csv.reader(path.open()):\n        last = row\n    assert last == ['5']",
        "with open('/var/outputs/total') as file:\n        assert file.read() == '5'",
        "with open(f'/var/outputs/{here}') as file:\n        assert file.read() == '5'",
        "with open(elsewhere(), encoding='utf-8') as file:\n        assert file.read() == '5'",
        "assert [p.read_text() for p in OUT.glob('*')] == ['5']",
        "check(total, 5)",
        "match total:\n        case '5':\n            pass",
        "assert solution.compute(3) == 5",
    ],
)
def test_a_value_that_is_asserted_in_any_way_is_found(check):
    assert lacking(check) == ()


def test_every_output_counts_for_itself():
    assert lacking("assert total == '5'\n    assert read('n')", "total", "n") == ("n",)
    assert lacking("assert total == '5'\n    assert read('n') == '1'", "total", "n") == ()


def test_a_helper_may_assert_and_a_fixture_may_read():
    suite = """
import pytest
from pathlib import Path
from solution import main

@pytest.fixture
def outcome(tmp_path):
    main([])
    return Path("/var/outputs/total").read_text()

def expect(value):
    assert value == "5"

def test_a(outcome):
    expect(outcome)
"""
    assert unasserted_outputs([suite], ("total",)) == ()
    assert unasserted_outputs([suite.replace('value == "5"', "value")], ("total",)) == ("total",)


def test_names_given_by_parametrize_are_followed():
    suite = """
import pytest
from pathlib import Path

@pytest.mark.parametrize(("name", "expected"), [("total", "5"), ("n", "1")])
def test_outputs(name, expected):
    assert Path("/var/outputs", name).read_text() == expected
"""
    assert unasserted_outputs([suite], ("total", "n", "other")) == ("other",)


def test_a_value_asserted_by_one_of_several_suites_is_asserted():
    readable, exact = (SUITE.replace("CHECK", check) for check in ("assert total", "assert total == '5'"))
    assert unasserted_outputs([readable, exact], ("total",)) == ()


@pytest.mark.parametrize("name", GOOD_SUITES)
def test_a_suite_that_pins_every_output_is_never_called_vacuous_however_it_is_written(name):
    assert unasserted_outputs([GOOD_SUITES[name]], OUTPUTS, SOLUTION) == ()
    assert unasserted_outputs([GOOD_SUITES[name]], OUTPUTS) == ()


@pytest.mark.parametrize("name", VACUOUS_SUITES)
def test_a_suite_that_holds_no_value_is_found_however_it_is_written(name):
    assert set(unasserted_outputs([vacuous_suite(name)], OUTPUTS, SOLUTION)) == set(VACUOUS_SUITES[name][1])


@pytest.mark.parametrize(
    "check",
    [
        "assert df[df.columns[0]].tolist() == [1]",
        "assert read('total') == 'price'",
        "assert total.split()[0] == 'north'",
        "assert {'north', 'south'} == set(json.loads(total))",
        "assert all(map(math.isclose, json.loads(total), [5]))",
        "assert float(total) == sum(float(line) for line in DATA)",
        "assert 4.9 < float(total) < 5.1",
        "expected = 5\n    assert float(total) == expected",
        "try:\n        assert total == '5'\n    except AssertionError:\n        raise",
        "ok = total == '5'\n    assert ok",
        "def both():\n        return read('total'), '5'\n    got, wanted = both()\n    assert got == wanted",
        "try:\n        same = total == '5'\n    except ValueError:\n        same = False\n    assert same",
    ],
)
def test_what_looks_like_a_check_of_columns_or_of_an_output_with_itself_counts_where_it_may_be_more(check):
    df = "df = pd.read_csv(path)\n    "
    assert unasserted_outputs([SUITE.replace("CHECK", df + check)], ("total",), SOLUTION) == ()


def test_an_output_that_is_compared_with_another_is_asserted_if_that_one_is():
    link = "assert float(read('total')) == len(read('rows').split())"
    assert lacking(link, "total", "rows") == ("total", "rows")
    assert lacking(f"{link}\n    assert read('rows') == 'a b'", "total", "rows") == ()
    assert lacking(f"{link}\n    assert read('rows')", "total", "rows") == ("total", "rows")


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_strong_suites_are_never_called_vacuous(job):
    assert unasserted_outputs([job.strong], job.outputs) == ()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_suites_of_the_repair_benchmark_are_never_called_vacuous(task):
    assert unasserted_outputs([task.suite], task.outputs) == ()


def test_suites_that_look_for_outputs_only_are_found():
    found = [job.name for job in JOBS if unasserted_outputs([job.thin], job.outputs)]
    assert len(found) == len(JOBS) - 1  # that of "grades" asserts the names in a table


def test_names_that_stand_for_ever_more_names_end():
    lines = ["    x0 = read('total')", *(f"    x{n} = x{n - 1} + x{n - 1} + x{n - 1} + x{n - 1}" for n in range(1, 40))]
    suite = SUITE.replace("    CHECK", "\n".join([*lines, "    assert x39 == '5'", "    assert x39 == x38"]))
    assert unasserted_outputs([suite], ("total",)) == ()


def test_text_that_is_no_python_is_refused():
    with pytest.raises(SyntaxError):
        unasserted_outputs(["def test(:"], ("total",))
