"""When a call is retried, and after how long."""

from __future__ import annotations

import email.utils

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyteplugins_codegen.llm.retries import CallFailure, RetryPolicy, parse_retry_after

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": email.utils.formatdate(NOW + 30, usegmt=True)}, 30.0),
        ({"retry-after": email.utils.formatdate(NOW - 30, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Wed, 99 Zed 99999 99:99:99 GMT"}, None),
        ({"retry-after": "99999999999"}, 99999999999.0),
    ],
)
def test_retry_after_is_understood_in_all_its_forms(headers, seconds):
    assert parse_retry_after(headers, NOW) == seconds


@given(st.text(max_size=40))
def test_no_retry_after_breaks_the_caller(text):
    found = parse_retry_after({"retry-after": text}, NOW)
    assert found is None or found >= 0


def test_delays_grow_up_to_their_ceiling():
    policy = RetryPolicy(first_delay_s=1.0, max_delay_s=4.0, max_retries=9)
    busy = CallFailure(status=503, message="busy")
    for retries, ceiling in enumerate([1.0, 2.0, 4.0, 4.0]):
        delays = {policy.delay_s(busy, retries, 100.0) for _ in range(50)}
        assert all(ceiling / 2 <= delay <= ceiling for delay in delays)
        assert len(delays) > 1


def test_no_wait_reaches_beyond_the_deadline():
    assert RetryPolicy(first_delay_s=10.0).delay_s(CallFailure(status=503, message="busy"), 0, 4.0) is None


def test_a_server_that_cannot_be_reached_is_given_up_sooner_than_one_that_is_busy():
    policy = RetryPolicy()
    allowed = {
        status: sum(policy.delay_s(CallFailure(status=status, message=""), n, 1e6) is not None for n in range(20))
        for status in (None, 503)
    }
    assert 0 < allowed[None] < allowed[503]
