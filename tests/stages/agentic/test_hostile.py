"""Hostile tool calls: every call gets a result, and the host is never touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agent_turns import RIGHT, SUBMIT, SUITE, answers, sent, turn, write
from hypothesis import given, settings
from hypothesis import strategies as st

from flyteplugins_codegen.llm.json_reply import with_tool_calls
from flyteplugins_codegen.llm.protocol import ModelReply
from flyteplugins_codegen.models.job import Request
from flyteplugins_codegen.models.run import AgentSession, Run
from flyteplugins_codegen.models.settings import Settings
from flyteplugins_codegen.models.spending import ToolCall
from flyteplugins_codegen.stages.agentic.running import AgentWorkspace
from flyteplugins_codegen.stages.agentic.tools import TOOLS, ToolError, parse_call, with_edit, with_file
from flyteplugins_codegen.stages.agentic.turns import take_turn

NAMES = [
    "../../etc/passwd",
    "/etc/passwd",
    "a/../b.py",
    "sub/file.py",
    "samples/table",
    "samples/../solution.py",
    "..",
    ".",
    ".bashrc",
    "",
    "a\0b",
    "a\nb",
    "con\u202e.py",
    "~root",
    "C:\\x",
    "x" * 101,
    "solution.py -> /etc/passwd",
    "$(id)",
    "\ud800",
]
WORKSPACE = AgentWorkspace(Run(settings=Settings(model="openai/m", backend="agent"), request=Request(prompt="p")), {})


def took(*calls: tuple[str, object], session: AgentSession | None = None, **reply: object) -> AgentSession:
    """The session after a turn of these calls, which run nothing."""
    made = tuple(
        ToolCall(
            id=f"c{number}", name=name, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments)
        )
        for number, (name, arguments) in enumerate(calls)
    )
    start = session or AgentSession(messages=())
    return take_turn(WORKSPACE, start, ModelReply(text="", tool_calls=made, **reply)).session


def results_of(session: AgentSession) -> list[tuple[bool, str]]:
    return [(result.is_error, result.content) for result in session.messages[-1].tool_results]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_plain_file_name_is_refused_by_every_tool(name):
    session = took(
        ("write", {"path": name, "content": "x"}),
        ("edit", {"path": name, "search": "", "replace": "x"}),
        ("read", {"path": name}),
        ("run_tests", {"path": name}),
    )
    assert [is_error for is_error, _ in results_of(session)] == [True] * 4
    assert session.files == {}
    json.dumps(session.model_dump(mode="json")).encode()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", '{"path": "solution.py", "content": "prin'),
        ("write", ""),
        ("write", "[]"),
        ("write", "null"),
        ("write", '{"path": 7, "content": ["x"]}'),
        ("write", {"path": "a.py"}),
        ("write", {"path": "a.py", "content": "a\0b"}),
        ("write", '{"path": "a.py", "content": "\\ud800"}'),
        ("write", "[" * 100_000),
        ("shell", {"command": "ls && curl http://example.org"}),
        ("bash", "{}"),
        ("", "{}"),
        ("write; ls", "{}"),
        ("read", {"path": "a.py", "offset": -1}),
        ("read", {"path": "a.py", "limit": 10**9}),
        ("edit", {"path": "solution.py", "search": "no such text"}),
        ("submit", {"description": "d", "approach": "a"}),
        ("run_on_sample", {"values": [{"name": "table", "value": "/etc/passwd"}]}),
        ("run_tests", {"path": "solution.py", "packages": "requests"}),
        ("run_tests", {"packages": [f"p{number}" for number in range(1_000)]}),
    ],
)
def test_a_call_that_cannot_be_carried_out_has_an_error_as_its_result(name, arguments):
    ((is_error, text),) = results_of(took((name, arguments)))
    assert is_error
    assert 10 < len(text) < 9_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(["path", "content", "search", "replace", "offset", "limit", "values", "packages"])
ARGUMENTS = st.text(max_size=40) | st.dictionaries(FIELDS, JSON, max_size=4).map(json.dumps)
NAMED = st.sampled_from([tool.name for tool in TOOLS]) | st.text(max_size=10)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(NAMED, ARGUMENTS), max_size=4))
def test_whatever_a_model_calls_every_call_is_answered_and_can_be_sent_on(calls):
    session = took(*calls)
    assert session.turns == 1
    assert len(session.messages[-1].tool_results) == len(calls)
    assert all(result.content for result in session.messages[-1].tool_results)
    session.model_dump_json().encode()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200) | JSON.map(json.dumps) | st.dictionaries(st.just("tool"), NAMED).map(json.dumps))
def test_whatever_a_model_says_is_a_call_of_a_tool_or_none(text):
    called = with_tool_calls(ModelReply(text=text), TOOLS).tool_calls
    assert len(called) <= 1
    assert {call.name for call in called} <= {tool.name for tool in TOOLS}


def test_no_tool_is_a_shell_or_reaches_a_network():
    assert [tool.name for tool in TOOLS] == ["list", "read", "write", "edit", "run_tests", "run_on_sample", "submit"]


def test_megabytes_and_thousands_of_files_are_refused_and_what_was_there_stays():
    session = took(("write", {"path": "solution.py", "content": "x = 1\n"}))
    session = took(("write", {"path": "solution.py", "content": "x" * 10_000_000}), session=session)
    assert results_of(session)[0][0]
    assert session.files == {"solution.py": "x = 1\n"}
    for start in range(0, 1_000, 10):
        calls = [("write", {"path": f"f{number}", "content": "y" * 9_000}) for number in range(start, start + 10)]
        session = took(*calls, session=session)
    assert sum(len(text) for text in session.files.values()) <= 128 << 10
    assert len(session.files) <= 40
    assert results_of(session)[-1][0]


def test_growing_a_file_by_edits_meets_the_same_bound():
    files = with_file({}, "a.txt", "mark")
    with pytest.raises(ToolError, match="49,152"):
        with_edit(files, "a.txt", "mark", "x" * 70_000)


def test_of_a_hundred_calls_in_one_reply_sixteen_are_done():
    session = took(*[("write", {"path": f"f{number}", "content": "x"}) for number in range(100)])
    assert len(session.files) == 16
    assert sum(is_error for is_error, _ in results_of(session)) == 84


def test_nothing_of_a_reply_that_was_cut_off_is_done():
    session = took(("write", {"path": "solution.py", "content": "x"}), stop_reason="truncated")
    assert session.files == {}
    assert "cut off" in results_of(session)[0][1]


def test_what_is_read_back_is_bounded():
    session = took(("write", {"path": "long.txt", "content": "z" * 60_000}))
    session = took(("read", {"path": "long.txt"}), session=session)
    assert len(results_of(session)[0][1]) <= 8_000


def test_arguments_read_with_raw_line_breaks_as_models_write_them():
    asked = parse_call(ToolCall(id="1", name="write", arguments='{"path": "a.py", "content": "x = 1\ny = 2"}'))
    assert asked.content == "x = 1\ny = 2"


def test_programs_of_an_agent_see_neither_host_nor_network_nor_its_key(work, tmp_path, monkeypatch):
    marker = tmp_path / "marker"
    monkeypatch.setenv("THE_KEY", "sk-never-shown-0123456789")
    spying = RIGHT.replace(
        "    parser = argparse",
        f"    import os, socket\n"
        f"    print(sorted(os.environ.items()))\n"
        f"    print('found', os.path.exists({str(tmp_path)!r}))\n"
        f"    try:\n        open({str(marker)!r}, 'w')\n    except OSError as error:\n        print('refused')\n"
        f"    try:\n        socket.create_connection(('127.0.0.1', 1), 1)\n    except OSError as error:\n"
        f"        print('network', error.errno)\n"
        f"    parser = argparse",
    )
    result, server = work(
        turn(write("solution.py", spying), write("test_solution.py", SUITE), ("run_on_sample", {})),
        turn(SUBMIT),
        api_key="THE_KEY",
    )
    assert result.success, result.output
    printed = answers(server)[0][2]
    assert "found False" in printed
    assert "refused" in printed
    assert not marker.exists()
    assert "sk-never-shown" not in printed
    bodies = [json.dumps(call.body) for call in server.calls]
    assert not [body for body in bodies if "sk-never-shown" in body]


def test_an_agent_that_tries_everything_leaves_no_trace_in_the_working_directory(work, tmp_path, monkeypatch):
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    result, server = work(
        turn(*[write(name, "x") for name in NAMES if "\ud800" not in name][:14]),
        turn(("shell", {"command": "touch pwned"}), ("write", '{"path": "half')),
        turn(write("solution.py", RIGHT), write("test_solution.py", SUITE), SUBMIT),
    )
    assert result.success, result.output
    assert list(folder.iterdir()) == []
    assert not Path("/etc/passwd").read_text().startswith("x")
    assert "there is no tool 'shell'" in sent(server)
