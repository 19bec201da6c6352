"""The files of a program with its tests, in every language."""

from __future__ import annotations

import pytest

from flyteplugins_codegen.evaluation.programs.languages import (
    LANGUAGES_OF_PROGRAMS,
    REMEDIES,
    fill_command,
    sources_of,
    toolchains_for,
)


def test_gos_tests_are_called_by_a_main_that_has_the_last_word() -> None:
    sources = sources_of("go", "package main\nfunc main2() {}", "func main() {\n}")
    assert list(sources.files) == ["main.go", "end.go"]
    assert "func codegenTests() {" in sources.files["main.go"]
    assert "func main2()" in sources.files["main.go"]
    assert "codegenTests()" in sources.files["end.go"]


def test_rusts_tests_are_called_by_a_main_that_has_the_last_word() -> None:
    text = sources_of("rust", "fn f() {}", "fn main() {\n    f();\n}").files["main.rs"]
    assert "fn codegen_tests() {\n    f();" in text
    assert text.count("fn main()") == 1


@pytest.mark.parametrize(
    ("program", "tests", "file", "main_class"),
    [
        ("class Solution {}", "public class Main {\n  public static void main(String[] a) {}\n}", "Main.java", "Main"),
        ("public class Solution {}", "class Try {\n  static void main(String[] a) {}\n}", "Solution.java", "Try"),
        ("import a;\nfinal class Problem {\n  int f() {", "}\n public static void main(", "Problem.java", "Problem"),
        ("class A {}\nclass B { static final void main(String[] a) {} }\nclass C {}", "", "B.java", "B"),
        ("", "", "Main.java", "Main"),
    ],
)
def test_javas_file_is_called_as_its_public_class_and_the_class_with_main_is_started(
    program: str, tests: str, file: str, main_class: str
) -> None:
    sources = sources_of("java", program, tests)
    assert list(sources.files) == [file, "CodegenEnd.java"]
    assert f"    {main_class}.main(words);" in sources.files["CodegenEnd.java"]
    assert sources.main_class == "CodegenEnd"
    assert sources_of("java", f"{program}\n{tests}", None).main_class == main_class


@pytest.mark.parametrize("language", LANGUAGES_OF_PROGRAMS)
def test_a_program_that_is_judged_by_what_it_prints_is_left_as_it_is(language: str) -> None:
    first, *_ = sources_of(language, "its text", None).files.values()
    assert first == "its text"


@pytest.mark.parametrize("language", LANGUAGES_OF_PROGRAMS)
def test_every_language_has_a_way_to_run_and_a_remedy(language: str) -> None:
    for way in toolchains_for(language):
        command = fill_command((*way.build, *way.run), ("main.x", "end.x"), "Main")
        assert not [word for word in command if "{" in word]
        assert way.check
    assert "install" in REMEDIES[language]


@pytest.mark.parametrize(("language", "program"), [("bash", "bash"), ("javascript", "node"), ("typescript", "tsx")])
def test_a_sandbox_of_another_machine_is_asked_by_the_programs_name(language: str, program: str) -> None:
    assert program in [way.run[0] for way in toolchains_for(language)]


def test_files_and_class_take_their_places_in_a_command() -> None:
    words = ("go", "{files}", "{main}", "{class}")
    assert fill_command(words, ("a.x", "b.x"), "Main") == ["go", "/app/a.x", "/app/b.x", "/app/a.x", "Main"]
