"""The page of a run: one file, opened in a real browser, wide and narrow, light and dark; no text in it is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import Page, browser_page
from hypothesis import example, given
from hypothesis import strategies as st
from planted import plant
from storied_run import told_run

from flyteplugins_codegen.models.data import ColumnProfile
from flyteplugins_codegen.models.run import Attempt, Cause, ScriptRun, SuiteReport, TestOutcome, TestReport
from flyteplugins_codegen.stages.report.data import histogram
from flyteplugins_codegen.stages.report.page import ReportContent, as_frame, render_page

BREAKER = (
    "</script></style><script>console.error('ran')</script><img src=x onerror=\"console.error('ran')\">'\" onload=x "
)
TAGS = re.compile(
    "html|head|meta|title|style|body|main|header|section|h[1-4]|p|span|b|code|pre|dl|div|dt|dd|[uo]l|li|details|summary"
    "|table|thead|tbody|tfoot|tr|th|td|article|svg|rect"
)
ATTRIBUTES = re.compile(
    "lang|charset|http-equiv|content|name|class|role|aria-label|aria-hidden|scope|tabindex|open|viewbox"
    "|preserveaspectratio|x|y|width|height"
)


class Markup(HTMLParser):
    """The tags, the names of attributes, and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.classes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.classes |= {value or "" for name, value in attrs if name == "class"}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("number", range(8))
def test_no_text_of_a_run_is_markup_in_any_field(number: int) -> None:
    planted: list[str] = []

    def write(place: str) -> str:
        planted.append(place)
        return f"#{len(planted)}#{BREAKER}"

    markup = Markup(render_page(plant(ReportContent, write, number).model_copy(update={"chosen": 1})))
    assert [tag for tag in markup.tags if not TAGS.fullmatch(tag)] == []
    assert [name for name in markup.attributes if not ATTRIBUTES.fullmatch(name)] == []
    assert [name for name in markup.classes if not re.fullmatch(r"[a-z ]*", name)] == []
    shown = {place for at, place in enumerate(planted, 1) if f"#{at}#" in markup.text}
    for field in ("Request.prompt", "CodeSolution.code", "Attempt.reason", "ColumnProfile.name", "ScriptRun.stderr"):
        assert any(place.endswith(field) for place in shown), f"{field} is not on the page"


def test_marks_that_change_the_direction_of_text_are_seen() -> None:
    content = told_run()
    changed = content.run.model_copy(
        update={"request": content.run.request.model_copy(update={"prompt": "a\u202eb\0"})}
    )
    page = render_page(content.model_copy(update={"run": changed}))
    assert "a[U+202E]b\ufffd" in page


def test_the_plans_assumptions_and_the_cases_of_the_tests_are_shown() -> None:
    page = render_page(told_run())
    plan = page.partition(">Plan<")[2].partition("</section>")[0]
    assert "A sale without a price counts nothing." in plan
    tests = page.partition("The generated tests")[2]
    assert "2 at 1.50, 1 at 3.00" in tests
    assert tests.index("quantity times price") < tests.index("test_of_two_rows")


def test_unknown_costs_are_not_shown_as_zero() -> None:
    content = told_run()
    free = tuple(call.model_copy(update={"cost_usd": None}) for call in content.run.calls)
    page = Markup(render_page(content.model_copy(update={"run": content.run.model_copy(update={"calls": free})}))).text
    assert "unknown" in page
    assert "$0" not in page


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(),
    st.datetimes().map(str),
    st.dates().map(str),
)


@example(low=-1.7e308, quartiles=(0, 0, 0), high=1.7e308)
@example(low=0.0, quartiles=(0.0, 0.0, 0.0), high=5e-324)
@given(low=VALUES, quartiles=st.tuples(VALUES, VALUES, VALUES), high=VALUES)
def test_a_column_of_any_values_has_a_picture_or_none(low: Any, quartiles: Any, high: Any) -> None:
    column = ColumnProfile.model_construct(name="c", null_count=0, minimum=low, quartiles=quartiles, maximum=high)
    drawn = histogram(column.model_copy(update={"top_values": ()}), 9)
    assert not drawn or drawn.count("<rect") == 4
    places = [float(place) for place in re.findall(r' (?:x|y|width|height)="([^"]*)"', drawn)]
    assert all(0 <= place <= 220 for place in places)


