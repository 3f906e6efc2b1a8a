"""Channels, threads and direct chats: each its own conversation, and who is spoken to in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from platforms.slack.channels import Channel, Message
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.idling import idle
from support.slack_bot import Bot, slack_bot


@pytest.fixture
async def thread(bot: Bot, ann: User, general: Channel) -> Message:
    """A thread in which Ann has begun to talk with the agent."""
    root = await ann.mention("one", general)
    await general.seen("You said: one", thread=root)
    return root


async def test_channel_mention_is_answered_in_and_keyed_by_its_own_thread(
    bot: Bot, ann: User, bob: User, general: Channel
) -> None:
    first, second = await ann.mention("one", general), await bob.mention("two", general)
    await general.seen("You said: one", thread=first)
    await general.seen("You said: two", thread=second)
    assert await bot.texts(general.id, first.ts) == ["one", "You said: one"]
    assert await bot.texts(general.id, second.ts) == ["two", "You said: two"]
    assert await bot.find(general.id) is None


async def test_mention_is_taken_once_though_two_events_tell_of_it(
    bot: Bot, ann: User, general: Channel, slack: SlackServer
) -> None:
    root = await ann.mention("one", general)
    await general.seen("You said: one", thread=root)
    assert slack.deliveries.events("app_mention")
    assert await bot.texts(general.id, root.ts) == ["one", "You said: one"]


async def test_slash_command_in_a_channel_touches_no_thread(
    bot: Bot, thread: Message, ann: User, general: Channel
) -> None:
    root = thread
    for command in ("/undo", "/replay clear", "/replay list"):
        await (await ann.command(command, general)).answered()
        shown = await general.seen(lambda message: message.from_bot)
        assert shown.thread_ts is None
        assert "! instead of /" in shown.text
    assert await bot.texts(general.id, root.ts) == ["one", "You said: one"]


async def test_bang_word_in_a_thread_is_a_command_about_that_thread(
    bot: Bot, thread: Message, ann: User, bob: User, general: Channel
) -> None:
    root = thread
    other = await bob.mention("other", general)
    await general.seen("You said: other", thread=other)
    await idle(bot)
    await ann.say("!replay list", general, thread=root)
    shown = await general.seen("Turn 1: one", thread=root)
    assert "other" not in shown.text


async def test_words_behind_a_mention_are_a_command_in_a_thread(
    bot: Bot, thread: Message, ann: User, general: Channel
) -> None:
    root = thread
    await ann.mention("two", general, thread=root)
    await general.seen("You said: two", thread=root)
    listing = await ann.mention("replay list", general, thread=root)
    shown = await general.seen("Turn 2: two", thread=root)
    first = next(line for line in shown.text.splitlines() if "turn 1, step 1" in line)
    step = next(word for word in first.split() if len(word) == 8 and set(word) <= set("0123456789abcdef"))
    await ann.mention(f"replay {step}", general, thread=root)
    await general.seen("Back at turn 1", thread=root)
    assert listing.thread_ts == root.ts


async def test_casual_word_with_a_bang_goes_to_the_agent_unchanged(
    bot: Bot, thread: Message, ann: User, general: Channel
) -> None:
    root = thread
    await ann.say("!nice work", general, thread=root)
    await general.seen("You said: !nice work", thread=root)


async def test_talk_among_people_in_a_thread_is_not_for_the_agent_and_not_kept(
    bot: Bot, thread: Message, ann: User, bob: User, general: Channel
) -> None:
    root = thread
    remark = await bob.say("lunch?", general, thread=root)
    await ann.say("in a minute", general, thread=root)
    await general.no_replies(thread=root)
    assert await bot.texts(general.id, root.ts) == ["one", "You said: one"]
    assert not await bot.service.threads.unstarted_claims()
    assert remark.thread_ts == root.ts


async def test_talk_in_a_channel_is_not_for_the_agent(bot: Bot, ann: User, general: Channel) -> None:
    await ann.say("good morning", general)
    await general.no_replies()


async def test_mention_in_somebody_elses_thread_joins_its_conversation(
    bot: Bot, thread: Message, bob: User, general: Channel
) -> None:
    root = thread
    await bob.mention("two", general, thread=root)
    await general.seen("You said: two", thread=root)
    assert await bot.texts(general.id, root.ts) == ["one", "You said: one", "two", "You said: two"]


async def test_assistant_thread_is_a_conversation_of_its_own(bot: Bot, ann: User) -> None:
    await ann.say("direct")
    await ann.private.seen("You said: direct")
    root = await ann.open_assistant()
    await ann.say("slow 1", thread=root)
    await ann.private.status("thinking")
    await ann.private.seen("slept 1", thread=root)
    assert await bot.texts(ann.private.id, root.ts) == ["slow 1", "slept 1"]
    assert await bot.texts(ann.private.id) == ["direct", "You said: direct"]


async def test_fork_here_opens_a_thread_that_its_maker_talks_in(
    bot: Bot, thread: Message, ann: User, general: Channel
) -> None:
    root = thread
    await ann.say("!fork here", general, thread=root)
    beside = await general.seen(lambda message: message.text == "⑂ one", since=0)
    assert beside.thread_ts is None
    await general.seen("Forked turn 1", thread=root)
    await general.seen("This goes on from", thread=beside, since=0)
    await ann.say("two", general, thread=beside)
    await general.seen("You said: two", thread=beside)
    assert await bot.texts(general.id, root.ts) == ["one", "You said: one"]


async def test_teams_admin_may_go_back_in_somebody_elses_conversation(
    bot: Bot, thread: Message, bob: User, general: Channel, slack: SlackServer
) -> None:
    root = thread
    boss = slack.user("Boss", admin=True)
    await boss.join(general)
    await bob.say("!undo", general, thread=root)
    await general.seen("who started this chat and its admins", thread=root)
    await boss.say("!undo", general, thread=root)
    await general.seen("(by Boss)", thread=root)


async def test_channels_creator_may_go_back(bot: Bot, thread: Message, general: Channel, slack: SlackServer) -> None:
    root = thread
    maker = slack.world.users[general.creator]
    await maker.say("!undo", general, thread=root)
    await general.seen("(by Maker)", thread=root)


async def test_bots_and_webhooks_are_not_heard(bot: Bot, ann: User, slack: SlackServer, general: Channel) -> None:
    robot, hook = slack.user("Robot", bot=True), slack.webhook("Build")
    await robot.join(general)
    await robot.mention("one", general)
    await hook.say("@turnback two", general)
    await general.no_replies()


async def test_bot_that_is_named_in_allow_is_heard(
    slack: SlackServer, ann: User, general: Channel, tmp_path: Path
) -> None:
    robot = slack.user("Robot", bot=True)
    await robot.join(general)
    async with slack_bot(tmp_path, slack, allow=[f"slack:{robot.id}"]):
        root = await robot.mention("one", general)
        await general.seen("You said: one", thread=root)


async def test_stranger_is_told_the_name_to_pass_on(slack: SlackServer, ann: User, tmp_path: Path) -> None:
    async with slack_bot(tmp_path, slack, allow=[]):
        await ann.say("one")
        await ann.private.seen(f"slack:{slack.app.team}:{ann.id}")


async def test_team_may_be_allowed(slack: SlackServer, ann: User, tmp_path: Path) -> None:
    async with slack_bot(tmp_path, slack, allow=[f"slack:{slack.app.team}"]):
        await ann.say("one")
        await ann.private.seen("You said: one")


async def test_command_where_the_bot_is_no_member_is_answered(
    bot: Bot, ann: User, bob: User, slack: SlackServer
) -> None:
    private = slack.channel("secret", [ann, bob], private=True, bot=False)
    await ann.command("/replay list", private)
    shown = await private.seen(lambda message: message.from_bot)
    await ann.command("/web", private)
    link = await private.seen(lambda message: bool(message.buttons))
    assert link.only_for == ann.id
    assert shown.only_for is None
