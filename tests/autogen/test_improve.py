"""`improve_function` and `improve_code` return or write only changes that were tried before."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess

import pytest
from model_server import HttpError, ModelServer, Reply

from flyteplugins_codegen import improve_code, improve_function
from flyteplugins_codegen.errors import (
    ArgumentTypeError,
    InvalidReplyError,
    RefusedReplyError,
    RequestError,
    TruncatedReplyError,
)

STATS = '''\
"""Statistics."""


def mean(values):
    total = 0
    for value in values:
        total += value
    return total / len(values)


class Series:
    def first(self):
        return self.values[0]
'''
BETTER = 'def mean(values):\n    """The mean, 0 of nothing."""\n    return sum(values) / len(values) if values else 0\n'
WORSE = "def mean(values):\n    return 0\n"
TESTS = "from stats import mean\n\n\ndef test_mean():\n    assert mean([1, 2, 6]) == 3\n    assert mean([]) == 0\n"
LOOP = "    total = 0\n    for value in values:\n        total += value\n    return total / len(values)\n"
EDIT = {"file": "stats.py", "search": LOOP, "replace": "    return sum(values) / len(values) if values else 0\n"}
WRONG_EDIT = {**EDIT, "replace": "    return 0\n"}
BROKEN_EDIT = {**EDIT, "replace": "    return (\n"}
ODD = ["a\0b", "\ud800", "x" * 10_000_000]
SUGGESTED = ["Sum by the builtin.", "Take an empty list."]

# What runs in the sandbox is the same whoever wrote it.
ONE_PROVIDER = pytest.mark.parametrize("scene", ["openai"], indirect=True)


def improvement(*edits, suggestions=SUGGESTED):
    return {"suggestions": suggestions, "edits": list(edits)}


def complaint(server):
    """The text in the second request about the first reply."""
    return json.dumps(server.calls[1].body["messages"][-1])


class TestFunction:
    def test_the_function_anew_and_its_cost_and_the_file_as_it_was(self, scene, files):
        (path,) = files(stats=STATS)
        server = scene.serve("ImprovedFunctionReply", Reply({"code": BETTER}, input_tokens=10, output_tokens=10))
        improved = improve_function(path, "mean", "Take an empty list.", **scene.config(server))
        assert improved == (BETTER, pytest.approx(0.02))
        assert path.read_text() == STATS
        said = json.dumps(server.calls[0].body["messages"])
        assert "Take an empty list." in said
        assert str(path.parent) not in said  # a folder's name is nobody's business

    async def test_a_method_fenced_and_indented(self, scene, files):
        (path,) = files(stats=STATS)
        code = "```python\n    def first(self):\n        return next(iter(self.values))\n```"
        server = scene.serve("ImprovedFunctionReply", {"code": code})
        improved, _ = await improve_function.aio(path, "Series.first", "Take any iterable.", **scene.config(server))
        assert improved == "def first(self):\n    return next(iter(self.values))\n"

    @pytest.mark.parametrize(
        ("code", "said"),
        [
            ("def average(values):\n    return 0\n", "no function mean"),
            ("def mean(values):\n    return (\n", "SyntaxError"),
            ("I would not change it.", "SyntaxError"),
            ("def mean(values):\n    return 0\nreturn 1\n", "SyntaxError"),
        ],
    )
    def test_what_is_no_such_function_is_put_back_to_the_model(self, scene, files, code, said):
        (path,) = files(stats=STATS)
        server = scene.serve("ImprovedFunctionReply", {"code": code}, {"code": BETTER})
        assert improve_function(path, "mean", "Be quick.", **scene.config(server))[0] == BETTER
        assert said in complaint(server)

    @ONE_PROVIDER
    def test_the_given_tests_judge_it(self, scene, files):
        (path,) = files(stats=STATS)
        server = scene.serve("ImprovedFunctionReply", {"code": WORSE}, {"code": BETTER})
        assert improve_function(path, "mean", "Be quick.", tests=TESTS, **scene.config(server))[0] == BETTER
        assert "assert 0 == 3" in complaint(server)

    @pytest.mark.parametrize("name", ["median", "first", "", "Series", None, 3])
    def test_a_name_that_is_not_there_is_told_with_those_that_are(self, files, name):
        (path,) = files(stats=STATS)
        with pytest.raises(RequestError, match=r"stats\.py has no function .*; it has mean, Series\.first"):
            improve_function(path, name, "Be quick.", model="openai/m")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("def mean(:\n    pass\n", r"stats\.py, line 1: SyntaxError"),
            ("", "is empty"),
            ("def mean(): '\0'", "NUL"),
            ("x = 1\n", "none at all"),
            ("x = '" + "y" * 10_000_000 + "'", "bytes"),
            ("x = '" + "y" * 2_000_000 + "'", "characters"),
        ],
    )
    def test_a_file_that_cannot_be_used_is_named(self, files, text, said):
        (path,) = files(stats=text)
        with pytest.raises(RequestError, match=said):
            improve_function(path, "mean", "Be quick.", model="openai/m")

    def test_its_signature_begins_as_autogens(self):
        names = list(inspect.signature(improve_function).parameters)
        assert names[:3] == ["file_name", "func_name", "objective"]


class TestCode:
    def test_by_default_the_change_is_only_shown(self, scene, files):
        (path,) = files(stats=STATS)
        server = scene.serve("ImprovementReply", Reply(improvement(EDIT), input_tokens=10, output_tokens=10))
        shown, cost = improve_code([path], "Take an empty list.", **scene.config(server))
        assert shown.startswith("# Sum by the builtin.\n# Take an empty list.\n--- a/stats.py\n+++ b/stats.py\n@@")
        assert cost == pytest.approx(0.02)
        assert path.read_text() == STATS

    def test_what_is_shown_is_what_git_applies_and_what_is_written(self, scene, files):
        paths = files(stats=STATS, other="from stats import mean\nprint(mean([1]))\n")
        edits = [EDIT, {"file": "other.py", "search": "[1]", "replace": "[1, 2]"}]
        server = scene.serve("ImprovementReply", improvement(*edits))
        shown, _ = improve_code(paths, "More.", **scene.config(server))
        copy = paths[0].parent / "copy"
        copy.mkdir()
        for path in paths:
            shutil.copy(path, copy)
        git = [shutil.which("git") or "git", "apply", "-p1", "-"]
        subprocess.run(git, cwd=copy, input=shown.encode(), check=True, env={**os.environ, "GIT_DIR": "none"})
        assert improve_code(paths, "More.", False, **scene.config(server)) == (shown, 0.0)
        assert [path.read_text() for path in paths] == [(copy / path.name).read_text() for path in paths]
        assert "[1, 2]" in paths[1].read_text()

    def test_a_recording_is_replayed_for_the_same_files_anywhere(self, scene, files, tmp_path):
        (path,) = files(stats=STATS)
        server, record = scene.serve("ImprovementReply", improvement(EDIT)), str(tmp_path / "replies.jsonl")
        shown, _ = improve_code([path], "More.", **scene.config(server, record=record))
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        shutil.move(path, elsewhere)
        assert improve_code([elsewhere / path.name], "More.", model=f"replay:{record}")[0] == shown

    def test_what_is_written_keeps_its_mode_and_line_ends_and_leaves_nothing_beside_it(self, scene, files):
        (path,) = files(stats="")
        path.write_bytes(STATS.replace("\n", "\r\n").encode())
        path.chmod(0o750)
        server = scene.serve("ImprovementReply", improvement(EDIT))
        improve_code([path], "More.", suggest_only=False, **scene.config(server))
        assert path.stat().st_mode & 0o777 == 0o750
        assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")
        assert list(path.parent.iterdir()) == [path]

    @pytest.mark.parametrize(
        ("edit", "said"),
        [
            (BROKEN_EDIT, "stats.py, line 5: SyntaxError"),
            ({**EDIT, "search": "no such line"}, "stats.py, edit 1: not found"),
            ({**EDIT, "file": "../secrets.py"}, "there is no file '../secrets.py' among those given: stats.py"),
            ({**EDIT, "file": "/etc/passwd"}, "among those given"),
        ],
    )
    def test_an_edit_that_does_not_apply_is_put_back_to_the_model(self, scene, files, edit, said):
        (path,) = files(stats=STATS)
        server = scene.serve("ImprovementReply", improvement(edit), improvement(EDIT))
        improve_code([path], "More.", suggest_only=False, **scene.config(server))
        assert said in complaint(server)
        assert "sum(values)" in path.read_text()

    @pytest.mark.parametrize(
        ("item", "error"),
        [
            (improvement(BROKEN_EDIT), InvalidReplyError),
            (Reply(improvement(EDIT), stop_reason="truncated"), TruncatedReplyError),
            (Reply("No.", stop_reason="refused"), RefusedReplyError),
            ('{"edits": [', InvalidReplyError),
        ],
    )
    def test_where_the_second_reply_is_of_no_use_either_nothing_is_written(self, scene, files, item, error):
        (path,) = files(stats=STATS)
        server = scene.serve("ImprovementReply", HttpError(429, headers={"Retry-After": "0.01"}), item, item)
        with pytest.raises(error) as failure:
            improve_code([path], "More.", suggest_only=False, **scene.config(server))
        assert path.read_text() == STATS
        assert len(failure.value.calls) == 2

    @ONE_PROVIDER
    def test_the_given_tests_judge_the_change_before_anything_is_written(self, scene, files):
        (path,) = files(stats=STATS)
        server = scene.serve("ImprovementReply", improvement(WRONG_EDIT), improvement(EDIT))
        improve_code([path], "More.", suggest_only=False, tests=TESTS, **scene.config(server))
        assert "sum(values)" in path.read_text()
        assert "assert 0 == 3" in complaint(server)

    @ONE_PROVIDER
    def test_a_change_that_fails_the_tests_twice_is_not_made(self, scene, files):
        (path,) = files(stats=STATS)
        cheat = {**EDIT, "replace": "    import os\n    os._exit(0)\n"}
        server = scene.serve("ImprovementReply", improvement(WRONG_EDIT), improvement(cheat))
        with pytest.raises(InvalidReplyError, match="nothing was written") as failure:
            improve_code([path], "More.", suggest_only=False, tests=TESTS, **scene.config(server))
        assert path.read_text() == STATS
        assert len(failure.value.calls) == 2

    @ONE_PROVIDER
    def test_tests_see_packages_and_the_files_beside_those_given(self, scene, tmp_path):
        package = tmp_path / "shop"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "rates.py").write_text("RATE = 2\n")
        (package / "price.py").write_text("from shop.rates import RATE\n\n\ndef price(x):\n    return x\n")
        tests = "from shop.price import price\n\n\ndef test_price():\n    assert price(3) == 6\n"
        edit = {"file": "shop/price.py", "search": "return x", "replace": "return x * RATE"}
        server = scene.serve("ImprovementReply", improvement(edit))
        shown, _ = improve_code([package / "price.py"], "Use it.", tests=tests, **scene.config(server))
        assert "+++ b/shop/price.py" in shown

    def test_a_suggestion_cannot_pass_for_a_part_of_the_diff(self, scene, files):
        (path,) = files(stats=STATS)
        forged = "Fine.\n--- a/../other.py\r+++ b/../other.py\u2028@@ -0,0 +1 @@\n+import os"
        server = scene.serve("ImprovementReply", improvement(EDIT, suggestions=[forged]))
        shown, _ = improve_code([path], "More.", **scene.config(server))
        assert all(line.startswith("# ") for line in shown.partition("--- a/stats.py")[0].splitlines())

    def test_where_nothing_needs_to_change_nothing_is_shown_but_the_suggestions(self, scene, files):
        (path,) = files(stats=STATS)
        server = scene.serve("ImprovementReply", improvement())
        assert improve_code([path], "More.", False, **scene.config(server))[0] == (
            "# Sum by the builtin.\n# Take an empty list.\n"
        )

    def test_a_file_with_a_syntax_error_can_be_mended(self, scene, files):
        (path,) = files(stats="def f(:\n    pass\n")
        server = scene.serve("ImprovementReply", improvement({"file": "stats.py", "search": "f(:", "replace": "f():"}))
        improve_code([path], "Mend it.", suggest_only=False, **scene.config(server))
        assert path.read_text() == "def f():\n    pass\n"

    @pytest.mark.parametrize(
        ("given", "error"),
        [
            ([], RequestError),
            ("stats.py", ArgumentTypeError),
            (None, ArgumentTypeError),
            ([3], ArgumentTypeError),
            ([b"x"], ArgumentTypeError),
            ([""], RequestError),
            (["a\0b"], RequestError),
            (["a\ud800b"], RequestError),
            (["x" * 10_000_000], RequestError),
            (["missing.py"], RequestError),
            (["."], RequestError),
            (["/dev/zero"], RequestError),
        ],
    )
    def test_files_that_are_none_are_told(self, given, error, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(error) as told:
            improve_code(given, "More.", model="openai/m")
        assert len(str(told.value)) < 500

    def test_a_missing_file_is_named(self, files, tmp_path):
        with pytest.raises(RequestError, match=r"missing\.py: there is no such file"):
            improve_code([*files(stats=STATS), tmp_path / "missing.py"], "More.", model="openai/m")

    def test_a_file_given_twice_is_named(self, files, tmp_path):
        (path,) = files(stats=STATS)
        (tmp_path / "link.py").symlink_to(path)
        with pytest.raises(RequestError, match="given twice"):
            improve_code([path, tmp_path / "link.py"], "More.", model="openai/m")

    def test_a_file_that_is_no_text_is_named(self, tmp_path):
        (tmp_path / "x.py").write_bytes(b"\xff\xfe")
        with pytest.raises(RequestError, match=r"x\.py is no text in UTF-8"):
            improve_code([tmp_path / "x.py"], "More.", model="openai/m")

    @pytest.mark.parametrize("objective", ["", None, 3, *ODD])
    def test_an_objective_that_is_none_is_told_before_anything_is_sent(self, files, objective):
        with ModelServer({}) as server:
            with pytest.raises(RequestError, match="objective"):
                improve_code(files(stats=STATS), objective, model="m", api_base=server.url)
            assert not server.calls

    @pytest.mark.parametrize("tests", ["", "x = 1", "def test_a(): pass", "def test_a(:", 3, "assert True", *ODD])
    def test_tests_that_could_not_fail_are_told_before_anything_is_sent(self, files, tests):
        with ModelServer({}) as server:
            with pytest.raises(RequestError, match="tests"):
                improve_code(files(stats=STATS), "More.", tests=tests, model="m", api_base=server.url)
            assert not server.calls

    def test_a_sandbox_that_is_none_is_told_before_anything_is_sent(self, files):
        with ModelServer({}) as server:
            with pytest.raises(RequestError, match="choose one of auto, bubblewrap, container, none"):
                improve_code(files(stats=STATS), "More.", tests=TESTS, sandbox="docker", model="m", api_base=server.url)
            assert not server.calls

    def test_its_signature_begins_as_autogens(self):
        assert list(inspect.signature(improve_code).parameters)[:3] == ["files", "objective", "suggest_only"]
