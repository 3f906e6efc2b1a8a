"""Telegram's limits, enforced: lists, long answers, and how often we speak."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from platforms.core import utf16_len
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.idling import idle
from support.telegram_bot import telegram_bot
from support.world import Scripted

from turnback.bots.telegram.pacing import Pacer
from turnback.core.policy import Budgets, TimeTravel


@pytest.fixture
async def strict() -> AsyncIterator[TelegramServer]:
    """A server that refuses what comes too fast."""
    async with TelegramServer(flood="enforce") as server:
        yield server
        assert server.violations == []


class Wordy(Scripted):
    """`grow N` says N words, one every 50 ms; `long N` answers with N lines; `emoji N` with N emoji."""

    async def run(self, state: Any, text: str, context: Any) -> AsyncIterator[Mapping[str, Any]]:
        word, _, rest = text.partition(" ")
        if word not in ("grow", "long", "emoji", "code"):
            async for event in super().run(state, text, context):
                yield event
            return
        answer = self._answer(word, int(rest))
        if word == "grow":
            for part in re.findall(r"\S+\s*", answer):
                yield {"type": "delta", "text": part}
                await asyncio.sleep(0.05)
        messages = [*state.get("messages", []), {"role": "user", "content": text}]
        state = {**state, "messages": [*messages, {"role": "assistant", "content": answer}]}
        yield {"type": "step", "state": state, "model": "wordy"}
        yield {"type": "done", "state": state, "text": answer}

    @staticmethod
    def _answer(word: str, number: int) -> str:
        if word == "grow":
            return " ".join(f"word{n}" for n in range(number)) + " end"
        if word == "emoji":
            return "😀" * number
        lines = "\n".join(f"line {n} " + "!" * 40 for n in range(number))
        return f"```python\n{lines}\n```" if word == "code" else lines


async def test_list_of_fifty_turns_shows_them_all_in_order_over_its_pages(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    policy = TimeTravel(budgets=Budgets(max_snapshots=100))
    async with telegram_bot(tmp_path, telegram, agent=Scripted(), policy=policy) as bot:
        for number in range(50):
            await ann.say(f"{number:02} " + "!." * 30)
            await ann.private.seen(f"said {number:02}")
        await idle(bot)
        seen: list[str] = []
        for page in (1, 2, 3):
            await ann.command(f"/replay list {page}")
            shown = await ann.private.replies()
            assert all(utf16_len(message.text) <= 4096 for message in shown)
            seen += re.findall(r"Turn (\d+)", "\n".join(message.text for message in shown))
        assert list(dict.fromkeys(seen)) == [str(number) for number in range(1, 51)]
        assert await bot.steps(ann.id) == 50


@pytest.mark.parametrize(("said", "parts"), [("long 150", 2), ("code 150", 2), ("emoji 2049", 2)])
async def test_long_answer_comes_in_parts(
    telegram: TelegramServer, ann: User, tmp_path: Path, said: str, parts: int
) -> None:
    async with telegram_bot(tmp_path, telegram, agent=Wordy()):
        await ann.say(said)
        shown = await ann.private.replies(parts)
        assert len(shown) == parts
        assert all(utf16_len(message.text) <= 4096 for message in shown)
        if said.startswith("code"):
            assert all(len(message.marked("pre")) == 1 for message in shown)


async def test_comparison_full_of_emoji_stays_within_the_limit(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram, agent=Wordy()) as bot:
        for said in ("one", "emoji 2049"):
            await ann.say(said)
            await ann.private.replies()
        await idle(bot)
        await ann.command("/replay list")
        a, b = re.findall(r"step 1 · ([0-9a-f]{8})", (await ann.private.seen("Turn 2")).text)
        await ann.command(f"/replay compare {a} {b}")
        shown = await ann.private.replies()
        assert "Only in turn 2, step 1" in shown[0].text
        assert sum(message.text.count("😀") for message in shown) > 10
        assert all(utf16_len(message.text) <= 4096 for message in shown)
        assert telegram.refusals == []


async def test_very_long_answer_comes_as_a_file(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with telegram_bot(tmp_path, telegram, agent=Wordy()):
        await ann.say("long 1000")
        shown = await ann.private.seen(lambda message: "document" in message.content)
        assert shown.data is not None
        assert shown.data.decode().count("line") == 1000


async def test_growing_answer_is_edited_no_faster_than_telegram_likes(strict: TelegramServer, tmp_path: Path) -> None:
    ann = strict.user("Ann")
    async with telegram_bot(tmp_path, strict, agent=Wordy(), pacer=Pacer()):
        await ann.say("grow 80")
        shown = await ann.private.seen("word0 ")
        await ann.private.seen("word79 end", seconds=15)
        assert 2 <= len(shown.edits) <= 6
        assert len(ann.private.said()) == 1
        assert ("typing", None) in ann.private.actions
    assert strict.refusals == []


async def test_many_answers_in_a_group_stay_within_its_minute(strict: TelegramServer, tmp_path: Path) -> None:
    strict.bot.privacy = False
    ann = strict.user("Ann")
    group = strict.supergroup("Team", [ann])
    async with telegram_bot(tmp_path, strict, agent=Wordy(), pacer=Pacer()):
        await ann.say("@turnback_bot grow 30", group)
        for number in range(5):
            await ann.say(f"@turnback_bot {number}", group)
        await group.seen("said 4", since=0, seconds=20)
    assert strict.refusals == []


async def test_many_chats_at_once_are_all_answered(strict: TelegramServer, tmp_path: Path) -> None:
    users = [strict.user(f"User{number}") for number in range(40)]
    async with telegram_bot(tmp_path, strict, agent=Scripted(), pacer=Pacer()):
        for user in users:
            await user.say("hello")
        for user in users:
            await user.private.seen("said hello", seconds=15)
    assert strict.refusals == []
    assert all(len(user.private.said()) == 1 for user in users)
