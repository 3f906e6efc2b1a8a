"""Each limit of the Bot API is enforced by the simulated one, and what breaks it is counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from platforms.telegram.api import Limits
from platforms.telegram.chats import Chat
from platforms.telegram.people import JPEG, User
from platforms.telegram.server import TelegramServer
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity, ReplyParameters
from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, RetryAfter, TelegramError


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A bot, a person who wrote to it, and a forum with both."""

    bot: Bot
    ann: User
    bob: User
    forum: Chat
    telegram: TelegramServer

    async def send(self, text: str = "x", **more: Any) -> Any:
        return await self.bot.send_message(self.ann.id, text, **more)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    limits = Limits(upload_bytes=2000, photo_bytes=1000, download_bytes=1500)
    async with TelegramServer(flood="off", limits=limits) as telegram:
        ann, bob = telegram.user("Ann"), telegram.user("Bob")
        await ann.say("hi")
        forum = telegram.supergroup("Team", [ann], forum=True)
        async with another_bot(telegram) as bot:
            yield Scene(bot=bot, ann=ann, bob=bob, forum=forum, telegram=telegram)


def another_bot(telegram: TelegramServer) -> Bot:
    return Bot(telegram.token, base_url=telegram.base_url, base_file_url=telegram.base_file_url)


Act = Callable[[Scene], Awaitable[Any]]


