from __future__ import annotations

import time

import pytest

from flyteplugins_codegen.text import decoded, failure_text, normalize_volatile, shorten_middle


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<Thing object at 0x7f01a10a0990>", "<Thing object at 0x55d0c0ffee00>"),
        ("assert <solution.Thing object at 0x7f...", "assert <solution.Thing object at 0x7e1..."),
        ("5 failed in 0.12s", "5 failed in 61.03s (0:01:01)"),
        ("PosixPath('/tmp/pytest-of-me/pytest-3/test_x0')", "PosixPath('/tmp/pytest-of-you/pytest-12/test_x0')"),
        ("open('/tmp/tmpab12cd34/none')", "open('/tmp/tmpzz99_x00/none')"),
        ("/srv/job/solution.py:3", "/app/solution.py:3"),
    ],
)
def test_volatile_parts_are_replaced(one, other):
    assert normalize_volatile(one) == normalize_volatile(other)


@pytest.mark.parametrize("text", ["assert 0x10 == 16", "took 3.5 s", "0x7fff is 32767", "/tmp/report.csv"])
def test_all_other_text_stays(text):
    assert normalize_volatile(text) == text


def test_a_long_text_keeps_its_beginning_and_its_end():
    text = shorten_middle("begin" + "x" * 10_000 + "end", 100)
    assert len(text) == 100
    assert text.startswith("begin")
    assert text.endswith("end")


def test_an_address_at_the_cut_is_normalised_before_the_cut():
    assert failure_text("x" * 90 + " 0x7f01a10a0990", 100) == failure_text("x" * 90 + " 0x55d0c0ffee00", 100)


def test_dropped_bytes_are_counted():
    assert decoded(b"\xffabc", 7) == "\ufffdabc\n[7 more bytes were dropped]"


@pytest.mark.parametrize("text", ["x" * 200_000, " " * 200_000 + "x", "/x" * 100_000])
def test_normalising_takes_linear_time(text: str) -> None:
    began = time.process_time()
    normalize_volatile(text)
    assert time.process_time() - began < 2