@pytest.mark.parametrize("filler", ["line of a log\n", "<&>\"'", "1+", "\n"])
def test_a_page_of_fifty_attempts_with_long_outputs_stays_below_two_megabytes(filler: str) -> None:
    text = filler * (30_000 // len(filler))
    cause = Cause(kind="exception", message=text)
    test = TestOutcome(name=text, outcome="failed", message=text, traceback=text)
    suite = SuiteReport(origin="generated", expected=("t",) * 100, tests=(test,) * 100, cause=cause, output=text)
    ran = ScriptRun(case="samples", status="exited", stdout=text, stderr=text, cause=cause, outputs={"a": text})
    report = TestReport(runs=(ran,) * 30, suites=(suite, suite))
    content = told_run()
    first = content.run.attempts[0]
    attempts = tuple(_attempt(first, number, f"{text}{number}\n", report) for number in range(1, 51))
    request = content.run.request.model_copy(update={"prompt": text, "tests": text, "schema_text": text})
    context = content.run.context.model_copy(update={"text": text})
    run = content.run.model_copy(update={"attempts": attempts, "request": request, "context": context})
    page = render_page(content.model_copy(update={"run": run}))
    assert len(page.encode()) < 2_000_000


def _attempt(first: Attempt, number: int, code: str, report: TestReport) -> Attempt:
    solution = first.candidate.solution.model_copy(update={"code": code})
    candidate = first.candidate.model_copy(update={"solution": solution})
    changes = {"number": number, "parent": number - 1 or None, "candidate": candidate, "report": report}
    return first.model_copy(update=changes)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_page(told_run()))
    with browser_page(tmp_path_factory.mktemp("browser")) as opened:
        opened.open(path)
        yield opened


def texts(page: Page, selector: str) -> Any:
    return page.evaluate(f"[...document.querySelectorAll({selector!r})].map(each => each.innerText)")


def test_the_page_shows_the_whole_run(page: Page) -> None:
    headings = texts(page, "h2")
    assert headings[:4] == ["Request", "Data", "Plan", "Attempts"]
    assert {"Trust", "Model calls", "Solution", "Environment", "Run it"} <= set(headings)
    assert len(texts(page, "svg")) == 3
    assert texts(page, ".tiles dd")[:4] == ["3", "2 of 2", "0.75", "0.75"]
    content = page.evaluate("document.body.textContent")
    for expected in ("line 12, total: + to -", "total = 1204.5", "contradicts an example of yours", "Ostbahnhof 602"):
        assert expected in content
    assert page.requests == [page.requests[0]]
    assert page.evaluate("document.scripts.length") == 0


def test_each_attempt_opens_by_a_click_and_shows_cause_change_tests_and_stderr(page: Page) -> None:
    steps = "document.querySelectorAll('.timeline > li > details')"
    assert page.evaluate(f"[...{steps}].map(step => step.open)") == [False, False, True]
    for number in range(3):
        page.evaluate(f"{steps}[{number}].open || {steps}[{number}].querySelector('summary').click()")
    page.evaluate("document.querySelectorAll('.timeline details').forEach(each => each.open = true)")
    first, second, third = texts(page, ".timeline > li")
    assert "Exception: KeyError" in first
    assert "Traceback (most recent call last)" in first
    assert page.evaluate("getComputedStyle(document.querySelector('.timeline .code pre')).whiteSpace") == "pre"
    assert "+    return total" in second
    assert "test_of_negatives" in second
    assert "passed, 2 of 2 tests" in third
    assert page.complaints == []


def test_a_step_is_opened_from_the_keyboard(page: Page) -> None:
    page.evaluate("document.querySelector('.timeline details').open = false")
    page.evaluate("document.querySelector('.timeline summary').focus()")
    for kind in ("keyDown", "keyUp"):
        page.ask("Input.dispatchKeyEvent", type=kind, key="Enter", text="\r" if kind == "keyDown" else "")
    assert page.evaluate("document.querySelector('.timeline details').open") is True


CONTRAST = """(() => {
  const parts = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => { const [r, g, b] = parts(color).slice(0, 3).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = node => { for (; node; node = node.parentElement) {
    const color = getComputedStyle(node).backgroundColor;
    if ((parts(color)[3] ?? 1) === 1) return color; } };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; text = walker.nextNode();) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility()) continue;
    const [low, high] = [getComputedStyle(node).color, behind(node)].map(light).sort((a, b) => a - b);
    found.push([(high + 0.05) / (low + 0.05), node.className + ': ' + text.data.trim().slice(0, 40)]);
  }
  return found.sort((a, b) => a[0] - b[0])[0];
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_is_readable(page: Page, width: int, scheme: str) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.show_as(width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink = [int(part) for part in re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).color"))[:3]]
    assert (sum(ink) > 600) is (scheme == "dark")
    contrast, where = page.evaluate(CONTRAST)
    assert contrast >= 4.5, where


def test_in_a_frame_it_keeps_its_style_to_itself_and_runs_nothing(page: Page, tmp_path: Path) -> None:
    host = tmp_path / "notebook.html"
    frame = as_frame(render_page(told_run()))
    host.write_text(f"<!doctype html><title>host</title><body><h1>host</h1><main>{frame}</main>")
    page.complaints.clear()
    page.open(host)
    assert page.evaluate("document.styleSheets.length") == 0
    assert page.evaluate("document.querySelectorAll('section, details').length") == 0
    assert page.evaluate("document.querySelector('iframe').getAttribute('sandbox')") == ""
    frames = page.ask("Page.getFrameTree")["frameTree"]["childFrames"]
    assert [each["frame"]["url"] for each in frames] == ["about:srcdoc"]
    assert page.complaints == []
