"""Where people write: groups, topics, channels, and groups that get another id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from platforms.telegram.chats import Chat, Topic
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.idling import idle
from support.telegram_bot import Bot, talk, telegram_bot

from turnback.core.models import ThreadId

NAME = "@turnback_bot"


@pytest.fixture(autouse=True)
def hears_all(telegram: TelegramServer) -> None:
    """The bot's owner has turned privacy mode off, or Telegram does not tell it who mentions it in a group."""
    telegram.bot.privacy = False


async def ask(bot: Bot, user: User, chat: Chat, text: str, topic: Topic | None = None) -> None:
    """Speak to the bot in a group, and wait for the end of its turn."""
    await talk(bot, user, text, chat=chat, topic=topic)


# groups


async def test_group_command_sees_what_the_messages_made_whoever_types_it(
    bot: Bot, telegram: TelegramServer, ann: User, bob: User
) -> None:
    group = telegram.supergroup("Team", [ann, bob])
    for user, text in ((ann, "one"), (bob, "two"), (ann, "three")):
        await ask(bot, user, group, text)
    telegram.promote(ann, group, anonymous=True)
    for user in (bob, ann):
        await user.command("/replay list", group)
        shown = await group.seen("Steps of this chat")
        assert re.findall(r"^Turn \d: .*", shown.text, re.MULTILINE) == ["Turn 1: one", "Turn 2: two", "Turn 3: three"]


async def test_group_talk_among_people_is_not_for_us_even_if_we_hear_it(
    bot: Bot, telegram: TelegramServer, ann: User, bob: User
) -> None:
    group = telegram.supergroup("Team", [ann, bob])
    said = await ann.say("lunch?", group)
    await bob.say("sure", group, reply_to=said)
    await bob.say("and @turnback_bots is somebody else", group)
    await group.no_replies()
    assert await bot.service.threads.unstarted_claims() == []


