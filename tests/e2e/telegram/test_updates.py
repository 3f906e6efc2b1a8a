"""Every update once: edits, redeliveries, restarts and kills."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from platforms.telegram.chats import Chat
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.telegram_bot import Bot, talk, telegram_bot
from support.world import Scripted

from turnback.core.models import Action, Outcome, Surface


async def first_step(user: User, chat: Chat | None = None) -> str:
    """The id of the first step, as the list shows it."""
    await user.command("/replay list", chat)
    shown = await (chat or user.private).seen("Steps of this chat")
    return str(re.findall(r"step 1 · ([0-9a-f]{8})", shown.text)[0])


async def done(bot: Bot, action: Action) -> int:
    """How often something was done."""
    trail = await bot.service.threads.audit_trail()
    return sum(e.action is action and e.outcome is Outcome.DONE for e in trail)


@pytest.mark.parametrize("command", ["/replay {}", "/replay clear", "/fork {}"])
async def test_edited_command_does_nothing_again(
    bot: Bot, telegram: TelegramServer, ann: User, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    telegram.bot.privacy = False
    group = telegram.supergroup("Team", [ann])
    await talk(bot, ann, "one", "two", chat=group)
    typed = await ann.command(command.format(await first_step(ann, group)), group)
    [answer] = await group.replies()
    if "clear" in command:
        await ann.press("Delete 2 steps", answer)
        await group.seen("Deleted 2 steps")
    await talk(bot, ann, "three", "four", chat=group)
    before = await bot.texts(group.id), await bot.steps(group.id), await bot.service.threads.audit_trail()
    # an adapter does not ask for edits; whoever shares the token may have, and the queue then holds them
    telegram.updates.allowed = frozenset({"message", "edited_message", "callback_query"})
    await ann.edit(typed, typed.text)
    assert "edited_message" in telegram.updates.history[-1]
    await group.no_replies()
    assert before == (await bot.texts(group.id), await bot.steps(group.id), await bot.service.threads.audit_trail())
    assert "exception" not in "".join(capsys.readouterr()).lower()


async def test_edited_message_starts_no_turn(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    said = await ann.say("one")
    await ann.private.seen("You said: one")
    telegram.updates.allowed = None
    await ann.edit(said, "one, or rather two")
    await ann.private.no_replies()
    assert await bot.texts(ann.id) == ["one", "You said: one"]


async def test_update_delivered_again_is_not_run_again(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    await talk(bot, ann, "one")
    mark = ann.private.mark()
    telegram.redeliver()
    telegram.redeliver()
    await ann.private.no_replies(since=mark)
    assert await bot.texts(ann.id) == ["one", "You said: one"]


async def test_fork_delivered_again_after_a_restart_is_one_fork(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram) as bot:
        await talk(bot, ann, "one")
        await ann.command(f"/fork {await first_step(ann)}")
        await ann.private.seen("Forked")
        fork = telegram.updates.history[-1]
    telegram.redeliver(fork)
    async with telegram_bot(tmp_path, telegram) as bot:
        await ann.private.no_replies(since=ann.private.mark())
        assert await done(bot, Action.FORK) == 1


async def test_clear_delivered_again_after_a_restart_spares_new_steps(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram) as bot:
        await talk(bot, ann, "one")
        await ann.command("/replay clear")
        await ann.press("Delete 1 step", await ann.private.seen("Delete the 1 step"))
        clear = telegram.updates.history[-2:]
        await ann.private.seen("Deleted 1 step")
        await talk(bot, ann, "two")
    for update in clear:
        telegram.redeliver(update)
    async with telegram_bot(tmp_path, telegram) as bot:
        await ann.private.no_replies(since=ann.private.mark())
        assert await bot.steps(ann.id) == 1
        assert await done(bot, Action.CLEAR) == 1


async def test_claimed_update_that_never_began_runs_at_the_next_start(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram) as bot:
        await talk(bot, ann, "hello")
        payload = {**telegram.updates.history[-1], "update_id": 5}
        payload["message"] = {**payload["message"], "message_id": 999_999, "text": "lost"}
        key = f"{telegram.bot.id}:5"
        await bot.service.threads.claim(Surface.TELEGRAM, key, payload, bot.service.people._clock())
    async with telegram_bot(tmp_path, telegram):
        await ann.private.seen("You said: lost")
    async with telegram_bot(tmp_path, telegram) as bot:
        assert (await bot.texts(ann.id)).count("lost") == 1


async def test_end_confirms_what_was_taken(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with telegram_bot(tmp_path, telegram) as bot:
        await talk(bot, ann, "one")
    assert telegram.updates.pending == 0


async def test_updates_that_wait_longer_than_a_stop_are_answered_after_it(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram):
        pass
    await ann.say("while you were away")
    async with telegram_bot(tmp_path, telegram):
        await ann.private.seen("You said: while you were away")


class Halting(Scripted):
    """Waits before it answers `wait`, until the test lets it go."""

    def __init__(self) -> None:
        self.free = asyncio.Event()

    async def run(self, state: Any, text: str, context: Any) -> AsyncIterator[Mapping[str, Any]]:
        if text == "wait":
            await self.free.wait()
        async for event in super().run(state, text, context):
            yield event


async def test_messages_during_a_turn_run_after_it_in_order(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    agent = Halting()
    async with telegram_bot(tmp_path, telegram, agent=agent) as bot:
        await ann.say("wait")
        await ann.say("second")
        await ann.private.seen("A turn is running; yours comes next.")
        await ann.say("third")
        await telegram.updates.taken()
        agent.free.set()
        await ann.private.seen("said third", since=0)
        texts = await bot.texts(ann.id)
        assert texts == ["wait", "said wait", "second", "said second", "third", "said third"]


async def test_many_messages_at_once_keep_their_order(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with telegram_bot(tmp_path, telegram, agent=Scripted()) as bot:
        for number in range(12):
            await ann.say(f"number {number}")
        await ann.private.seen("said number 11", since=0)
        texts = [text for text in await bot.texts(ann.id) if text.startswith("number")]
        assert texts == [f"number {number}" for number in range(12)]


async def test_old_command_that_goes_back_asks_first(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with telegram_bot(tmp_path, telegram) as bot:
        await talk(bot, ann, "one")
        step = await first_step(ann)
        await talk(bot, ann, "two")
    telegram.clock.advance(-900)
    await ann.command(f"/replay {step}")
    telegram.clock.advance(900)
    async with telegram_bot(tmp_path, telegram) as bot:
        await ann.press("Do it", await ann.private.seen(lambda message: bool(message.buttons)))
        await ann.private.seen("Back at turn 1")
        assert await done(bot, Action.RESTORE) == 1
