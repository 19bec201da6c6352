"""Every spelling of a language comes down to one name, and that name to a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.errors import RequestError
from flyteplugins_codegen.source.languages.names import LANGUAGES, file_name_for, language_of, language_of_file


@pytest.mark.parametrize(
    ("spelling", "language"),
    [
        ("py", "python"),
        ("Python3", "python"),
        ("python3.12", "python"),
        ("Python 3", "python"),
        (" .PY ", "python"),
        ("{python}", "python"),
        ("language-python", "python"),
        ("pycon", "python"),
        ("shell", "sh"),
        ("console", "sh"),
        ("bash", "bash"),
        ("zsh", "bash"),
        ("PowerShell 7", "powershell"),
        ("ps1", "powershell"),
        ("tsx", "typescript"),
        ("node", "javascript"),
        ("C++", "cpp"),
        ("c++17", "cpp"),
        ("C#", "csharp"),
        ("c99", "c"),
        ("yml", "yaml"),
        ("Plain Text", "text"),
        ("golang", "go"),
        ("T-SQL", "sql"),
    ],
)
def test_a_spelling_gives_the_one_name_of_its_language(spelling: str, language: str) -> None:
    assert language_of(spelling) == language


@pytest.mark.parametrize(("name", "kept"), [("Haskell", "haskell"), ("", ""), ("1", "1")])
def test_an_unknown_name_is_kept_in_lower_case(name: str, kept: str) -> None:
    assert language_of(name) == kept


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("solution.py", "python"),
        ("src/Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"),
        ("web.Dockerfile", "dockerfile"),
        ("GNUmakefile", "makefile"),
        ("rules.mk", "makefile"),
        (".bashrc", "bash"),
        ("Gemfile", "ruby"),
        ("C:\\scripts\\Run.PS1", "powershell"),
        ("include/list.h", "c"),
        ("archive.tar.gz", ""),
        ("python", ""),
        ("", ""),
        ("..", ""),
    ],
)
def test_a_file_name_says_its_language(path: str, language: str) -> None:
    assert language_of_file(path) == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_name_is_its_own_spelling_and_survives_as_a_file(language: str) -> None:
    assert language_of(language) == language
    expected = "sh" if language == "bash" else language
    assert language_of_file(file_name_for(language, "x")) == expected


def test_a_file_of_an_unknown_language_is_text() -> None:
    assert file_name_for("klingon", "x") == "x.txt"
    assert file_name_for("Dockerfile", "x") == "Dockerfile"


@given(st.text())
def test_any_text_is_taken_and_its_name_is_stable(name: str) -> None:
    assert isinstance(language_of_file(name), str)
    known = language_of(name)
    assert known not in LANGUAGES or language_of(known) == known


@pytest.mark.parametrize("wrong", [None, 3, b"py"])
def test_what_is_no_text_is_refused(wrong: object) -> None:
    for function in (language_of, language_of_file):
        with pytest.raises(RequestError, match="to be a str, not"):
            function(wrong)  # type: ignore[arg-type]  # the mistake under test
