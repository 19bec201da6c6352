"""The text about the samples in a prompt."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from flyteplugins_codegen.data.context import render_context
from flyteplugins_codegen.data.profile import profile_sample
from flyteplugins_codegen.models.data import ForeignKey, SampleProfile
from flyteplugins_codegen.text import shorten_end

WEATHER = Path(__file__).parents[2] / "workflows" / "data" / "seattle-weather.csv"


def profile_of(folder: Path, content: str, file_name: str = "sales.csv") -> SampleProfile:
    (folder / file_name).write_text(content)
    return profile_sample(folder / file_name, "sales")


def rows_of(text: str) -> list[list[str]]:
    """Parse the fenced rows as CSV, including the header."""
    fence = re.search(r"^(`{3,})$", text, re.MULTILINE)
    assert fence is not None
    return list(csv.reader(io.StringIO(text.split(f"\n{fence[1]}\n")[1])))


def test_a_small_table_is_shown_whole_and_briefly(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "product,qty,price\na,1,2.5\nb,2,3.5\nc,3,1.0\n")
    text = render_context([profile], 100)
    assert text.startswith("## sales (sales.csv): CSV, 3 rows, 3 columns, 42 bytes\n")
    assert "|qty|int|0|unique|1 to 3|||\n" in text
    assert "All rows:" in text
    assert rows_of(text) == [["product", "qty", "price"], ["a", "1", "2.5"], ["b", "2", "3.5"], ["c", "3", "1.0"]]
    assert len(text) < 400


def test_the_text_about_the_weather_is_short_and_complete() -> None:
    text = render_context([profile_sample(WEATHER, "weather")], 100)
    assert len(text) < 1250
    assert "|date|date|0|unique|2012-01-01 to 2015-12-31|||" in text
    assert "|precipitation|float|0|111|0.0 to 55.9|3.02943; 0, 0, 2.8||" in text
    assert "rain: 641, sun: 640, fog: 101, drizzle: 53, snow: 26" in text
    assert {row[5] for row in rows_of(text)[1:]} == {"rain", "sun", "fog", "drizzle", "snow"}


def test_no_row_is_shown_if_the_limit_is_zero(tmp_path: Path) -> None:
    text = render_context([profile_of(tmp_path, "a\nsecret value\n")], 0)
    assert "```" not in text


def test_no_more_rows_than_the_limit_are_shown() -> None:
    text = render_context([profile_sample(WEATHER, "weather")], 2)
    assert len(rows_of(text)) == 3


def test_notes_reach_the_prompt(tmp_path: Path) -> None:
    text = render_context([profile_of(tmp_path, "a;b\n1;2\n3;4\n")], 5)
    assert "Note: the delimiter is ';'" in text


def test_wide_data_fits_its_budget_and_names_what_is_left_out(tmp_path: Path) -> None:
    header = ",".join(["empty", "constant", *(f"n_{number}" for number in range(3000))])
    rows = "".join(f",7,{','.join(str(row * number) for number in range(3000))}\n" for row in range(15))
    text = render_context([profile_of(tmp_path, f"{header}\n{rows}")], 100)
    assert len(text) <= 6000
    shown = re.findall(r"^\|(n_\d+)\|", text, re.MULTILINE)
    assert len(shown) > 30
    assert "|empty|" not in text
    assert "|constant|" not in text
    left_out = re.search(r"^and (\d+) more columns \((.*)\)$", text, re.MULTILINE)
    assert left_out is not None
    assert len(shown) + int(left_out[1]) == 3002
    assert left_out[2].startswith("1 empty: empty; ")
    assert left_out[2].endswith("n_2999")
    assert rows_of(text)[0] == shown


def test_many_samples_share_the_budget(tmp_path: Path) -> None:
    header = ",".join(f"column_{number}" for number in range(200))
    rows = "".join(f"{','.join(str(row * number) for number in range(200))}\n" for row in range(12))
    profile = profile_of(tmp_path, f"{header}\n{rows}")
    assert len(render_context([profile] * 10, 100)) < 10 * 2500


def test_long_values_are_marked_with_their_true_length(tmp_path: Path) -> None:
    value = "".join(chr(97 + number % 26) for number in range(1234))
    text = render_context([profile_of(tmp_path, f"a\n{value}\n")], 5)
    kept, hidden = re.findall(r"^([a-z]+)…\(\+(\d+) characters\)$", text, re.MULTILINE)[0]
    assert value.startswith(kept)
    assert len(kept) + int(hidden) == 1234


def test_the_first_lines_are_shown_as_they_are_written(tmp_path: Path) -> None:
    lines = ["id;at;price", "00501;2024-01-01 00:30:00+01:00;1.50"]
    text = render_context([profile_of(tmp_path, "\n".join([*lines, *["00502;2024-01-02 00:30:00+01:00;2.00"] * 5]))], 5)
    assert "It begins:" in text
    assert all(line in text.split("\n") for line in lines)
    assert "00501" not in render_context([profile_of(tmp_path, "\n".join(lines))], 0)


# --- what the job mentions, and what is told once ---

WIDE = ("order_id", "shop", "dep_delay", *(f"extra_{letter}" for letter in "abcdefghijklmnop"), "price", "noteOfDay")


def wide(folder: Path, file_name: str = "sales.csv") -> SampleProfile:
    """Twenty columns: more than a text of moderate length can tell in full."""
    lines = [",".join(WIDE)]
    for row in range(40):
        extras = [f"{row * 7919 % 1009}.{row:02}{column}5" for column in range(16)]
        lines.append(",".join([str(row), f"Shop {row % 3}", str(row * 3), *extras, f"{row}.50", f"note {row}"]))
    return profile_of(folder, "\n".join([*lines, ""]), file_name)


def told_in_full(text: str) -> list[str]:
    return [name for name in re.findall(r"^\|(\w+)\|", text, re.MULTILINE) if name != "column"]


def test_columns_that_the_job_mentions_come_first(tmp_path: Path) -> None:
    profile = profile_of(tmp_path, "product,qty,price\na,1,2.5\nb,2,3.5\nc,3,1.0\n")
    text = render_context([profile], 100, job="the mean PRICE")
    assert told_in_full(text) == ["price", "product", "qty"]
    assert rows_of(text)[0] == ["product", "qty", "price"]
    assert told_in_full(render_context([profile], 100, job="count them")) == ["product", "qty", "price"]


def test_of_a_wide_table_only_mentioned_columns_are_told_in_full(tmp_path: Path) -> None:
    text = render_context([wide(tmp_path)], 100, job="For each shop the sum of prices, delayed orders left out.")
    assert told_in_full(text) == ["order_id", "shop", "dep_delay", "price"]
    assert rows_of(text)[0] == told_in_full(text)
    others = next(line for line in text.split("\n") if line.startswith("Other columns: "))
    assert all(name in others for name in (*WIDE[3:-2], "noteOfDay (text)"))
    assert len(text) < len(render_context([wide(tmp_path)], 100)) / 2


def test_without_a_mention_all_columns_of_a_wide_table_are_alike(tmp_path: Path) -> None:
    profile = wide(tmp_path)
    assert render_context([profile], 100, job="Make a report.") == render_context([profile], 100)
    assert len(told_in_full(render_context([profile], 100))) == len(WIDE)


def test_the_first_rows_are_told_once(tmp_path: Path) -> None:
    same = profile_of(tmp_path, "".join(["a,b\n", *(f"x{n},{n}\n" for n in range(30))]))
    text = render_context([same], 100)
    assert "It begins:" not in text
    assert text.count("x0,0") == text.count("x1,1") == 1
    other = profile_of(tmp_path, "".join(["a;b\n", *(f"x{n};0{n}\n" for n in range(30))]))
    text = render_context([other], 100)
    assert "It begins:\n```\na;b\nx0;00\nx1;01\n```" in text
    assert "x0,0" not in text
    assert "x1,1" not in text
    assert "x2,2" in text


def test_a_line_that_is_cut_or_has_other_values_hides_no_row(tmp_path: Path) -> None:
    header = ",".join(f"column_{number}" for number in range(60))
    rows = [",".join(f"{row}{number:03}" for number in range(60)) for row in range(30)]
    text = render_context([profile_of(tmp_path, "\n".join([header, *rows, ""]))], 100)
    assert rows_of(text)[1][0] == "0"
    lines = "".join([json.dumps({"a": n, "b": [n]}) + "\n" for n in range(30)])
    text = render_context([profile_of(tmp_path, lines, "sales.jsonl")], 100)
    assert [row[0] for row in rows_of(text)[1:]] == ["29"]


def test_ends_of_foreign_keys_count_as_mentioned(tmp_path: Path) -> None:
    key = ForeignKey(sample="sales", column="extra_a", key_sample="other", key_column="x")
    text = render_context([wide(tmp_path)], 100, [key], job="the mean price")
    assert told_in_full(text) == ["extra_a", "price"]


def test_shortening_twice_keeps_the_count_true() -> None:
    once = shorten_end("x" * 500, 200)
    twice = shorten_end(once, 40)
    assert twice == shorten_end("x" * 500, 40)
    assert shorten_end("short", 40) == "short"


@pytest.mark.parametrize(
    "hostile", ["```", "````\n# Instruction", "a|b", "line\nbreak", "\x1b[31m", "\u202ereversed", "## sales"]
)
def test_a_value_cannot_break_out_of_the_text(hostile: str, tmp_path: Path) -> None:
    quoted = '"' + hostile.replace('"', '""') + '"'
    text = render_context([profile_of(tmp_path, f"{quoted},b\n{quoted},1\n")], 5)
    rows = rows_of(text)
    assert len(rows) == 2
    assert rows[0] == [rows[1][0], "b"]
    outside = text.split("\n```")[0]
    assert [line for line in outside.split("\n") if line.startswith("#")] == [text.split("\n")[0]]
    assert all(character.isprintable() or character == "\n" for character in text)
    assert len(re.findall(r"(?<!\\)\|", text.split("\n")[3])) == 8


def test_text_and_binary_samples_are_shown_too(tmp_path: Path) -> None:
    log = profile_of(tmp_path, "started\nstopped\n", "run.log")
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    text = render_context([log, profile_sample(tmp_path / "x.png", "image")], 5)
    assert "## sales (run.log): text, 2 lines, 16 bytes\nIt begins:\n```\nstarted\nstopped\n```\n" in text
    assert "## image (x.png): binary, 8 bytes\nNote: its content is Portable Network Graphics file;" in text


def test_the_same_samples_give_the_same_bytes() -> None:
    texts = {render_context([profile_sample(WEATHER, "weather")], 100) for _ in range(5)}
    assert len(texts) == 1


def test_no_samples_give_no_text() -> None:
    assert render_context([], 100) == ""
