"""How often an address may try."""

from __future__ import annotations

from turnback.web import limits
from turnback.web.limits import RateLimit


class Watch:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_tries_over_the_limit_are_refused() -> None:
    limit = RateLimit(2, 60, clock=Watch())
    assert [limit.allows("a") for _ in range(4)] == [True, True, False, False]


def test_addresses_are_counted_apart() -> None:
    limit = RateLimit(1, 60, clock=Watch())
    assert limit.allows("a")
    assert limit.allows("b")


def test_tries_are_forgotten_after_the_time() -> None:
    watch = Watch()
    limit = RateLimit(1, 60, clock=watch)
    assert limit.allows("a")
    watch.now = 59.9
    assert not limit.allows("a")
    watch.now = 60.0
    assert limit.allows("a")


def test_many_addresses_do_not_fill_the_memory() -> None:
    limit = RateLimit(1, 60, clock=Watch())
    for number in range(limits.MOST_ADDRESSES + 50):
        limit.allows(str(number))
    assert len(limit._tries) == limits.MOST_ADDRESSES
