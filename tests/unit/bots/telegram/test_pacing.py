"""The pacer, measured by the flood limits that the simulated server counts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from platforms.core import Clock
from platforms.telegram.flood import Flood
from support.hasty import run_hastily
from telegram.error import BadRequest, RetryAfter

from turnback.bots.telegram.pacing import Pacer, seconds_of

ANN, TEAM = 5, -100


class LoopClock(Clock):
    """The loop's time, for the server's limits."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()


@dataclass
class Sent:
    """A message that reached the server."""

    chat: int
    method: str
    number: int
    at: float


class Line:
    """The way to the server: a pacer, and limits that must not be broken at its end."""

    def __init__(self, *ways: float) -> None:
        """`ways` are the seconds that one way takes, over and over."""
        self._ways = cycle(ways or (0.0,))
        self.pacer = Pacer()
        self.flood = Flood(LoopClock(), "count")
        self.sent: list[Sent] = []
        self.broken: list[str] = []
        self.refusals: list[Exception] = []
        self.begun = asyncio.get_running_loop().time()

    def way(self) -> float:
        return next(self._ways)

    async def send(self, chat: int, number: int = 0, method: str = "sendMessage") -> bool:
        async def call() -> bool:
            await asyncio.sleep(self.way())
            if self.refusals:
                raise self.refusals.pop(0)
            over = self.flood.take(chat, group=chat < 0)
            if over is not None:
                self.broken.append(over[0])
            now = asyncio.get_running_loop().time()
            self.sent.append(Sent(chat, method, number, now - self.begun))
            await asyncio.sleep(self.way())
            return True

        data: dict[str, Any] = {"chat_id": chat}
        return bool(await self.pacer.process_request(call, (), {}, method, data, None))


def paced(requests: Sequence[tuple[int, str]], *ways: float) -> Line:
    """All of that asked for at once."""

    async def run() -> Line:
        line = Line(*ways)
        await asyncio.gather(*(line.send(chat, n, method) for n, (chat, method) in enumerate(requests)))
        await line.pacer.shutdown()
        return line

    return run_hastily(run())


chats = st.sampled_from([1, 2, 3, -1, -2])
methods = st.sampled_from(["sendMessage", "editMessageText", "sendDocument"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(chats, methods), max_size=60), st.lists(st.floats(0, 2), max_size=5))
def test_process_request_anything_keeps_the_limits_and_sends_all(
    requests: list[tuple[int, str]], ways: list[float]
) -> None:
    line = paced(requests, *ways)
    assert line.broken == []
    assert sorted(s.number for s in line.sent) == list(range(len(requests)))


def test_process_request_first_messages_of_a_chat_go_at_once() -> None:
    line = paced([(ANN, "sendMessage")] * 3)
    assert all(s.at < 0.1 for s in line.sent)


def test_process_request_one_chat_keeps_its_order_and_about_one_message_a_second() -> None:
    line = paced([(ANN, "sendMessage")] * 12)
    assert [s.number for s in line.sent] == list(range(12))
    assert 9 < line.sent[-1].at < 13


def test_process_request_many_chats_stay_below_thirty_a_second() -> None:
    line = paced([(chat, "sendMessage") for chat in range(1, 101)])
    assert line.broken == []
    assert 3 < line.sent[-1].at < 5


def test_process_request_over_a_slow_way_stays_below_thirty_a_second() -> None:
    line = paced([(chat, "sendMessage") for chat in range(1, 201)], 0.9, 0.1, 0.0, 0.4)
    assert line.broken == []


def test_process_request_group_gets_twenty_a_minute() -> None:
    line = paced([(TEAM, "sendMessage")] * 25)
    assert line.broken == []
    assert line.sent[19].at < 60 < line.sent[20].at


def test_process_request_edits_leave_room_for_answers_in_a_group() -> None:
    line = paced([(TEAM, "editMessageText")] * 30 + [(TEAM, "sendMessage")] * 8)
    assert line.broken == []
    assert [s.at < 60 for s in line.sent if s.method == "sendMessage"] == [True] * 8


def test_process_request_first_answer_goes_before_edits_that_wait() -> None:
    line = paced([(chat, "editMessageText") for chat in range(1, 61)] + [(99, "sendMessage")])
    assert next(index for index, s in enumerate(line.sent) if s.chat == 99) <= 29


def test_process_request_edit_does_not_starve_behind_answers() -> None:
    async def run() -> Line:
        line = Line()
        sending = [asyncio.create_task(line.send(chat)) for chat in range(1, 28)]
        await asyncio.sleep(0)
        edit = asyncio.create_task(line.send(ANN, 1, "editMessageText"))
        for second in range(1, 12):
            await asyncio.sleep(1)
            sending += [asyncio.create_task(line.send(1000 * second + n)) for n in range(30)]
        await asyncio.gather(edit, *sending)
        return line

    line = run_hastily(run())
    assert next(s.at for s in line.sent if s.method == "editMessageText") < 8


@pytest.mark.parametrize("wait", [30, timedelta(seconds=30)])
def test_process_request_refused_waits_what_is_asked_and_sends_once_more(wait: Any) -> None:
    async def run() -> Line:
        line = Line()
        line.refusals = [RetryAfter(wait)]
        await line.send(ANN)
        return line

    line = run_hastily(run())
    assert [30 <= s.at < 31 for s in line.sent] == [True]


def test_process_request_refused_twice_is_given_back() -> None:
    async def run() -> None:
        line = Line()
        line.refusals = [RetryAfter(1), RetryAfter(1)]
        with pytest.raises(RetryAfter):
            await line.send(ANN)
        assert line.sent == []

    run_hastily(run())


def test_process_request_refused_chat_is_left_alone_and_others_go_on() -> None:
    async def run() -> Line:
        line = Line()
        line.refusals = [RetryAfter(10)]
        first = asyncio.create_task(line.send(ANN, 1))
        await asyncio.sleep(1)
        await asyncio.gather(first, line.send(ANN, 2), line.send(7, 3))
        return line

    line = run_hastily(run())
    at = {s.number: s.at for s in line.sent}
    assert at[3] < 2
    assert at[1] >= 10
    assert at[2] >= 10


def test_process_request_other_refusals_are_not_tried_again() -> None:
    async def run() -> None:
        line = Line()
        line.refusals = [BadRequest("message is too long")]
        with pytest.raises(BadRequest):
            await line.send(ANN)
        assert line.sent == []

    run_hastily(run())


def test_process_request_who_gave_up_takes_no_turn() -> None:
    async def run() -> Line:
        line = Line()
        waiting = [asyncio.create_task(line.send(ANN, n)) for n in range(5)]
        await asyncio.sleep(0.1)
        waiting[3].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return line

    assert [s.number for s in run_hastily(run()).sent] == [0, 1, 2, 4]


def test_process_request_typing_is_not_paced() -> None:
    line = paced([(ANN, "sendChatAction")] * 20)
    assert all(s.at < 0.1 for s in line.sent)


@pytest.mark.parametrize("wait", [3, timedelta(seconds=3)])
def test_seconds_of_both_forms(wait: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seconds_of(RetryAfter(wait)) == 3
    monkeypatch.setenv("PTB_TIMEDELTA", "1")
    assert seconds_of(RetryAfter(wait)) == 3
