"""Digests of outputs: the same for what reads the same, another for every difference that a reader would see."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.solution.outputs import file_digests, folder_digests, plain_text


def digests(folder: Path, data: bytes) -> dict[str, str]:
    path = folder / "output"
    path.write_bytes(data)
    return file_digests(path, len(data))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a,b\r\n1,2\r\n", "a,b\n1,2\n"),
        ("a\n1\n\n", "a\n1"),
        ("total\n7.50\n", "total\n7.5\n"),
        ("0.30000000000000004", "0.3"),
        ("x,-3.0,y", "x,-3,y"),
        ('{"a": 1e3}', '{"a": 1000}'),
    ],
)
def test_texts_that_read_the_same_have_one_text_digest_and_two_of_their_bytes(tmp_path, one, other):
    first, second = digests(tmp_path, one.encode()), digests(tmp_path, other.encode())
    assert first["text_sha256"] == second["text_sha256"]
    assert first["sha256"] != second["sha256"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1\n2\n", "2\n1\n"),  # rows are not reordered
        ("7.5", "7.51"),
        ("1.50kg", "1.5kg"),
        ("2024.01.10", "2024.01.1"),
        ("1.10.0", "1.1.0"),
        ("123456.789012", "123456.789013"),
        ("a b", "a  b"),
        ("3.0", "-3.0"),
    ],
)
def test_texts_that_read_otherwise_have_digests_of_their_own(tmp_path, one, other):
    assert digests(tmp_path, one.encode())["text_sha256"] != digests(tmp_path, other.encode())["text_sha256"]


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=1e-300, max_value=1e300))
def test_every_way_to_write_a_float_reads_the_same(number):
    assert len({plain_text(f"{number!r},x"), plain_text(f"{number:.17e},x")}) == 1


@given(st.text(alphabet="0123456789.eE+-,\n ax"))
def test_reading_a_plain_text_changes_nothing_more(text):
    assert plain_text(plain_text(text)) == plain_text(text)


@pytest.mark.parametrize("data", [bytes(range(256)), b"a\0b"])
def test_what_is_no_text_has_the_digest_of_its_bytes_alone(tmp_path, data):
    assert set(digests(tmp_path, data)) == {"sha256"}


def test_of_a_long_text_the_line_ends_are_made_alike_and_the_decimals_left(tmp_path):
    one, other = (digests(tmp_path, line * 100_000) for line in (b"1.50\n", b"1.50\r\n"))
    assert one["text_sha256"] == other["text_sha256"]
    assert one["text_sha256"] != digests(tmp_path, b"1.5\n" * 100_000)["text_sha256"]


def test_a_folder_has_digests_by_its_files_names_and_what_they_read_as(tmp_path):
    (tmp_path / "a").write_text("1.50\n")
    (tmp_path / "b").write_text("1.5")
    (tmp_path / "c").write_text("2")
    a, b, c = (tmp_path / name for name in "abc")
    one, other = folder_digests({"x": a, "y": c}), folder_digests({"y": c, "x": b})
    assert one["text_sha256"] == other["text_sha256"]
    assert one["sha256"] != other["sha256"]
    folders = ({"x": a}, {"y": a}, {"x": c}, {"x": a, "y": c}, {})
    assert len({folder_digests(files)["text_sha256"] for files in folders}) == 5


def test_a_folder_with_a_file_that_is_no_text_has_the_digest_of_its_bytes_alone(tmp_path):
    (tmp_path / "a").write_bytes(b"\0")
    (tmp_path / "b").write_text("b")
    assert set(folder_digests({"a": tmp_path / "a", "b": tmp_path / "b"})) == {"sha256"}
