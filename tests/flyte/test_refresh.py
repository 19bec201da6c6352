"""A solution held against fresh data, as a workflow in local execution, every model call counted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from flytekit import Deck
from flytekit.configuration import Image, ImageConfig, SerializationSettings
from flytekit.core.context_manager import ExecutionState, FlyteContextManager
from flytekit.types.directory import FlyteDirectory
from flytekit.types.file import FlyteFile
from model_server import ModelServer

from flyteplugins_codegen import AutoCoderAgent, CodeGenEvalResult
from flyteplugins_codegen.errors import (
    DataError,
    NotApprovedError,
    NotSuccessfulError,
    RequestError,
    SampleError,
    SettingsError,
)
from flyteplugins_codegen.flyte import refresh as refresh_tasks
from flyteplugins_codegen.flyte.refresh import ComparedRenewal, refresh, settle
from flyteplugins_codegen.flyte.refresh_state import NOW, RefreshOrder, RefreshState
from flyteplugins_codegen.models.data import Drift, DriftReport
from flyteplugins_codegen.models.refresh import (
    Comparison,
    Examination,
    OutputDifference,
    Refresh,
    RefreshOutcome,
    RefreshRules,
    Renewal,
)
from flyteplugins_codegen.models.run import ScriptRun, TestReport

ROOT = Path(__file__).parents[2]
CODE = """\
import argparse
import csv
from datetime import date
from pathlib import Path


