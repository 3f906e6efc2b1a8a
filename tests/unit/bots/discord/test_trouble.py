"""What Discord's refusals mean."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import aiohttp
import discord
import pytest
from support.hasty import run_hastily

from turnback.bots.discord.pacing import Pacer
from turnback.bots.discord.trouble import GIVE_UP_SECONDS, MessageGone, NoReference, meaning, sent
from turnback.bots.platform import Down, Unreachable
from turnback.bots.windows import Limit


def refusal(status: int, code: int = 0) -> discord.HTTPException:
    response: Any = SimpleNamespace(status=status, reason="")
    return discord.HTTPException(response, {"code": code, "message": "https://quoted.example/secret"})


@pytest.mark.parametrize(
    ("status", "code", "means"),
    [
        (401, 0, Down),
        (401, 50027, Unreachable),  # a token of an interaction, not the bot's
        (403, 50007, Unreachable),
        (404, 10003, Unreachable),
        (404, 10008, MessageGone),
        (400, 50083, MessageGone),
        (400, 160002, NoReference),
    ],
)
def test_refusals_are_told_apart(status: int, code: int, means: type[Exception]) -> None:
    found = meaning(refusal(status, code))
    assert type(found) is means
    assert "secret" not in str(found)


def test_what_passes_is_tried_again() -> None:
    troubles: list[Exception] = [refusal(503), refusal(429), aiohttp.ClientError(), TimeoutError()]

    async def call() -> str:
        if troubles:
            raise troubles.pop()
        return "done"

    assert run_hastily(sent(call)) == "done"


def test_what_does_not_pass_is_given_up_after_a_while() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def call() -> str:
        raise refusal(502)

    with pytest.raises(Down, match="status 502"):
        run_hastily(sent(call, sleep=sleep))
    assert GIVE_UP_SECONDS <= sum(slept) < 2 * GIVE_UP_SECONDS


def test_no_more_than_the_limit_go_in_its_time() -> None:
    import asyncio

    async def go() -> list[float]:
        pacer, at = Pacer(Limit(3, 1.0)), list[float]()

        async def one() -> None:
            async with pacer.turn():
                at.append(asyncio.get_running_loop().time())

        await asyncio.gather(*(one() for _ in range(7)))
        return at

    times = run_hastily(go())
    assert all(later - sooner >= 1.0 for sooner, later in zip(times, times[3:], strict=False))
