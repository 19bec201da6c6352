"""`pip install` in code: the requirements, the rest of the code, and what is refused."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.autogen.pip_lines import extract_pip_installs
from flyteplugins_codegen.errors import PackageError


def taken(code: str, language: str = "sh") -> tuple[str, tuple[str, ...]]:
    installs = extract_pip_installs(code, language, {"req.txt": "a==1 # why\n\n# none\nb\n"}.__getitem__)
    return installs.code, installs.requirements


@pytest.mark.parametrize(
    ("code", "rest", "requirements"),
    [
        ("pip install pandas", ": ", ("pandas",)),
        ("pip3 install a b", ": ", ("a", "b")),
        ("python3.11 -m pip install a\nls", ": \nls", ("a",)),
        ("sudo pip install a", ": ", ("a",)),
        ("uv pip install a", ": ", ("a",)),
        ("  pip install -q -U --no-cache-dir a", "  : ", ("a",)),
        ("pip install 'a[x]>=2' \"b<3\" c>=1", ": ", ("a[x]>=2", "b<3", "c>=1")),
        ("pip install a > /dev/null 2>&1 && python x.py", ": && python x.py", ("a",)),
        ("pip install a 2>/dev/null || true", ": || true", ("a",)),
        ("pip install a; ls", ": ; ls", ("a",)),
        ("pip install a | tail -1", ": | tail -1", ("a",)),
        ("cd x && pip install a", "cd x && : ", ("a",)),
        ("if true; then pip install a; fi", "if true; then : ; fi", ("a",)),
        ("(pip install a)", "(: )", ("a",)),
        ("pip install a # needed", ": # needed", ("a",)),
        ("pip install \\\n  a \\\n  b\nls", ": \n\n\nls", ("a", "b")),
        ("pip install -r req.txt", ": ", ("a==1", "b")),
        ("pip install --requirement=req.txt c", ": ", ("a==1", "b", "c")),
        ("pip install --upgrade pip", ": ", ()),
    ],
)
def test_installations_of_a_shell_are_taken_out(code: str, rest: str, requirements: tuple[str, ...]) -> None:
    assert taken(code) == taken(code, "bash") == (rest, requirements)


@pytest.mark.parametrize(
    "code",
    [
        "echo 'pip install a'",
        'echo "run; pip install a"',
        "# pip install a",
        "pipx install a",
        "pip list",
        "pip install-x a",
        "cat <<'END' > notes\npip install a\nEND",
        "cat <<-END\n\tpip install a\n\tEND\n",
    ],
)
def test_what_only_speaks_of_an_installation_stays(code: str) -> None:
    assert taken(code) == (code, ())


def test_after_a_here_document_and_a_shift_installations_count_again() -> None:
    assert taken("cat <<END\nEND\npip install a") == ("cat <<END\nEND\n: ", ("a",))
    assert taken("x=$((1<<2))\npip install a") == ("x=$((1<<2))\n: ", ("a",))


@pytest.mark.parametrize("mark", ["!", "%", "! ", ""])
def test_installations_of_a_notebook_are_taken_out_and_lines_stay_where_they_are(mark: str) -> None:
    code = f"{mark}pip install a\ntry:\n    import b\nexcept ImportError:\n    {mark}pip install -q b\n"
    rest = "pass\ntry:\n    import b\nexcept ImportError:\n    pass\n"
    assert taken(code, "python") == (rest, ("a", "b"))


@pytest.mark.parametrize("code", ['"""\n!pip install a\n"""', "x = 5\n%pip\n", "import pip"])
def test_of_what_is_python_as_it_stands_nothing_is_taken(code: str) -> None:
    assert taken(code, "python") == (code, ())


@pytest.mark.parametrize("language", ["javascript", "powershell", "html"])
def test_of_other_languages_nothing_is_taken(language: str) -> None:
    assert taken("pip install a", language) == ("pip install a", ())


@pytest.mark.parametrize(
    "option", ["-e .", "--index-url=http://192.0.2.1/", "-i http://192.0.2.1/", "--target x", "--no-binary :all:"]
)
def test_options_that_ask_for_more_than_packages_are_refused(option: str) -> None:
    with pytest.raises(PackageError, match=r"`pip install -\S+` is refused: .*; leave the option out"):
        taken(f"pip install a {option}")


def test_an_open_quotation_is_told() -> None:
    with pytest.raises(PackageError, match="cannot be read: No closing quotation"):
        taken("!pip install 'a", "python")


UNITS = [" ", "pip install ", "pip install a;", "<<A\n", "pip install a \\\n", "'", '"', "\\", "&&"]
PARTS = ["pip install a", "ls", "'", '"', "\n", "\\\n", " && ", "<<E\n", "# ", "!", "\0", "\ud800"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("language", ["sh", "python"])
def test_the_time_is_linear_in_the_length(unit: str, language: str) -> None:
    def duration(times: int) -> float:
        begun = time.process_time()
        with suppress(PackageError):  # a backslash at the end of a line goes on in a shell alone
            taken(f"{unit * times}\npip install {unit * times}\nls", language)
        return time.process_time() - begun

    duration(10)
    short, long = (min(duration(times) for _ in range(3)) for times in (2_000, 16_000))
    assert long < 8 * 4 * short + 0.2


@given(st.lists(st.sampled_from(PARTS)))
def test_any_code_is_read_or_refused(parts: list[str]) -> None:
    for language in ("sh", "python"):
        try:
            rest, _ = taken("".join(parts), language)
        except PackageError:
            continue
        assert rest.count("\n") == "".join(parts).count("\n")
