"""The simulated Bot API with the real library: what people and a bot can do together."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import pytest
import uvicorn
from platforms.core import ClientRefused, Json
from platforms.telegram.people import JPEG
from platforms.telegram.server import TelegramServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from telegram import (
    Bot,
    BotCommandScopeAllGroupChats,
    BotCommandScopeChat,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    Update,
)


@pytest.fixture(autouse=True)
def no_violations(telegram: TelegramServer) -> Iterator[None]:
    yield
    assert telegram.violations == []


async def test_saying_something_is_answered_in_the_direct_chat(telegram: TelegramServer, echo: object) -> None:
    ann = telegram.user("Ann")
    await ann.say("hello 😀")
    [answer] = await ann.private.replies()
    assert answer.text == "Ann: hello 😀"


async def test_pressing_a_button_shows_its_answer_and_edits(telegram: TelegramServer, echo: object) -> None:
    ann = telegram.user("Ann")
    await ann.say("hello")
    press = await ann.press("Next", await ann.private.seen("hello"))
    assert (await press.answered()).text == "turned"
    shown = await ann.private.seen("page 2")
    assert shown.edits == ["Ann: hello"]
    assert shown.buttons == []
    assert telegram.unanswered == []


async def test_editing_a_message_arrives_as_an_edit(telegram: TelegramServer, echo: object) -> None:
    ann = telegram.user("Ann")
    said = await ann.say("frist")
    await ann.private.seen("frist")
    await ann.edit(said, "first")
    await ann.private.seen("Ann: first (edited)")


async def test_writing_in_a_topic_is_answered_there(telegram: TelegramServer, echo: object) -> None:
    ann = telegram.user("Ann")
    forum = telegram.supergroup("Team", [ann], forum=True).make_bot_admin()
    bugs, ops = forum.topic("Bugs"), forum.topic("Ops")
    await ann.say("in bugs", forum, topic=bugs)
    assert (await forum.seen("in bugs", topic=bugs)).thread_id == bugs.id
    await forum.no_replies(topic=ops)
    await ann.say("in general", forum)
    assert (await forum.seen("in general", topic=forum.general)).thread_id is None


async def test_privacy_hides_what_is_not_for_the_bot(telegram: TelegramServer, echo: object) -> None:
    ann, bob = telegram.user("Ann"), telegram.user("Bob")
    group = telegram.supergroup("Team", [ann, bob])
    await bob.say("among us", group)
    await bob.command("/replay@other_bot list", group)
    await group.no_replies()
    await bob.command("/replay list", group, named=True)
    answer = await group.seen("Bob: /replay@turnback_bot list")
    await ann.say("yes", group, reply_to=answer)
    await group.seen("Ann: yes")


async def test_an_anonymous_admin_writes_as_the_chat(telegram: TelegramServer, echo: object) -> None:
    ann = telegram.user("Ann")
    group = telegram.supergroup("Team", [ann])
    telegram.promote(ann, group, anonymous=True)
    await ann.command("/replay", group)
    await group.seen("Team: /replay")


async def test_posting_in_a_channel_is_a_channel_post(telegram: TelegramServer, echo: object) -> None:
    ann = telegram.user("Ann")
    news = telegram.channel("News", [ann])
    await ann.say("today", news)
    await news.seen("News: today")
    assert "channel_post" in telegram.updates.history[-1]


@pytest.mark.parametrize("told", [("old", "new"), ("new", "old"), ()])
async def test_upgrading_a_group_moves_it(telegram: TelegramServer, bot: Bot, told: tuple[str, ...]) -> None:
    ann = telegram.user("Ann")
    group = telegram.group("Team", [ann])
    new = telegram.upgrade(group, told=told)  # type: ignore[arg-type]
    updates = [update.message for update in await bot.get_updates()]
    assert [bool(m and m.migrate_to_chat_id) for m in updates] == [which == "old" for which in told]
    assert new.standing(ann.id) == "creator"
    with pytest.raises(ClientRefused):
        await ann.say("in the old one", group)


async def test_sending_a_file_reaches_the_bot(telegram: TelegramServer, bot: Bot) -> None:
    ann = telegram.user("Ann")
    await ann.send_document("notes.txt", b"one", caption="for you", mime="text/plain")
    await ann.send_photo()
    first, second = (update.message for update in await bot.get_updates())
    assert first is not None
    assert first.document is not None
    assert second is not None
    assert (first.document.file_name, first.caption) == ("notes.txt", "for you")
    assert await (await first.document.get_file()).download_as_bytearray() == b"one"
    assert await (await second.photo[-1].get_file()).download_as_bytearray() == JPEG


async def test_a_file_path_ends_after_an_hour(telegram: TelegramServer, bot: Bot) -> None:
    sent = await telegram.user("Ann").send_document("notes.txt", b"one")
    fetched = await bot.get_file(sent.content["document"]["file_id"])
    telegram.clock.advance(3601)
    with pytest.raises(Exception, match="Not Found"):
        await fetched.download_as_bytearray()


async def test_the_bot_sends_files(telegram: TelegramServer, bot: Bot) -> None:
    ann = telegram.user("Ann")
    await ann.say("hi")
    await bot.send_document(ann.id, InputFile(b"long", "answer.md"), caption="*all*", parse_mode="MarkdownV2")
    await bot.send_photo(ann.id, JPEG)
    document, photo = await ann.private.replies(2)
    assert (document.content["document"]["file_name"], document.data) == ("answer.md", b"long")
    assert document.marked("bold") == ["all"]
    assert photo.data == JPEG


async def test_the_menu_is_the_narrowest_that_fits(telegram: TelegramServer, bot: Bot) -> None:
    ann, bob = telegram.user("Ann"), telegram.user("Bob")
    group = telegram.group("Team", [ann, bob])
    await ann.say("/start")
    await bot.set_my_commands([("start", "Begin")])
    await bot.set_my_commands([("replay", "Steps")], scope=BotCommandScopeAllGroupChats())
    await bot.set_my_commands([("chats", "Your chats")], scope=BotCommandScopeChat(ann.id))
    assert (ann.menu(), bob.menu(), bob.menu(group)) == (["chats"], ["start"], ["replay"])
    await bot.delete_my_commands(scope=BotCommandScopeChat(ann.id))
    assert ann.menu() == [command.command for command in await bot.get_my_commands()]


async def test_the_bot_runs_topics(telegram: TelegramServer, bot: Bot) -> None:
    forum = telegram.supergroup("Team", [telegram.user("Ann")], forum=True).make_bot_admin()
    topic = await bot.create_forum_topic(forum.id, "Fork of step 3")
    await bot.send_message(forum.id, "here", message_thread_id=topic.message_thread_id)
    await bot.edit_forum_topic(forum.id, topic.message_thread_id, name="Fork of step 4")
    await bot.close_forum_topic(forum.id, topic.message_thread_id)
    made = forum.topics[topic.message_thread_id]
    assert (made.name, made.closed) == ("Fork of step 4", True)
    assert [message.text for message in forum.said(made)] == ["", "here"]


async def test_roles_are_told(telegram: TelegramServer, bot: Bot) -> None:
    ann, bob, eve = (telegram.user(name) for name in ("Ann", "Bob", "Eve"))
    group = telegram.supergroup("Team", [ann, bob]).make_bot_admin()
    telegram.promote(bob, group)
    statuses = [(await bot.get_chat_member(group.id, user.id)).status for user in (ann, bob, eve)]
    assert statuses == ["creator", "administrator", "left"]
    admins = await bot.get_chat_administrators(group.id)
    assert [admin.user.id for admin in admins] == [ann.id, bob.id, telegram.bot.id]
    assert (await bot.get_chat(group.id)).title == "Team"


async def test_the_bot_is_told_when_it_is_added_kicked_and_blocked(telegram: TelegramServer, bot: Bot) -> None:
    ann = telegram.user("Ann")
    group = telegram.group("Team", [ann], bot=False)
    await ann.add_bot(group)
    group.make_bot_admin()
    await ann.kick_bot(group)
    await ann.say("hi")
    await ann.block_bot()
    changes = [update.my_chat_member for update in await bot.get_updates() if update.my_chat_member]
    assert [(c.old_chat_member.status, c.new_chat_member.status) for c in changes] == [
        ("left", "member"),
        ("administrator", "kicked"),
        ("member", "kicked"),
    ]


async def test_who_leaves_is_told_to_all_in_small_groups_and_to_bots_that_are_admins(
    telegram: TelegramServer, bot: Bot
) -> None:
    ann, bob, eve = (telegram.user(name) for name in ("Ann", "Bob", "Eve"))
    group, other = telegram.group("Team", [ann, bob]), telegram.supergroup("Many", [ann, bob, eve]).make_bot_admin()
    telegram.updates.allowed = frozenset({"message", "chat_member"})
    await bob.leave(group)
    await bob.leave(other, shown=False)
    await ann.remove(eve, other)
    told = await bot.get_updates()
    shown = [(m.chat.id, m.left_chat_member.id) for u in told if (m := u.message) and m.left_chat_member]
    assert shown == [(group.id, bob.id), (other.id, eve.id)]
    changes = [u.chat_member.new_chat_member for u in told if u.chat_member]
    assert [(c.user.id, c.status) for c in changes] == [(bob.id, "left"), (eve.id, "kicked")]


async def test_the_bot_reacts_types_and_deletes(telegram: TelegramServer, bot: Bot) -> None:
    ann = telegram.user("Ann")
    said = await ann.say("hi")
    await bot.set_message_reaction(ann.id, said.id, "👍")
    await bot.send_chat_action(ann.id, "typing")
    sent = await bot.send_message(ann.id, "soon gone")
    assert await bot.delete_message(ann.id, sent.message_id)
    await ann.private.gone(ann.private.messages[sent.message_id])
    assert (said.reactions, ann.private.actions) == (["👍"], [("typing", None)])


async def test_an_unconfirmed_update_comes_again(telegram: TelegramServer, bot: Bot) -> None:
    await telegram.user("Ann").say("once")
    [first] = await bot.get_updates()
    [again] = await bot.get_updates()
    assert first.update_id == again.update_id
    assert await bot.get_updates(offset=first.update_id + 1) == ()


async def test_a_redelivered_update_keeps_its_id(telegram: TelegramServer, bot: Bot) -> None:
    await telegram.user("Ann").say("once")
    [first] = await bot.get_updates()
    await bot.get_updates(offset=first.update_id + 1)
    telegram.redeliver()
    [again] = await bot.get_updates(offset=first.update_id + 1)
    assert again.update_id == first.update_id


async def test_the_bot_is_told_of_a_new_topic(telegram: TelegramServer, bot: Bot) -> None:
    telegram.supergroup("Team", [telegram.user("Ann")], forum=True).topic("Bugs")
    [update] = await bot.get_updates()
    assert update.message is not None
    assert update.message.forum_topic_created is not None


async def test_a_plain_reply_has_a_thread_but_no_topic(telegram: TelegramServer, bot: Bot) -> None:
    ann = telegram.user("Ann")
    group = telegram.supergroup("Team", [ann]).make_bot_admin()
    first = await ann.say("one", group)
    await ann.say("two", group, reply_to=first)
    message = (await bot.get_updates())[-1].message
    assert message is not None
    assert (message.message_thread_id, message.is_topic_message) == (first.id, None)


async def test_general_may_have_the_id_one(telegram: TelegramServer, bot: Bot) -> None:
    ann = telegram.user("Ann")
    forum = telegram.supergroup("Team", [ann], forum=True).make_bot_admin()
    forum.general_has_id = True
    await ann.say("one", forum)
    message = (await bot.get_updates())[-1].message
    assert message is not None
    assert (message.message_thread_id, message.is_topic_message) == (1, None)


async def test_a_long_poll_ends_with_the_first_update(telegram: TelegramServer, bot: Bot) -> None:
    waiting = asyncio.create_task(bot.get_updates(timeout=30))
    await telegram.arrived("getUpdates")
    await telegram.user("Ann").say("now")
    [update] = await waiting
    assert update.message
    assert update.message.text == "now"


async def test_a_webhook_is_told_again_until_it_answers(telegram: TelegramServer, bot: Bot) -> None:
    async with _hook(statuses=[500, 200]) as (url, received):
        await bot.set_webhook(url, secret_token="s3cret")
        await telegram.user("Ann").say("hello")
        await telegram.updates.confirmed()
        assert [secret for secret, _ in received] == ["s3cret", "s3cret"]
        texts = [message.text for _, body in received if (message := _update(body, bot).message)]
        assert texts == ["hello", "hello"]
        info = await bot.get_webhook_info()
        assert (info.url, info.pending_update_count) == (url, 0)
        assert info.last_error_message == "Wrong response from the webhook: 500 Internal Server Error"
        await bot.delete_webhook()


async def test_who_is_not_in_a_chat_cannot_write_there(telegram: TelegramServer) -> None:
    ann, bob = telegram.user("Ann"), telegram.user("Bob")
    group = telegram.supergroup("Team", [ann])
    with pytest.raises(ClientRefused):
        await bob.say("hi", group)


async def test_a_button_that_is_not_there_cannot_be_pressed(telegram: TelegramServer, bot: Bot) -> None:
    ann = telegram.user("Ann")
    await ann.say("hi")
    await bot.send_message(ann.id, "no buttons")
    with pytest.raises(ClientRefused):
        await ann.press("Next", ann.private.find("no buttons"))


async def test_a_long_message_cannot_be_typed(telegram: TelegramServer) -> None:
    with pytest.raises(ClientRefused):
        await telegram.user("Ann").say("x" * 4097)


async def test_the_message_of_another_cannot_be_edited(telegram: TelegramServer) -> None:
    said = await telegram.user("Ann").say("hi")
    with pytest.raises(ClientRefused):
        await telegram.user("Bob").edit(said, "other")


async def test_a_closed_topic_is_for_admins_only(telegram: TelegramServer) -> None:
    ann, bob = telegram.user("Ann"), telegram.user("Bob")
    forum = telegram.supergroup("Team", [ann, bob], forum=True)
    topic = forum.topic("Done")
    await ann.close_topic(topic)
    await ann.say("closed", forum, topic=topic)
    with pytest.raises(ClientRefused):
        await bob.say("more", forum, topic=topic)


async def test_a_channel_is_for_admins_only(telegram: TelegramServer) -> None:
    ann, bob = telegram.user("Ann"), telegram.user("Bob")
    news = telegram.channel("News", [ann, bob])
    with pytest.raises(ClientRefused):
        await bob.say("post", news)


async def test_a_press_on_its_way_finds_its_message_gone(telegram: TelegramServer, bot: Bot) -> None:
    ann = telegram.user("Ann")
    await ann.say("hi")
    sent = await bot.send_message(ann.id, "choose", reply_markup=_keyboard("Next", "next"))
    button = ann.private.find("choose").button("Next")
    await bot.delete_message(ann.id, sent.message_id)
    await ann.press(button)
    query = (await bot.get_updates())[-1].callback_query
    assert query is not None
    assert query.message is not None
    assert not query.message.is_accessible


async def test_waiting_for_what_never_comes_says_what_there_was(telegram: TelegramServer, echo: object) -> None:
    ann = telegram.user("Ann")
    await ann.say("hello")
    with pytest.raises(AssertionError, match="Ann: hello"):
        await ann.private.seen("farewell", seconds=0.3)


async def test_an_answer_where_none_is_wanted_fails(telegram: TelegramServer, echo: object) -> None:
    ann = telegram.user("Ann")
    await ann.say("hello")
    with pytest.raises(AssertionError, match="the bot said"):
        await ann.private.no_replies()


@contextlib.asynccontextmanager
async def _hook(*, statuses: list[int]) -> AsyncIterator[tuple[str, list[tuple[str, Json]]]]:
    received: list[tuple[str, Json]] = []

    async def take(request: Request) -> Response:
        received.append((request.headers["x-telegram-bot-api-secret-token"], await request.json()))
        return JSONResponse({}, status_code=statuses.pop(0))

    app = Starlette(routes=[Route("/hooks/telegram", take, methods=["POST"])])
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    serving = asyncio.create_task(server._serve([listening]))
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/hooks/telegram", received
    server.should_exit = server.force_exit = True
    await serving


def _keyboard(text: str, data: str) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup([[InlineKeyboardButton(text, callback_data=data)]])


def _update(body: Json, bot: Bot) -> Update:
    return Update.de_json(body, bot)
