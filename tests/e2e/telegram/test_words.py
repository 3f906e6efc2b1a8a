"""Commands as phones write them, and words for the agent as they were written."""

from __future__ import annotations

import re

import pytest
from platforms.telegram.people import User
from support.telegram_bot import Bot, talk


async def two_steps(bot: Bot, user: User) -> list[str]:
    await talk(bot, user, "one", "two")
    await user.command("/replay list")
    return re.findall(r"step 1 · ([0-9a-f]{8})", (await user.private.seen("Steps of this chat")).text)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("/replay compare {a} —— {b}", "Turn 1, step 1 ({a}) and turn 2, step 1 ({b}):"),
        ("/replay —help", "What you can ask here"),
        ("/replay “{a}”", "Back at turn 1, step 1 ({a})"),
        ("/replay\N{NO-BREAK SPACE}list", "Steps of this chat"),
        ("/replay\N{NARROW NO-BREAK SPACE}list", "Steps of this chat"),
        ("/replay {a}\N{ZERO WIDTH SPACE}", "Back at turn 1, step 1 ({a})"),
        ("/fork <{a}>", "Forked turn 1, step 1"),
        ("/replay  {A}.", "Back at turn 1, step 1 ({a})"),
    ],
)
async def test_command_as_a_phone_writes_it_is_understood(bot: Bot, ann: User, typed: str, answer: str) -> None:
    a, b = await two_steps(bot, ann)
    await ann.say(typed.format(a=a, b=b, A=a.upper()))
    await ann.private.seen(answer.format(a=a, b=b))


async def test_words_for_the_agent_stay_as_they_are(bot: Bot, ann: User) -> None:
    text = "“quoted” — a\N{NO-BREAK SPACE}b <c> \N{ZERO WIDTH SPACE}d  e"
    await ann.say(text)
    await ann.private.seen("You said:")
    assert (await bot.texts(ann.id))[0] == text


async def test_path_is_not_taken_for_a_command_that_does_something(bot: Bot, ann: User) -> None:
    await ann.say("/etc/passwd is a file")
    await ann.private.replies()


async def test_mention_alone_is_answered_with_the_help(bot: Bot, ann: User) -> None:
    await ann.say("@turnback_bot")
    await ann.private.seen("What you can ask here")


async def test_words_after_a_mention_are_commands(bot: Bot, ann: User) -> None:
    await two_steps(bot, ann)
    await ann.say("@turnback_bot replay list")
    await ann.private.seen("Steps of this chat")
