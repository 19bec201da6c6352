from __future__ import annotations

from flyteplugins_codegen.llm.prompts import (
    JobBrief,
    describe_job,
    redraft_messages,
    repair_messages,
    solution_messages,
    stronger_messages,
    suite_messages,
)
from flyteplugins_codegen.models.data import DataContext
from flyteplugins_codegen.models.job import Candidate, CodePlan, CodeSolution, Example, Request

REQUEST = Request(
    prompt="Sum the rain.",
    schema_text="mm is a float",
    constraints=("mm is positive",),
    inputs={"rain": "file", "threshold": "float"},
    outputs={"total": "float"},
    examples=(Example(inputs={"threshold": 1.0}, outputs={"total": 2.5}),),
    tests="def test_mine(): ...",
)
BRIEF = JobBrief(request=REQUEST, context=DataContext(text="rain: 3 rows"), installed=("polars",))
CANDIDATE = Candidate(
    plan=CodePlan(description="d", approach="a"),
    solution=CodeSolution(code="print('the code')\n", packages=("pandas",)),
    tests="def test_generated(): ...",
)


def test_both_authors_get_the_same_description_of_the_whole_job():
    job = describe_job(BRIEF)
    for part in (
        "Sum the rain.",
        "mm is a float",
        "mm is positive",
        "threshold (float)",
        "total (float)",
        "2.5",
        "polars",
    ):
        assert part in job
    assert "def test_mine" in job
    assert "rain: 3 rows" in job


def test_every_call_of_a_run_begins_with_the_same_role_and_job():
    asked = (
        solution_messages(BRIEF),
        suite_messages(BRIEF),
        repair_messages(BRIEF, CANDIDATE, "it broke"),
        redraft_messages(BRIEF, "- do not divide", 4),
        stronger_messages(BRIEF, CANDIDATE, ["line 1: + for -"]),
    )
    assert len({messages[0] for messages in asked}) == 1
    assert {messages[1].content[: messages[1].shared_chars] for messages in asked} == {describe_job(BRIEF)}
    assert len({messages[1].content for messages in asked}) == len(asked)


def test_the_tests_author_never_sees_code():
    text = "".join(message.content for message in suite_messages(BRIEF))
    assert "the code" not in text


def test_a_system_prompt_replaces_the_role_and_keeps_the_contract():
    ours = solution_messages(BRIEF)
    theirs = solution_messages(BRIEF.model_copy(update={"role": "You are a pirate."}))
    assert theirs[0].content == "You are a pirate."
    assert theirs[1] == ours[1]


def test_a_repair_shows_the_code_the_tests_and_what_is_installed():
    text = repair_messages(BRIEF, CANDIDATE, "it broke")[1].content
    for part in ("the code", "def test_generated", "Installed: pandas", "it broke"):
        assert part in text


def test_a_repair_says_when_it_shows_tests_in_part():
    text = repair_messages(BRIEF, CANDIDATE, "it broke", "def test_shown(): ...")[1].content
    assert "# test_solution.py, without other tests" in text
    assert "def test_generated" not in text


def test_a_fresh_draft_is_told_what_was_learnt_after_all_that_every_draft_is_told():
    told = redraft_messages(BRIEF, "- do not divide", 4)
    assert told[0] == solution_messages(BRIEF)[0]
    assert told[1].content.startswith(solution_messages(BRIEF)[1].content)
    assert "- do not divide" in told[1].content
    assert told != redraft_messages(BRIEF, "- do not divide", 5)


def test_values_are_asked_for_only_of_inputs_that_have_none():
    text = solution_messages(BRIEF)[1].content
    assert "values for threshold that suit the data" in text
    given = BRIEF.model_copy(update={"request": REQUEST.model_copy(update={"values": {"threshold": 1.0}})})
    assert "`arguments`" not in solution_messages(given)[1].content
    assert "`assumptions`" in solution_messages(given)[1].content


def test_a_request_for_stronger_tests_does_not_deny_what_it_shows():
    text = stronger_messages(BRIEF, CANDIDATE, ["line 1: + for -"])[1].content
    assert "You have not seen it" not in text
    assert "`cases`" not in text
    assert "You have not seen it" in suite_messages(BRIEF)[1].content
    for part in ("the code", "def test_generated", "line 1: + for -", "/var/outputs is emptied before every test"):
        assert part in text


def test_only_first_tests_are_asked_for_cases_and_only_drafts_for_assumptions():
    asked = {
        "solution": solution_messages(BRIEF),
        "tests": suite_messages(BRIEF),
        "redraft": redraft_messages(BRIEF, "- do not divide", 4),
        "repair": repair_messages(BRIEF, CANDIDATE, "it broke"),
        "stronger": stronger_messages(BRIEF, CANDIDATE, ["line 1: + for -"]),
    }
    assert [name for name, messages in asked.items() if "`cases`" in messages[1].content] == ["tests"]
    assert [name for name, messages in asked.items() if "`assumptions`" in messages[1].content] == [
        "solution",
        "redraft",
    ]
