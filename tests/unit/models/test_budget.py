"""The account of model calls and its limits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pagetrail.errors import BudgetError, ConfigError
from pagetrail.models.budget import Meter, Usage


def test_calls_tokens_and_money_are_counted():
    meter = Meter(price_in=2.0, price_out=10.0)
    meter.reserve()
    meter.settle(1_000_000, 500_000)
    before = meter.usage
    meter.reserve()
    meter.fail()
    meter.reserve()
    meter.settle(10, 5, estimated=True)
    meter.hit()
    assert before == Usage(1, 1_000_000, 500_000, pytest.approx(7.0))
    since = meter.usage - before
    assert (since.calls, since.tokens, since.failures) == (2, 15, 1)
    assert (since.cache_hits, since.estimated) == (1, 1)
    assert since.cost == pytest.approx(70e-6)


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"max_calls": 2}, "calls"),
        ({"max_tokens": 30}, "tokens"),
        ({"max_cost": 0.03, "price_out": 1000.0}, "cost"),
    ],
)
def test_the_call_after_a_limit_is_refused(limits, name):
    meter = Meter(**limits)
    for _ in range(2):
        meter.check()
        meter.reserve()
        meter.settle(0, 15)
    for refused in (meter.check, meter.reserve):
        with pytest.raises(BudgetError, match=rf"model {name} .*models\.max_{name}"):
            refused()
    assert meter.usage.calls == 2
    meter.hit()  # what is kept costs nothing
    assert meter.usage.cache_hits == 1


def test_nothing_at_all_may_be_allowed():
    with pytest.raises(BudgetError, match="0 of 0"):
        Meter(max_calls=0).reserve()


def test_threads_never_reserve_more_than_allowed():
    meter = Meter(max_calls=500)

    def work(_):
        taken = 0
        for _ in range(100):
            try:
                meter.reserve()
            except BudgetError:
                break
            meter.settle(3, 1)
            taken += 1
        return taken

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 500
    assert (meter.usage.calls, meter.usage.tokens) == (500, 2000)


@pytest.mark.parametrize(
    "bad", [{"max_calls": -1}, {"price_in": -0.1}, {"max_cost": float("nan")}, {"max_cost": 1.0}]
)
def test_limits_that_make_no_sense_are_refused(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        Meter(**bad)
