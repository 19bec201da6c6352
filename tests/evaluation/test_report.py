"""The report: one file, opened in a real browser, wide and narrow, light and dark; no text of a sample is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Page, browser_page

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.evaluation.evaluation import Evaluation, summarize
from flyteplugins_codegen.evaluation.scores import ProblemFlaw
from flyteplugins_codegen.evaluation.values import OUTCOMES, Sample, SampleResult

HOSTILE = "</script><img src=x onerror=\"console.error('run')\"><!--\0\u2028\ud800 & 'quoted'"
PROBLEMS, TRIES = 13, 10


def samples() -> list[Sample]:
    tasks = [f"Task/{number}" for number in range(PROBLEMS - 1)] + [f"Hostile {HOSTILE}"]
    code = "def f():\n    return {}  # " + HOSTILE
    return [Sample(task_id=task, solution=code.format(number)) for task in tasks for number in range(TRIES)]


def evaluation(given: list[Sample], *, shift: int = 0) -> Evaluation:
    """Samples with every outcome; with a shift, another run in which some problems have other outcomes."""
    ends = [
        SampleResult(
            task_id=sample.task_id,
            index=index,
            outcome=OUTCOMES[index * (7 + (shift if index < 60 else 0)) % len(OUTCOMES)],
            reason=f"reason {index}: {HOSTILE}\nsecond line",
            sample_id="" if index % 2 else f"id-{HOSTILE}",
            cpu_s=index / 100,
            attempts=1 + index % 2,
        )
        for index, sample in enumerate(given)
    ]
    flaws = [ProblemFlaw(f"Flaw {HOSTILE}", HOSTILE)]
    categories = {given[0].task_id: f"category {HOSTILE}"}
    doubts = {
        "flaws": flaws,
        "unanswered": [f"Unanswered {number} {HOSTILE}" for number in range(200)],
        "skipped": [f"skipped {HOSTILE}"],
    }
    return summarize(ends, (1, 10, 100), categories=categories, **doubts)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = samples()
    path = tmp_path_factory.mktemp("report") / "report.html"
    return evaluation(given).report(path, samples=given, before=evaluation(given, shift=1), title=f"Run {HOSTILE}")


@pytest.fixture(scope="module")
def page(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("browser")) as opened:
        opened.open(report)
        yield opened


def texts(page: Page, selector: str) -> Any:
    return page.evaluate(f"[...document.querySelectorAll({selector!r})].map(each => each.textContent)")


def click(page: Page, selector: str) -> None:
    page.evaluate(f"document.querySelector({selector!r}).click()")


def choose(page: Page, *, task: str = "", outcome: str = "") -> str:
    page.evaluate(
        f"task.value = {task!r}; task.dispatchEvent(new Event('input'));"
        f"outcome.value = {outcome!r}; outcome.dispatchEvent(new Event('change'))"
    )
    return str(page.evaluate("found.textContent"))


def test_the_page_requests_nothing_and_has_no_errors(page: Page, report: Path) -> None:
    assert page.evaluate("document.images.length") == 0
    assert page.evaluate("document.scripts.length") == 2
    assert page.requests == [report.as_uri()]
    assert page.complaints == []


def test_the_page_shows_scores_outcomes_problems_and_the_slowest_samples(page: Page) -> None:
    headings = texts(page, "h2")
    assert headings == ["Scores", "Against the earlier run", "Problems", "Slowest samples", "Samples"]
    text = page.evaluate("document.body.innerText")
    for expected in ("130 samples of 13 problems; 13 that the machine failed are not counted", "pass@10", "p = "):
        assert expected in text
    assert len(texts(page, ".matrix .strip")) == PROBLEMS
    assert texts(page, "h3") == ["Worse: 6"]
    assert texts(page, ".link")[0].endswith("#129")
    assert texts(page, "td details:not([open]) summary") == ["200 problems"]


def test_every_string_is_shown_unchanged(page: Page) -> None:
    shown = HOSTILE.replace("\0", "\ufffd").replace("\ud800", "\\ud800")
    assert texts(page, "h1") == [f"Run {shown}"]
    assert f"category {shown}" in texts(page, "td")
    assert f"Flaw {shown}" in texts(page, "td")
    assert f"Unanswered 199 {shown}" in texts(page, "td details")[0]


def test_samples_are_listed_by_problem_and_by_outcome_page_by_page(page: Page) -> None:
    assert choose(page) == "1 to 50 of 130 samples"
    click(page, "#next")
    click(page, "#next")
    assert page.evaluate("found.textContent") == "101 to 130 of 130 samples"
    assert page.evaluate("next.disabled") is True
    click(page, "#previous")
    assert page.evaluate("found.textContent") == "51 to 100 of 130 samples"
    assert choose(page, outcome="forged") == "1 to 13 of 13 samples"
    assert choose(page, task="task/1", outcome="forged") == "1 to 3 of 3 samples"
    assert choose(page, task="no such problem") == "no such sample"


def test_a_problem_shows_its_own_samples_with_reason_and_code(page: Page) -> None:
    click(page, "button[data-task='Task/1']")
    assert page.evaluate("found.textContent") == "1 to 10 of 10 samples"
    page.evaluate("list.children[2].open = true; list.children[2].dispatchEvent(new Event('toggle'))")
    assert texts(page, "#list .code") == [samples()[12].solution]
    assert texts(page, "#list .reason")[0].startswith("reason 12: </script><img")
    assert "judged by values, 0.12 s CPU" in texts(page, "#list p")[0]


def test_a_slow_sample_is_opened_where_it_is_listed(page: Page) -> None:
    choose(page, outcome="passed")
    click(page, "button[data-sample='125']")
    assert page.evaluate("list.querySelector('details[open] summary').textContent").count("#125") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_is_readable(page: Page, width: int, scheme: str) -> None:
    page.show_as(width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink = [int(part) for part in re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).color"))[:3]]
    assert (sum(ink) > 600) is (scheme == "dark")
    rows = page.evaluate("[...document.querySelectorAll('section tr')].map(row => row.offsetHeight)")
    assert sorted(rows)[len(rows) // 2] < 40  # no cell of figures is broken into lines
    columns = page.evaluate(
        "new Set([...document.querySelectorAll('.matrix .strip')].map(e => e.getBoundingClientRect().left)).size"
    )
    assert (columns == 1) is (width == 400)


def test_samples_of_other_problems_are_refused(tmp_path: Path) -> None:
    given = samples()
    with pytest.raises(RequestError, match="is number 0"):
        evaluation(given).report(tmp_path / "report.html", samples=reversed(given))
    assert not list(tmp_path.iterdir())


def test_programs_beyond_what_a_page_holds_are_left_out(tmp_path: Path) -> None:
    # Each is cut to 20,000 characters; 16 MiB hold 838 of them.
    given = [Sample(task_id="T", solution=f"{number} " + "x" * 30_000) for number in range(900)]
    ends = [SampleResult(task_id="T", index=index, outcome="passed") for index in range(900)]
    path = summarize(ends, (1,)).report(tmp_path / "report.html", samples=given)
    assert 16 << 20 < path.stat().st_size < 18 << 20


def test_a_notebook_shows_the_scores() -> None:
    shown = evaluation(samples())._repr_html_()
    assert "pass@1" in shown
    assert "<script" not in shown
    assert "too few samples" in shown


COLUMNS = (
    "task",
    "reason",
    "sample_id",
    "language",
    "model",
    "flawed task",
    "flaw",
    "unanswered",
    "skipped",
    "code",
)
# The marks that Unicode has for directions: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def marked(column: str) -> str:
    return f"<{column} {MARKS}>"


def visible(column: str) -> str:
    return f"<{column} {''.join(f'[U+{ord(mark):04X}]' for mark in MARKS)}>"


def marked_evaluation() -> Evaluation:
    """An evaluation with marks of direction in every string; its categories are languages."""
    task = marked("task")
    results = [
        SampleResult(
            task_id=task if index == 0 else "other",
            index=index,
            outcome="wrong_answer",
            reason=marked("reason"),
            sample_id=marked("sample_id"),
        )
        for index in range(2)
    ]
    return summarize(
        results,
        (1,),
        categories={task: marked("language")},
        flaws=[ProblemFlaw(marked("flawed task"), marked("flaw"))],
        unanswered=[marked("unanswered")],
        skipped=[marked("skipped")],
    )


@pytest.fixture(scope="module")
def marked_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("marked") / "report.html"
    given = [Sample(task_id=task, solution=f"pass  # {marked('code')}") for task in (marked("task"), "other")]
    ends = [SampleResult(task_id=marked("task"), index=0, outcome="passed")]
    before = summarize(ends, (1,))
    return marked_evaluation().report(path, samples=given, before=before, title=marked("model"))


def test_no_mark_of_direction_is_in_the_file(marked_report: Path) -> None:
    page = marked_report.read_text()
    escapes = [f"\\u{ord(mark):04x}" for mark in MARKS]
    assert [mark for mark in (*MARKS, *escapes) if mark in page] == []
    assert not any(mark in marked_evaluation()._repr_html_() for mark in MARKS)


@pytest.mark.parametrize("column", COLUMNS)
def test_marks_of_direction_are_visible_in_every_column(marked_page: Page, column: str) -> None:
    shown = "document.body.innerText + document.querySelector('h1').textContent"
    assert visible(column) in marked_page.evaluate(shown)


@pytest.fixture(scope="module")
def marked_page(marked_report: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("browser")) as opened:
        opened.open(marked_report)
        opened.evaluate(
            "document.getElementById('data').remove();"
            "for (const each of list.children) { each.open = true; each.dispatchEvent(new Event('toggle')) }"
        )
        yield opened


def test_a_problem_is_found_by_its_button_whatever_characters_its_name_has(page: Page) -> None:
    page.evaluate("[...document.querySelectorAll('.matrix button')].find(e => e.dataset.task[0] === 'H').click()")
    assert page.evaluate("found.textContent") == "1 to 10 of 10 samples"