async def test_privacy_mode_still_lets_commands_and_replies_through(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    telegram.bot.privacy = True
    group = telegram.supergroup("Team", [ann])
    await ann.command("/replay", group)
    answer = (await group.replies())[-1]
    await ann.say("one", group, reply_to=answer)
    await group.seen("You said: one")
    await idle(bot)
    await ann.command("/replay list", group, named=True)
    await group.seen("Turn 1: one")


async def test_group_reply_to_us_speaks_to_us(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    group = telegram.supergroup("Team", [ann])
    await ask(bot, ann, group, "one")
    answer = group.find("You said: one")
    said = await ann.say("two", group, reply_to=answer)
    shown = await group.seen("You said: two")
    assert shown.reply_to is said


async def test_group_mention_in_the_middle_speaks_to_us_and_stays(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    group = telegram.supergroup("Team", [ann]).make_bot_admin()
    await ann.say(f"what does {NAME} think?", group)
    await group.seen(f"You said: what does {NAME} think?")


async def test_group_other_bots_and_automatic_posts_are_not_for_us(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    group = telegram.supergroup("Team", [ann])
    sender = {"from": {"id": 4711, "is_bot": True, "first_name": "Other", "username": "other_bot"}}
    answered = group.add(sender={"from": telegram.bot.json()}, content={"text": "x"}, from_bot=True)
    for extra in ({}, {"is_automatic_forward": True, "sender_chat": {"id": -1005, "type": "channel", "title": "N"}}):
        message = group.add(sender=sender, content={"text": "/replay list"}, reply_to=answered)
        telegram.updates.push("message", {**message.json(), **extra})
    await group.no_replies()


async def test_anonymous_admin_may_go_back_and_confirm(
    bot: Bot, telegram: TelegramServer, ann: User, bob: User
) -> None:
    group = telegram.supergroup("Team", [ann, bob])
    await ask(bot, bob, group, "one")
    telegram.promote(ann, group, anonymous=True)
    await ann.command("/replay clear", group)
    await ann.press("Delete 1 step", await group.seen("Delete the 1 step"))
    await group.seen("Deleted 1 step (by Team)")


async def test_member_may_not_go_back_but_an_admin_of_the_group_may(
    bot: Bot, telegram: TelegramServer, ann: User, bob: User
) -> None:
    cleo = telegram.user("Cleo")
    group = telegram.supergroup("Team", [ann, bob, cleo])
    await ask(bot, ann, group, "one")
    await ask(bot, bob, group, "two")
    await bob.command("/undo", group)
    await group.seen("Only who started this chat and its admins may do that.")
    assert "two" in await bot.texts(group.id)
    telegram.promote(cleo, group)
    await cleo.command("/undo", group)
    await group.seen("Took 1 turn back")


async def test_private_answer_in_a_group_is_a_button_into_the_direct_chat(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    group = telegram.supergroup("Team", [ann])
    await ask(bot, ann, group, "one")
    await ann.command("/web", group)
    shown = await group.seen("eyes only")
    assert [button.url for button in shown.buttons] == ["https://t.me/turnback_bot?start=web"]
    assert all("login" not in message.text for message in group.said())
    await ann.say("/start web")
    link = await ann.private.seen("signs you in")
    assert [button.url.partition("=")[0] for button in link.buttons if button.url] == [
        "http://127.0.0.1:8765/login?link"
    ]


async def test_start_in_a_direct_chat_is_the_help(bot: Bot, ann: User) -> None:
    await ann.say("/start")
    await ann.private.seen("What you can ask here")


@pytest.mark.parametrize("what", ["delete", "reset", "x" * 64, "replay-clear"])
async def test_start_with_anything_else_behind_it_is_the_help(bot: Bot, ann: User, what: str) -> None:
    await ann.say(f"/start {what}")
    await ann.private.seen("What you can ask here")


async def test_stranger_is_told_their_name_in_private_and_nothing_in_a_group_unless_they_ask(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with telegram_bot(tmp_path, telegram, allow=()):
        await ann.say("hello")
        await ann.private.seen(f"telegram:{ann.id}")
        group = telegram.supergroup("Team", [ann])
        await ann.command("/replay list", group)
        await group.no_replies()


async def test_allowed_group_lets_its_members_in(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    group = telegram.supergroup("Team", [ann])
    async with telegram_bot(tmp_path, telegram, allow=(f"telegram:{group.id}",)) as bot:
        await ask(bot, ann, group, "one")
        await ann.say("hello")
        await ann.private.seen("may not use")


# names


@pytest.mark.parametrize(
    "typed", ["/replay@turnback_bot list", "/replay@TurnBack_BOT list", "/REPLAY@turnback_bot list"]
)
async def test_command_with_our_name_is_obeyed_in_any_letters(
    bot: Bot, telegram: TelegramServer, ann: User, typed: str
) -> None:
    group = telegram.supergroup("Team", [ann])
    await ask(bot, ann, group, "one")
    await ann.say(typed, group)
    await group.seen("Steps of this chat")


async def test_command_for_another_bot_is_dropped(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    group = telegram.supergroup("Team", [ann]).make_bot_admin()
    await ask(bot, ann, group, "one")
    steps = await bot.steps(group.id)
    await ann.say("/replay@other_bot clear", group)
    await group.no_replies()
    await ann.say("/replay@other_bot clear")
    await ann.private.no_replies()
    assert await bot.steps(group.id) == steps


async def test_command_that_every_bot_of_a_group_hears_deletes_nothing_unasked(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    group = telegram.supergroup("Team", [ann])
    await ask(bot, ann, group, "one")
    await ann.command("/replay clear", group)
    await group.seen("Delete the 1 step saved here?")
    assert await bot.steps(group.id) == 1


async def test_unknown_command_in_a_group_is_left_to_other_bots_unless_it_names_us(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    group = telegram.supergroup("Team", [ann])
    await ann.say("/weather today", group)
    await group.no_replies()
    await ann.say("/replya@turnback_bot list", group)
    await group.seen("/replay")


# topics


async def test_topics_are_chats_of_their_own(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True)
    billing, ops = forum.topic("billing"), forum.topic("ops")
    for topic in (billing, ops):
        for number in (1, 2):
            await ask(bot, ann, forum, f"{topic.name} {number}", topic)
    await ann.command("/replay list", forum, topic=billing)
    shown = await forum.seen("Steps of this chat", topic=billing)
    assert "billing 1" in shown.text
    assert "ops" not in shown.text
    await ann.command("/replay list", forum, topic=ops)
    foreign = re.findall(r"step 1 · ([0-9a-f]{8})", (await forum.seen("Steps", topic=ops)).text)[0]
    assert telegram.calls_to("sendMessage")[-1].params["message_thread_id"] == str(ops.id)
    await ann.command("/replay clear", forum, topic=billing)
    await ann.press("Delete 2 steps", await forum.seen("Delete the 2 steps", topic=billing))
    await forum.seen("Deleted 2 steps", topic=billing)
    await ann.command(f"/replay {foreign}", forum, topic=billing)
    await forum.seen("There is no such step in this chat.", topic=billing)
    assert telegram.calls_to("sendMessage")[-1].params["message_thread_id"] == str(billing.id)
    assert await bot.steps(f"{forum.id}/{ops.id}") == 2
    assert await bot.texts(f"{forum.id}/{ops.id}") == ["ops 1", "You said: ops 1", "ops 2", "You said: ops 2"]


@pytest.mark.parametrize("general_has_id", [False, True])
async def test_general_is_the_group_itself(bot: Bot, telegram: TelegramServer, ann: User, general_has_id: bool) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True)
    forum.general_has_id = general_has_id
    await ask(bot, ann, forum, "one")
    assert forum.find("You said: one").topic is forum.general
    assert await bot.texts(forum.id) == ["one", "You said: one"]


async def test_replies_outside_forums_are_no_topics(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    group = telegram.supergroup("Team", [ann])
    await ask(bot, ann, group, "one")
    await ann.say("two", group, reply_to=group.find("You said: one"))
    await group.seen("You said: two")
    assert len(await bot.texts(group.id)) == 4


async def test_topic_that_we_opened_is_not_spoken_to_by_every_message(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True)
    topic = forum.open_topic("ours", {"from": telegram.bot.json()}, by_bot=True)
    await ann.say("among us", forum, topic=topic, reply_to=forum.messages[topic.id])
    await forum.no_replies(topic=topic)


async def test_fork_here_opens_a_topic_that_goes_on_from_the_step(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True).make_bot_admin()
    await ask(bot, ann, forum, "one")
    await ask(bot, ann, forum, "two")
    await ann.command("/replay list", forum)
    step = re.findall(r"turn 1, step 1 · ([0-9a-f]{8})", (await forum.seen("Steps")).text)[0]
    await ann.command(f"/fork {step} here", forum)
    await forum.seen("Forked")
    topic = next(t for t in forum.topics.values() if t.name.startswith("⑂"))
    await ann.say(f"{NAME} history", forum, topic=topic)
    shown = await forum.seen("1. one", topic=topic)
    assert "two" not in shown.text


async def test_fork_here_without_the_right_to_open_topics_says_so(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True)
    await ask(bot, ann, forum, "one")
    await ann.command("/fork here", forum)
    shown = await forum.seen("Forked")
    assert len(shown.text.splitlines()) > 1


async def test_answer_goes_to_general_when_its_topic_was_deleted(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True)
    topic = forum.topic("billing")
    await ann.say(f"{NAME} slow 1", forum, topic=topic)
    await telegram.updates.taken()
    forum.delete_topic(topic)
    await forum.seen("slept 1", topic=forum.general)


# channels


async def test_channel_post_with_a_command_is_obeyed(bot: Bot, telegram: TelegramServer, ann: User) -> None:
    channel = telegram.channel("News", [ann])
    await ann.say("breaking", channel)
    await channel.no_replies()
    await ask(bot, ann, channel, "one")
    await ann.command("/undo", channel)
    await channel.seen("Took 1 turn back")


# groups with a new id


@pytest.mark.parametrize("told", [("old", "new"), ("new", "old"), ("old", "new", "old", "new"), ("new",), ("old",)])
async def test_group_that_becomes_a_supergroup_keeps_its_chat(
    bot: Bot, telegram: TelegramServer, ann: User, told: tuple[str, ...]
) -> None:
    group = telegram.group("Team", [ann])
    await ask(bot, ann, group, "number 0")
    await ann.say(f"{NAME} steps 4", group)
    await group.seen("done 4")
    await idle(bot)
    await ann.command("/fork", group)
    await group.seen("Forked")
    thread = await bot.thread(group.id)
    kept = await known(bot, thread)
    new = telegram.upgrade(group, told=told)  # type: ignore[arg-type]
    await ann.command("/replay list", new)
    shown = await new.seen("Steps of this chat")
    assert len(re.findall(r"step \d · [0-9a-f]{8} ·", shown.text)) == 6
    assert await bot.thread(new.id) == thread
    assert await known(bot, thread) == kept
    await ask(bot, ann, new, "next")
    await ann.command("/replay list", new)
    await new.seen("Turn 3: next")
    with pytest.raises(AssertionError, match="talks into no thread"):
        await bot.thread(group.id)


async def test_group_whose_change_we_missed_is_found_by_the_next_send(
    bot: Bot, telegram: TelegramServer, ann: User
) -> None:
    group = telegram.group("Team", [ann])
    await ask(bot, ann, group, "one")
    await ann.say(f"{NAME} slow 1", group)
    await telegram.updates.taken()
    new = telegram.upgrade(group, told=())
    await new.seen("slept 1")
    await idle(bot)
    await ann.command("/replay list", new)
    await new.seen("Turn 2")
    assert len([c for c in telegram.calls_to("sendMessage") if c.refused]) == 1
    assert [message.text for message in new.said()].count("slept 1") == 1


async def known(bot: Bot, thread: ThreadId) -> tuple[object, ...]:
    """Whose a thread is, what was done to it, and the chats that were forked from it."""
    view = await bot.service.threads.view(thread)
    assert view is not None
    trail = await bot.service.threads.audit_trail(thread_id=thread)
    threads = await bot.service.threads.list_threads(view.thread.owner)
    forks = [one.id for one in threads if one.forked_from and one.forked_from.thread_id == thread]
    assert trail
    assert forks
    return view.thread.owner, trail, forks