def total_of(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return len({date.fromisoformat(row["day"]) for row in rows}), sum(float(row["price"]) for row in rows)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--sales")
    days, total = total_of(parser.parse_args(argv).sales)
    Path("/var/outputs/days").write_text(str(days))
    Path("/var/outputs/total").write_text(str(total))


if __name__ == "__main__":
    main()
"""
TESTS = """\
from pathlib import Path

from solution import main


def test_total(tmp_path):
    table = tmp_path / "sales"
    table.write_text("day,price\\n2024-01-01,1.5\\n2024-01-01,2.0\\n")
    main(["--sales", str(table)])
    assert float(Path("/var/outputs/total").read_text()) == 3.5
    assert Path("/var/outputs/days").read_text() == "1"
"""
OUTPUTS = {"days": int, "total": float}


def answer(code: str = CODE) -> dict[str, Any]:
    return {"description": "d", "approach": "a", "code": code, "packages": [], "system_packages": []}


def repaired(search: str = "", replace: str = "", cause: str = "the data changed") -> dict[str, Any]:
    edits = [{"search": search, "replace": replace}] if search else []
    nothing = {"code": None, "test_code": None, "packages": [], "system_packages": []}
    return {"cause": cause, "error_type": "logic", "edits": edits, **nothing}


def for_high_prices(change: str, cause: str = "the data changed") -> dict[str, Any]:
    """A repair that changes what high prices come to, and passes the tests, which have none."""
    price = 'float(row["price"])'
    return repaired(price, f"({price} {change} if {price} >= 20 else {price})", cause)


def table(path: Path, prices: list[float], *, name: str = "price", day: str = "2024-01-{:02}") -> Path:
    lines = [f"{day.format(number % 28 + 1)},{price}" for number, price in enumerate(prices)]
    path.write_text("\n".join([f"day,{name}", *lines, ""]))
    return path


USUAL = [float(number % 10) + 0.5 for number in range(60)]
TENFOLD = [10 * price for price in USUAL]


class Saved:
    """A saved solution, made once, and a folder for a test's own data."""

    def __init__(self, made: Path, folder: Path) -> None:
        self.solution = folder / "totals"
        shutil.copytree(made, self.solution)
        self.folder = folder

    def code(self) -> str:
        return (self.solution / "solution.py").read_text()

    def refresh(self, data: Path, server: ModelServer | None = None, **options: Any) -> RefreshOutcome:
        address = server.url if server else "http://127.0.0.1:9/v1"
        outcome = refresh(
            solution=str(self.solution), data={"sales": FlyteFile(str(data))}, api_base=address, **options
        )
        assert isinstance(outcome, RefreshOutcome)
        return outcome


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    sample = table(folder / "sales.csv", USUAL)
    with ModelServer({"SolutionReply": [answer()], "TestsReply": [{"test_code": TESTS}]}) as server:
        agent = AutoCoderAgent(model="openai/any", api_base=server.url, name="totals", min_test_strength=0)
        result = agent.generate("Total price, and on how many days", samples={"sales": sample}, outputs=OUTPUTS)
    assert result.success, result.error
    return result.save(folder / "totals")


@pytest.fixture
def saved(made: Path, tmp_path: Path) -> Saved:
    return Saved(made, tmp_path)


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every page that goes to the Deck "Refresh"."""
    pages: list[str] = []
    render = refresh_tasks.render_refresh

    def keep(*arguments: Any) -> str:
        pages.append(render(*arguments))
        return pages[-1]

    monkeypatch.setattr(refresh_tasks, "render_refresh", keep)
    return pages


def test_where_nothing_changed_no_model_is_asked(saved: Saved, pages: list[str]) -> None:
    data = table(saved.folder / "fresh.csv", [*USUAL[1:], USUAL[0]])
    with ModelServer({}) as server:
        outcome = saved.refresh(data, server)
    assert server.calls == ()
    assert outcome == RefreshOutcome(decision="kept", reason="nothing changed", solution=str(saved.solution))
    assert "Nothing drifted." in pages[-1]
    assert "passed" in pages[-1]


@pytest.mark.parametrize("rules", [{"tolerated": ["price"]}, {"drift": "any"}])
def test_drift_that_is_tolerated_changes_nothing(saved: Saved, pages: list[str], rules: dict[str, Any]) -> None:
    outcome = saved.refresh(table(saved.folder / "fresh.csv", TENFOLD), **rules)
    assert (outcome.decision, outcome.model_calls) == ("kept", 0)
    assert "range" in pages[-1]
    assert "tolerated" in pages[-1]


def test_drift_that_matters_is_repaired_by_one_call(saved: Saved, pages: list[str]) -> None:
    data = table(saved.folder / "fresh.csv", TENFOLD)
    cents = for_high_prices("/ 10", "some prices are in dimes now <script>")
    with ModelServer({"RepairReply": [cents]}) as server:
        outcome = saved.refresh(data, server, approval="never")
    assert [call.name for call in server.calls] == ["RepairReply"]
    said = server.calls[0].body["messages"][-1]["content"]
    assert "range 'price': 0.5 to 9.5 -> 5.0 to 95.0" in said
    assert (outcome.decision, outcome.model_calls, outcome.solution) == ("replaced", 1, str(saved.solution))
    assert outcome.tokens > 0
    assert "/ 10" in saved.code()
    assert "total on the fresh data" in pages[-1]
    assert "&lt;script&gt;" in pages[-1]
    assert "<script>" not in pages[-1]
    (earlier,) = saved.folder.glob("totals-*")
    assert (earlier / "solution.py").read_text() == CODE


def test_a_solution_that_is_right_for_drifted_data_is_held_against_them_from_then_on(saved: Saved) -> None:
    data = table(saved.folder / "fresh.csv", TENFOLD)
    with ModelServer({"RepairReply": [repaired(cause="it adds up whatever the prices are")]}) as server:
        outcome = saved.refresh(data, server)
        assert (outcome.decision, len(server.calls)) == ("replaced", 1)
        assert saved.code() == CODE
        assert saved.refresh(data, server).reason == "nothing changed"
        assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("changed", "old", "new"),
    [({"name": "amount"}, '"price"', '"amount"'), ({"day": "{:02}/01/2024"}, "date.fromisoformat(row", "str(row")],
    ids=["a column of another name", "another format of dates"],
)
def test_data_of_another_form_are_written_for_anew(
    saved: Saved, pages: list[str], changed: dict[str, str], old: str, new: str
) -> None:
    data = table(saved.folder / "fresh.csv", USUAL, **changed)
    tests = TESTS.replace("price", changed.get("name", "price"))
    script = {"SolutionReply": [answer(CODE.replace(old, new))], "TestsReply": [{"test_code": tests}]}
    with ModelServer(script) as server:
        outcome = saved.refresh(data, server, approval="never")
        assert sorted(call.name for call in server.calls) == ["SolutionReply", "TestsReply"]
        assert "The data have changed since the solution was made" in str(server.calls[0].body)
        assert outcome.decision == "replaced"
        assert saved.refresh(data, server).reason == "nothing changed"
        assert len(server.calls) == 2
    assert new in saved.code()
    assert "does not run" in pages[0] or "regenerating" in pages[0]


def nobody(*_: Any, **__: Any) -> bool:
    """What click does at the end of its input."""
    raise click.Abort


def test_outputs_that_differ_stop_for_a_human_who_is_asked_at_the_terminal(
    saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = table(saved.folder / "fresh.csv", TENFOLD)
    halved = for_high_prices("/ 2")
    with ModelServer({"RepairReply": [halved]}) as server:
        monkeypatch.setattr("click.confirm", nobody)
        with pytest.raises(NotApprovedError, match=r"nobody is here to be asked; it lies in .*totals-") as caught:
            saved.refresh(data, server)
        assert saved.code() == CODE
        proposed = Path(str(caught.value).partition("it lies in ")[2].partition(",")[0])
        assert "/ 2" in (proposed / "solution.py").read_text()

        asked: list[str] = []
        monkeypatch.setattr("click.confirm", lambda text, **_: asked.append(text) or False)
        with pytest.raises(NotApprovedError, match="was not approved"):
            saved.refresh(data, server)
        assert "the outputs differ by 0.4" in asked[0]
        assert saved.code() == CODE

        monkeypatch.setattr("click.confirm", lambda *_, **__: True)
        assert saved.refresh(data, server).decision == "replaced"
        # The same data are paid for once, however often it is started again.
        assert len(server.calls) == 1
    assert "/ 2" in saved.code()


def test_a_difference_that_is_allowed_asks_nobody(saved: Saved) -> None:
    data = table(saved.folder / "fresh.csv", TENFOLD)
    with ModelServer({"RepairReply": [for_high_prices("* 0.99")]}) as server:
        assert saved.refresh(data, server, allowed_difference=0.02).decision == "replaced"


def test_with_the_budget_spent_the_old_solution_stays(saved: Saved) -> None:
    data = table(saved.folder / "fresh.csv", TENFOLD)
    wrong = repaired('float(row["price"])', 'float(row["prise"])')
    with ModelServer({"RepairReply": [wrong]}, repeat_last=True) as server:
        outcome = saved.refresh(data, server, budget={"max_calls": 1})
        assert len(server.calls) == 1
        again = saved.refresh(data, server, budget={"max_calls": 1})
        assert len(server.calls) == 1
    assert outcome == again
    assert outcome.decision == "kept"
    assert outcome.reason.startswith("no better solution was found: max_calls=1 is spent")
    assert saved.code() == CODE
    assert sorted(path.name for path in saved.folder.iterdir()) == ["fresh.csv", "totals"]


def test_a_solution_that_fails_and_cannot_be_mended_is_an_error(saved: Saved) -> None:
    data = table(saved.folder / "fresh.csv", USUAL, name="amount")
    with ModelServer({}) as server, pytest.raises(NotSuccessfulError, match=r"it does not do on these data.*budget"):
        saved.refresh(data, server, budget={"max_calls": 0})
    assert saved.code() == CODE


def test_save_to_leaves_the_old_folder_alone(saved: Saved) -> None:
    data = table(saved.folder / "fresh.csv", TENFOLD)
    with ModelServer({"RepairReply": [for_high_prices("/ 10")]}) as server:
        outcome = saved.refresh(data, server, approval="never", save_to=str(saved.folder / "next"))
    assert outcome.solution == str(saved.folder / "next")
    assert saved.code() == CODE
    assert "/ 10" in CodeGenEvalResult.load(saved.folder / "next").solution.code


def test_a_solution_in_a_store_is_replaced_there_and_the_old_one_stays_beside(saved: Saved) -> None:
    data = table(saved.folder / "fresh.csv", TENFOLD)
    address = f"file://{saved.solution}"
    with ModelServer({"RepairReply": [for_high_prices("/ 7")]}) as server:
        options = {"data": {"sales": FlyteFile(str(data))}, "api_base": server.url, "approval": "never"}
        outcome = refresh(solution=address, **options)
        assert (outcome.decision, outcome.solution) == ("replaced", address)
        assert refresh(solution=address, **options).reason == "nothing changed"
    assert "/ 7" in saved.code()
    (earlier,) = saved.folder.glob("totals-*")
    assert CodeGenEvalResult.load(earlier).solution.code == CODE


def state_with(difference: float) -> RefreshState:
    """A refresh that found a new solution, whose outputs differ so much."""
    drift = Drift(kind="range", column="price", severity="major", old="0 to 1", new="0 to 99")
    report = TestReport(runs=(ScriptRun(case="samples", status="exited", exit_code=0),))
    examination = Examination(drifts=(DriftReport(sample="sales", drifts=(drift,)),), report=report)
    order = RefreshOrder(solution="flytesnacks:development:totals:v1", is_registered=True)
    refreshed = Refresh(rules=RefreshRules(allowed_difference=difference), examination=examination)
    return RefreshState(order=order, refresh=refreshed, name="totals", time=NOW)


@pytest.mark.parametrize(("allowed", "gates"), [(0.1, ["approve-refresh"]), (0.9, [])])
def test_on_a_cluster_a_gate_stands_before_the_node_that_replaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: float, gates: list[str]
) -> None:
    monkeypatch.setattr(settle, "_wf", None)  # a pod compiles once in its process, and flytekit keeps that
    far = OutputDifference(data="the fresh data", output="total", difference=0.5, told="total: 1 -> 2")
    made = ComparedRenewal(renewal=Renewal(is_success=True, reason="r"), comparison=Comparison(differences=(far,)))
    image = Image(name="default", fqn="registry.example/team/runner", tag="1")
    settings = SerializationSettings(ImageConfig(default_image=image), "flytesnacks", "development", "v1")
    context = FlyteContextManager.current_context().with_serialization_settings(settings)
    assert context.execution_state is not None
    state = context.execution_state.with_params(mode=ExecutionState.Mode.TASK_EXECUTION)
    with FlyteContextManager.with_context(context.with_execution_state(state)) as entered:
        inputs = {"state": state_with(allowed), "made": made, "proposed": FlyteDirectory(str(tmp_path))}
        spec = settle.compile_into_workflow(entered, settle.task_function, **inputs)
    nodes = {node.metadata.name: node for node in spec.nodes}
    assert [name for name, node in nodes.items() if node.gate_node is not None] == gates
    (replacing,) = [node for name, node in nodes.items() if name.endswith("replace_solution")]
    awaited = {binding.var: binding.binding.promise for binding in replacing.inputs}
    assert (awaited["approved"] is not None) == bool(gates)


def without_profiles(saved: Saved) -> None:
    result = CodeGenEvalResult.load(saved.solution).model_copy(update={"profiles": {}})
    (saved.solution / "result.json").write_text(result.model_dump_json())


def with_constraint(saved: Saved) -> None:
    result = CodeGenEvalResult.load(saved.solution)
    rule = {"column": "price", "kind": "range", "maximum": 50}
    constraint = {"text": "price is at most 50", "table": "sales", "rules": [rule], "read_by": "grammar"}
    changed = result.model_validate({**result.model_dump(mode="json"), "constraints": [constraint]})
    (saved.solution / "result.json").write_text(changed.model_dump_json())


@pytest.mark.parametrize(
    ("prepare", "options", "error", "message"),
    [
        (without_profiles, {}, NotSuccessfulError, "keeps no statistics .* generate it once more"),
        (with_constraint, {}, DataError, "price.*at most 50.*rows? break.*Mend the data"),
        (None, {"data": {}}, RequestError, "data: sales is missing"),
        (None, {"data": {"prices": "fresh.csv"}}, RequestError, "no file input 'prices'; it has sales"),
        (None, {"data": {"sales": "empty.csv"}}, SampleError, "is empty"),
        (None, {"data": {"sales": "gone.csv"}}, RequestError, "--data: there is no file"),
        (None, {"solution": "./gone"}, RequestError, "there is no folder './gone'"),
        (None, {"budget": {"max_calls": "many"}}, RequestError, "budget.max_calls='many'"),
        (None, {"approval": "sometimes"}, RequestError, "approval='sometimes': Input should be 'never'"),
    ],
)
def test_what_cannot_be_refreshed_is_reported_in_one_message(
    saved: Saved, prepare: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    if prepare is not None:
        prepare(saved)
    table(saved.folder / "fresh.csv", TENFOLD)
    (saved.folder / "empty.csv").touch()
    names = options.pop("data", {"sales": "fresh.csv"})
    data = {name: str(saved.folder / file) for name, file in names.items()}
    with pytest.raises(error, match=message):
        refresh(**{"solution": str(saved.solution), "data": data, "api_base": "public", **options})
    assert saved.code() == CODE


def test_a_folder_made_at_a_server_of_ones_own_asks_no_other_unless_told(saved: Saved) -> None:
    made_at = CodeGenEvalResult.load(saved.solution).settings.api_base
    data = {"sales": FlyteFile(str(table(saved.folder / "fresh.csv", USUAL)))}
    with pytest.raises(SettingsError, match=rf"made with the model at {made_at}.*--api_base {made_at}"):
        refresh(solution=str(saved.solution), data=data)
    assert refresh(solution=str(saved.solution), data=data, api_base="public").decision == "kept"
    # Without any call, nothing could be sent.
    assert refresh(solution=str(saved.solution), data=data, budget={"max_calls": 0}).decision == "kept"


def test_a_sample_that_is_gone_is_noted_and_stops_nothing(
    saved: Saved, pages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh_tasks, "old_data", lambda _: None)
    data = table(saved.folder / "fresh.csv", [100 * price for price in USUAL])
    with ModelServer({"RepairReply": [for_high_prices("/ 100")]}) as server:
        assert saved.refresh(data, server, approval="never").decision == "replaced"
    assert "the data that it was made from are not at hand" in pages[-1]


def test_the_deck_has_the_page(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[tuple[str, str]] = []
    monkeypatch.setattr(refresh_tasks, "Deck", lambda name, html: pages.append((name, html)) or Deck(name, html))
    saved.refresh(table(saved.folder / "fresh.csv", USUAL))
    assert {name for name, _ in pages} == {"Refresh"}
    assert all(html.startswith("<iframe") and "sandbox" in html for _, html in pages)


def test_pyflyte_says_how_it_went(pyflyte: Any, saved: Saved) -> None:
    table(saved.folder / "fresh.csv", TENFOLD)
    command = ("run", str(ROOT / "workflows" / "refresh.py"), "refresh", "--solution", str(saved.solution))
    with ModelServer({"RepairReply": [for_high_prices("/ 3")]}) as server:
        data = ("--data", '{"sales": "fresh.csv"}', "--api_base", server.url)
        waiting = pyflyte.run(*command, *data)
        approved = pyflyte.run(*command, *data, "--approval", "never")
        assert len(server.calls) == 1
    assert waiting.returncode == 1
    assert "NotApprovedError: " in waiting.stdout
    assert "the new version of 'totals' waits for approval, and nobody is here to be asked" in waiting.stdout
    assert "Traceback" not in waiting.stdout + waiting.stderr
    assert approved.returncode == 0, approved.stdout + approved.stderr
    assert "decision='replaced'" in approved.stdout