def keyboard(*rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Raw, since the library checks some of it itself."""
    return {"api_kwargs": {"reply_markup": {"inline_keyboard": list(rows)}}}


def entity(kind: str, offset: int, length: int) -> dict[str, Any]:
    return {"entities": [MessageEntity(kind, offset, length)]}


async def edit_anns(s: Scene) -> None:
    await s.bot.edit_message_text("mine", s.ann.id, s.ann.private.find("hi").id)


async def edit_a_file(s: Scene) -> None:
    sent = await s.bot.send_document(s.ann.id, b"file")
    await s.bot.edit_message_text("text", s.ann.id, sent.message_id)


async def delete_late(s: Scene) -> None:
    sent = await s.send()
    s.telegram.clock.advance(48 * 3600 + 1)
    await s.bot.delete_message(s.ann.id, sent.message_id)


async def delete_anns_in_a_group(s: Scene) -> None:
    said = await s.ann.say("keep", s.forum)
    await s.bot.delete_message(s.forum.id, said.id)


async def press(s: Scene) -> str:
    await s.send("choose", **keyboard([{"text": "Go", "callback_data": "go"}]))
    return (await s.ann.press("Go", s.ann.private.find("choose"))).id


async def answer_long(s: Scene) -> None:
    await s.bot.answer_callback_query(await press(s), "x" * 201)


async def answer_late(s: Scene) -> None:
    pressed = await press(s)
    s.telegram.clock.advance(61)
    await s.bot.answer_callback_query(pressed)


async def answer_twice(s: Scene) -> None:
    pressed = await press(s)
    await s.bot.answer_callback_query(pressed)
    await s.bot.answer_callback_query(pressed)


async def fetch_big(s: Scene) -> None:
    sent = await s.ann.send_document("big", bytes(1501))
    await s.bot.get_file(sent.content["document"]["file_id"])


async def poll_with_webhook(s: Scene) -> None:
    await s.bot.set_webhook(f"{s.telegram.url}/nowhere")
    try:
        await s.bot.get_updates()
    finally:
        await s.bot.delete_webhook()


WRONG: dict[str, tuple[Act, str]] = {
    "text": (lambda s: s.send("x" * 4097), "message is too long"),
    "text in utf-16": (lambda s: s.send("😀" * 2049), "message is too long"),
    "raw text": (lambda s: s.send("<b></b>" * 4682, parse_mode="HTML"), "text is too long"),
    "empty text": (lambda s: s.send(""), "message text is empty"),
    "blank text": (lambda s: s.send(" \n"), "text must be non-empty"),
    "caption": (lambda s: s.bot.send_document(s.ann.id, b"a", caption="x" * 1025), "caption is too long"),
    "escaping": (lambda s: s.send("1 + 1", parse_mode="MarkdownV2"), "can't parse entities: character '+'"),
    "tag": (lambda s: s.send("<p>x</p>", parse_mode="HTML"), "can't parse entities: unsupported start tag"),
    "parse mode": (lambda s: s.send("x", parse_mode="Markdown"), "unsupported parse_mode"),
    "entity past the end": (lambda s: s.send("abc", **entity("bold", 2, 2)), "after the end of the text"),
    "entity in a symbol": (lambda s: s.send("😀", **entity("bold", 1, 1)), "middle of a utf-16 symbol"),
    "entity kind": (lambda s: s.send("abc", **entity("loud", 0, 1)), "unsupported type"),
    "callback data": (
        lambda s: s.send(**keyboard([{"text": "b", "callback_data": "й" * 33}])),
        "button_data_invalid",
    ),
    "no callback data": (lambda s: s.send(**keyboard([{"text": "b", "callback_data": ""}])), "button_data_invalid"),
    "button without act": (lambda s: s.send(**keyboard([{"text": "b"}])), "unallowed"),
    "button of two kinds": (
        lambda s: s.send(**keyboard([{"text": "b", "callback_data": "a", "url": "https://a.example"}])),
        "exactly one",
    ),
    "button without text": (lambda s: s.send(**keyboard([{"text": "", "callback_data": "a"}])), "must be non-empty"),
    "button to localhost": (
        lambda s: s.send(**keyboard([{"text": "b", "url": "http://localhost:8765/login"}])),
        "wrong http url",
    ),
    "unknown chat": (lambda s: s.bot.send_message(1, "x"), "chat not found"),
    "thread in a direct chat": (lambda s: s.send(message_thread_id=7), "message thread not found"),
    "thread of General": (
        lambda s: s.bot.send_message(s.forum.id, "x", message_thread_id=1),
        "message thread not found",
    ),
    "edit of another's": (edit_anns, "can't be edited"),
    "edit of a file's text": (edit_a_file, "there is no text"),
    "late deletion": (delete_late, "can't be deleted"),
    "deletion of another's": (delete_anns_in_a_group, "can't be deleted"),
    "101 deletions": (lambda s: s.bot.delete_messages(s.ann.id, list(range(1, 102))), "over 100"),
    "long press answer": (answer_long, "message_too_long"),
    "late press answer": (answer_late, "query is too old"),
    "second press answer": (answer_twice, "query is too old"),
    "chat action": (lambda s: s.bot.send_chat_action(s.ann.id, "sleeping"), "wrong parameter action"),
    "reaction": (lambda s: s.bot.set_message_reaction(s.ann.id, 1, "🐌"), "reaction_invalid"),
    "upload": (lambda s: s.bot.send_document(s.ann.id, bytes(2001)), "request entity too large"),
    "empty file": (lambda s: s.bot.send_document(s.ann.id, b""), "must be non-empty"),
    "photo size": (lambda s: s.bot.send_photo(s.ann.id, JPEG + bytes(1000)), "request entity too large"),
    "photo kind": (lambda s: s.bot.send_photo(s.ann.id, b"text"), "image_process_failed"),
    "download": (fetch_big, "file is too big"),
    "101 commands": (lambda s: s.bot.set_my_commands([(f"c{n}", "d") for n in range(101)]), "too_much"),
    "command name": (lambda s: s.bot.set_my_commands([("Replay", "d")]), "bot_command_invalid"),
    "long command": (lambda s: s.bot.set_my_commands([("c" * 33, "d")]), "bot_command_invalid"),
    "description": (lambda s: s.bot.set_my_commands([("c", "d" * 257)]), "must not exceed 256"),
    "commands in all": (lambda s: s.bot.set_my_commands([(f"c{n}", "d" * 200) for n in range(21)]), "over 4 kb"),
    "topic name": (lambda s: s.bot.create_forum_topic(s.forum.make_bot_admin().id, "n" * 129), "name is too long"),
    "plain webhook": (lambda s: s.bot.set_webhook("http://bot.example/hook"), "https url"),
    "webhook secret": (lambda s: s.bot.set_webhook("https://bot.example/", secret_token="no good"), "unallowed"),
    "polling with a webhook": (poll_with_webhook, "webhook is active"),
    "unknown method": (lambda s: s.bot.send_dice(s.ann.id), "method not found"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_breaking_a_limit_is_refused_and_counted(scene: Scene, name: str) -> None:
    act, words = WRONG[name]
    with pytest.raises(TelegramError) as refused:
        await act(scene)
    assert words in str(refused.value).lower()
    assert len(scene.telegram.violations) == 1


async def not_modified(s: Scene) -> None:
    sent = await s.send("same")
    await s.bot.edit_message_text("same", s.ann.id, sent.message_id)


async def deleted_topic(s: Scene) -> None:
    topic = s.forum.topic("Gone")
    s.forum.delete_topic(topic)
    await s.bot.send_message(s.forum.id, "x", message_thread_id=topic.id)


async def closed_topic(s: Scene) -> None:
    topic = s.forum.topic("Closed")
    await s.ann.close_topic(topic)
    await s.bot.send_message(s.forum.id, "x", message_thread_id=topic.id)


async def deleted_reply(s: Scene) -> None:
    said = await s.ann.say("gone")
    await s.ann.delete(said)
    await s.send(reply_parameters=ReplyParameters(said.id))


async def blocked(s: Scene) -> None:
    await s.ann.block_bot()
    await s.send()


async def kicked(s: Scene) -> None:
    await s.ann.kick_bot(s.forum)
    await s.bot.send_message(s.forum.id, "x")


async def upgraded(s: Scene) -> None:
    group = s.telegram.group("Basic", [s.ann])
    s.telegram.upgrade(group)
    await s.bot.send_message(group.id, "x")


FACTS: dict[str, tuple[Act, type[TelegramError], str]] = {
    "not modified": (not_modified, BadRequest, "Message is not modified"),
    "deleted topic": (deleted_topic, BadRequest, "Message thread not found"),
    "closed topic": (closed_topic, BadRequest, "Topic_closed"),
    "deleted reply target": (deleted_reply, BadRequest, "Message to be replied not found"),
    "blocked": (blocked, Forbidden, "blocked by the user"),
    "kicked": (kicked, Forbidden, "kicked from the supergroup"),
    "never written": (lambda s: s.bot.send_message(s.bob.id, "x"), Forbidden, "can't initiate"),
    "no right to make topics": (lambda s: s.bot.create_forum_topic(s.forum.id, "x"), BadRequest, "Not enough rights"),
    "upgraded": (upgraded, ChatMigrated, "Group migrated"),
}


@pytest.mark.parametrize("name", FACTS)
async def test_running_into_a_fact_is_refused_but_not_counted(scene: Scene, name: str) -> None:
    act, error, words = FACTS[name]
    with pytest.raises(error, match=words):
        await act(scene)
    assert scene.telegram.violations == []
    assert len(scene.telegram.refusals) == 1


async def test_the_longest_of_everything_passes(scene: Scene) -> None:
    await scene.send("x" * 4096)
    await scene.send("😀" * 2048)
    await scene.send(r"\." * 4096, parse_mode="MarkdownV2")
    button = InlineKeyboardButton("b", callback_data="й" * 32)
    await scene.send(reply_markup=InlineKeyboardMarkup([[button] * 8] * 12))
    await scene.bot.set_my_commands([("c" * 32, "d" * 256)] * 14)
    await scene.bot.answer_callback_query(await press(scene), "x" * 200)
    await scene.bot.create_forum_topic(scene.forum.make_bot_admin().id, "n" * 128)
    assert scene.telegram.violations == []


async def test_a_reply_to_what_is_gone_may_go_out_alone(scene: Scene) -> None:
    said = await scene.ann.say("gone")
    await scene.ann.delete(said)
    sent = await scene.send(reply_parameters=ReplyParameters(said.id, allow_sending_without_reply=True))
    assert sent.reply_to_message is None


async def test_entities_past_the_hundredth_are_dropped_and_counted(scene: Scene) -> None:
    await scene.send("a" * 101, entities=[MessageEntity("bold", n, 1) for n in range(101)])
    assert len(scene.ann.private.said()[-1].entities) == 100
    assert scene.telegram.violations == ["sendMessage: 101 entities, of which Telegram keeps 100"]


async def test_nine_buttons_in_a_row_are_counted(scene: Scene) -> None:
    await scene.send(**keyboard([{"text": "b", "callback_data": str(n)} for n in range(9)]))
    assert len(scene.telegram.violations) == 1


async def test_a_second_poller_ends_the_first(scene: Scene) -> None:
    [said] = await scene.bot.get_updates()
    first = asyncio.create_task(scene.bot.get_updates(offset=said.update_id + 1, timeout=20))
    await scene.telegram.arrived("getUpdates", 2)
    async with another_bot(scene.telegram) as other:
        second = asyncio.create_task(other.get_updates(offset=said.update_id + 1, timeout=20))
        with pytest.raises(Conflict):
            await first
        await scene.ann.say("to the second")
        assert len(await second) == 1
    assert len(scene.telegram.violations) == 1


async def test_a_poller_that_hung_up_is_no_second_one(scene: Scene) -> None:
    [said] = await scene.bot.get_updates()
    first = asyncio.create_task(scene.bot.get_updates(offset=said.update_id + 1, timeout=20))
    await scene.telegram.arrived("getUpdates", 2)
    first.cancel()
    await scene.bot.get_updates(offset=said.update_id + 1, timeout=0)
    assert scene.telegram.violations == []


async def test_flooding_a_chat_is_counted(scene: Scene) -> None:
    scene.telegram.flood.mode = "count"
    for _ in range(4):
        await scene.send()
    assert scene.telegram.violations == ["sendMessage: over 1 message a second in one chat"]
    assert len(scene.ann.private.said()) == 4


@pytest.mark.filterwarnings("ignore:.*retry_after:telegram.warnings.PTBDeprecationWarning")
async def test_flooding_a_chat_is_refused_when_enforced(scene: Scene) -> None:
    scene.telegram.flood.mode = "enforce"
    for _ in range(3):
        await scene.send()
    with pytest.raises(RetryAfter):
        await scene.send()
    assert len(scene.ann.private.said()) == 3
    scene.telegram.clock.advance(1)
    await scene.send()


async def test_flooding_a_group_is_counted(scene: Scene) -> None:
    scene.telegram.flood.mode = "count"
    for _ in range(21):
        scene.telegram.clock.advance(2)
        await scene.bot.send_message(scene.forum.id, "x")
    assert scene.telegram.violations == ["sendMessage: over 20 messages a minute in one group"]


async def test_flooding_all_chats_is_counted(scene: Scene) -> None:
    people = [scene.telegram.user(f"P{n}") for n in range(31)]
    for person in people:
        await person.say("hi")
    scene.telegram.flood.mode = "count"
    scene.telegram.clock.now = lambda: 1_700_000_000.0  # type: ignore[method-assign]
    for person in people:
        await scene.bot.send_message(person.id, "x")
    assert scene.telegram.violations == ["sendMessage: over 30 messages a second in all"]
