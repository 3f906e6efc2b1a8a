"""Which updates are for us, and in which words."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from telegram import Update, User

from turnback.bots.telegram.reading import Heard, author_of, hear, migration, words_of

ME = User(7, "Turnback", is_bot=True, username="turnback_bot")
ANN = {"id": 5, "is_bot": False, "first_name": "Ann"}
GROUP = {"id": -100, "type": "supergroup", "title": "Team"}
BASIC = {"id": -4, "type": "group", "title": "Team"}
PRIVATE = {"id": 5, "type": "private", "first_name": "Ann"}
CHANNEL = {"id": -200, "type": "channel", "title": "News"}

ids = count(1)


def update(chat: dict[str, Any], text: str = "/replay list", more: dict[str, Any] | None = None) -> Update:
    kind = "channel_post" if chat is CHANNEL else "message"
    sender = {"sender_chat": chat} if chat is CHANNEL else {"from": ANN}
    body = {"message_id": next(ids), "date": 1, "chat": chat, **sender, "text": text, **(more or {})}
    return Update.de_json({"update_id": next(ids), kind: body}, None)


def heard(made: Update) -> Heard:
    found = hear(made, ME)
    assert found is not None
    return found


ANONYMOUS = {"from": {"id": 1087968824, "is_bot": True, "first_name": "Group"}, "sender_chat": GROUP}
TOPIC = {"message_thread_id": 12, "is_topic_message": True}
REPLY = {"message_thread_id": 3}


@pytest.mark.parametrize(
    ("chat", "more", "key"),
    [
        (PRIVATE, {}, "5"),
        (BASIC, {}, "-4"),
        (GROUP, {}, "-100"),
        (GROUP, REPLY, "-100"),
        (GROUP, TOPIC, "-100/12"),
        (GROUP, ANONYMOUS, "-100"),
        (GROUP, {**ANONYMOUS, **TOPIC}, "-100/12"),
        (CHANNEL, {}, "-200"),
    ],
)
def test_hear_messages_and_commands_are_at_the_same_place(chat: dict[str, Any], more: dict[str, Any], key: str) -> None:
    mention = {"entities": [{"type": "mention", "offset": 0, "length": 13}]}
    command = heard(update(chat, "/replay list", more))
    message = heard(update(chat, "@turnback_bot hello", {**mention, **more}))
    assert command.spot.key == message.spot.key == key


@pytest.mark.parametrize("kind", ["edited_message", "edited_channel_post"])
def test_hear_edits_are_not_for_us(kind: str) -> None:
    body = {"message_id": 1, "date": 1, "edit_date": 2, "chat": PRIVATE, "from": ANN, "text": "/replay clear"}
    assert hear(Update.de_json({"update_id": 1, kind: body}, None), ME) is None


@pytest.mark.parametrize(
    "content", [{"new_chat_members": [ANN]}, {"pinned_message": None}, {"group_chat_created": True}]
)
def test_hear_service_messages_are_not_for_us(content: dict[str, Any]) -> None:
    body = {"message_id": 1, "date": 1, "chat": PRIVATE, "from": ANN, **content}
    assert hear(Update.de_json({"update_id": 1, "message": body}, None), ME) is None


def test_hear_other_bots_are_not_for_us_but_anonymous_admins_are() -> None:
    assert hear(update(GROUP, more={"from": {"id": 9, "is_bot": True, "first_name": "Other"}}), ME) is None
    assert hear(update(GROUP, more=ANONYMOUS), ME) is not None


def test_hear_talk_in_a_group_is_not_for_us() -> None:
    assert hear(update(GROUP, "hello everybody"), ME) is None
    assert hear(update(GROUP, "mail me@turnback_bot.example"), ME) is None


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("@turnback_bot steps 2", "steps 2"),
        ("@TurnBack_Bot, steps 2", "steps 2"),
        ("steps 2 @turnback_bot", "steps 2"),
        ("what says @turnback_bot to that", "what says @turnback_bot to that"),
        ("@turnback_bots steps 2", "@turnback_bots steps 2"),
        ("@turnback_bot", "/help"),
    ],
)
def test_words_of_a_message_are_without_the_mention_around_them(said: str, text: str) -> None:
    message = update(PRIVATE, said).message
    assert message is not None
    assert words_of(message, ME).text == text


@pytest.mark.parametrize(
    ("chat", "said", "text"),
    [
        (PRIVATE, "/start", "/help"),
        (PRIVATE, "/start web", "/web"),
        (PRIVATE, "/START  chats", "/chats"),
        (PRIVATE, "/start delete", "/help"),
        (PRIVATE, "/start@other_bot web", "/start@other_bot web"),
        (GROUP, "/start web", "/start web"),
        (GROUP, "/start@turnback_bot web", "/web"),
        (PRIVATE, "/starting", "/starting"),
    ],
)
def test_words_of_start_are_what_its_link_stands_for(chat: dict[str, Any], said: str, text: str) -> None:
    message = update(chat, said).message
    assert message is not None
    assert words_of(message, ME).text == text


def asked(text: str, sender: int = ME.id) -> dict[str, Any]:
    who = {"id": sender, "is_bot": True, "first_name": "T"}
    return {"reply_to_message": {"message_id": 1, "date": 1, "chat": PRIVATE, "from": who, "text": text}}


def test_words_of_an_answer_to_our_question_complete_its_command() -> None:
    message = update(PRIVATE, " my  label ", asked("Label: …\n/replay name 3fa9c1d2 …")).message
    assert message is not None
    assert words_of(message, ME).text == "/replay name 3fa9c1d2 my label"


@pytest.mark.parametrize(
    "reply", [asked("/replay name 3fa9c1d2"), asked("x …"), asked("/replay name 3fa9c1d2 …", sender=9)]
)
def test_words_of_other_replies_are_just_words(reply: dict[str, Any]) -> None:
    message = update(PRIVATE, "label", reply).message
    assert message is not None
    assert words_of(message, ME).text == "label"


def test_author_of_a_group_message_has_the_group_as_scope() -> None:
    message = update(GROUP).message
    assert message is not None
    person = author_of(message)
    assert (person.identity, person.name, person.scopes) == ("telegram:5", "Ann", ("telegram:-100",))


def test_author_of_what_an_anonymous_admin_wrote_is_the_group() -> None:
    message = update(GROUP, more=ANONYMOUS).message
    assert message is not None
    assert (author_of(message).identity, author_of(message).name) == ("telegram:-100", "Team")


@pytest.mark.parametrize("which", ["migrate_to_chat_id", "migrate_from_chat_id"])
def test_migration_is_known_from_either_message(which: str) -> None:
    here, there = (-4, -1009) if which == "migrate_to_chat_id" else (-1009, -4)
    body = {"message_id": 1, "date": 1, "chat": {"id": here, "type": "group", "title": "T"}, which: there}
    assert migration(Update.de_json({"update_id": 1, "message": body}, None)) == (-4, -1009)


def test_migration_is_nothing_in_other_messages() -> None:
    assert migration(update(GROUP)) is None
