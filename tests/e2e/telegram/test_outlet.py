"""What is said at places of Telegram, and what its limits make of it."""

from __future__ import annotations

import pytest
from e2e.telegram.conftest import Moves
from platforms.core import utf16_len
from platforms.telegram.chats import Chat
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from telegram import MessageEntity

from turnback.bots.platform import Said, Unreachable
from turnback.bots.replies import Button
from turnback.bots.telegram.markup import Part
from turnback.bots.telegram.outlet import TelegramOutlet

NEXT = (Button(label="Next", command="/replay list 2"),)


@pytest.fixture
async def ann(telegram: TelegramServer) -> User:
    """Somebody who has written to the bot."""
    user = telegram.user("Ann")
    await user.say("hello")
    return user


def place(chat: Chat) -> str:
    return str(chat.id)


async def test_send_plain_words_are_shown_as_they_are(outlet: TelegramOutlet, ann: User) -> None:
    [sent] = await outlet.send(place(ann.private), Said(text="1 + 1 = 2. *not bold* <b>"))
    shown = ann.private.messages[int(sent)]
    assert shown.text == "1 + 1 = 2. *not bold* <b>"
    assert shown.entities == []


async def test_send_markdown_is_formatted(outlet: TelegramOutlet, ann: User) -> None:
    [sent] = await outlet.send(place(ann.private), Said(text="**bold** and `x_y`!", markdown=True))
    shown = ann.private.messages[int(sent)]
    assert (shown.text, shown.marked("bold"), shown.marked("code")) == ("bold and x_y!", ["bold"], ["x_y"])


async def test_send_long_answer_comes_in_parts_with_the_buttons_last(outlet: TelegramOutlet, ann: User) -> None:
    text = "\n".join(f"{number}. {'!' * 40}" for number in range(200))
    ids = await outlet.send(place(ann.private), Said(text=text, buttons=NEXT))
    parts = [ann.private.messages[int(i)] for i in ids]
    assert len(parts) > 1
    assert all(utf16_len(part.text) <= 4096 for part in parts)
    assert "\n".join(part.text for part in parts) == text
    assert [bool(part.buttons) for part in parts] == [False] * (len(parts) - 1) + [True]


async def test_send_emoji_answer_is_not_cut_within_one(outlet: TelegramOutlet, ann: User) -> None:
    ids = await outlet.send(place(ann.private), Said(text="😀" * 2049, markdown=True))
    assert "".join(ann.private.messages[int(i)].text for i in ids) == "😀" * 2049


async def test_send_very_long_answer_is_a_file(outlet: TelegramOutlet, ann: User) -> None:
    text = "\n".join(f"line {number} of many" for number in range(2000))
    [sent] = await outlet.send(place(ann.private), Said(text=text, markdown=True, buttons=NEXT))
    shown = ann.private.messages[int(sent)]
    assert shown.content["document"]["file_name"] == "answer.md"
    assert shown.data == text.encode()
    assert shown.text.startswith("line 0 of many")
    assert shown.buttons


async def test_send_unreadable_entities_are_sent_plain_that_part_only(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    entities = Part.entities
    wrong = [MessageEntity("bold", 0, 99)]
    monkeypatch.setattr(Part, "entities", lambda part: wrong if part.text == "one" and part.marks else entities(part))
    [sent] = await outlet.send(place(ann.private), Said(text="**one**", markdown=True))
    assert ann.private.messages[int(sent)].text == "one"
    assert ann.private.messages[int(sent)].entities == []
    [call] = [c for c in telegram.calls_to("sendMessage") if c.refused]
    call.violations.clear()  # the broken rule was the point


async def test_send_empty_text_is_still_a_message(outlet: TelegramOutlet, ann: User) -> None:
    [sent] = await outlet.send(place(ann.private), Said(text="", markdown=True))
    assert ann.private.messages[int(sent)].text == "…"


async def test_send_reply_to_a_deleted_message_is_no_reply(outlet: TelegramOutlet, ann: User) -> None:
    gone = await ann.say("gone soon")
    await ann.delete(gone)
    [sent] = await outlet.send(place(ann.private), Said(text="x", reply_to=str(gone.id)))
    assert ann.private.messages[int(sent)].reply_to is None


async def test_send_address_without_a_dot_is_a_line(outlet: TelegramOutlet, ann: User) -> None:
    button = Button(label="Open", url="http://localhost:8765/chats/1")
    [sent] = await outlet.send(place(ann.private), Said(text="There:", buttons=(button,)))
    assert ann.private.messages[int(sent)].text == "There:\nOpen: http://localhost:8765/chats/1"


async def test_edit_changes_the_message(outlet: TelegramOutlet, ann: User) -> None:
    ids = await outlet.send(place(ann.private), Said(text="one", buttons=NEXT))
    assert await outlet.edit(place(ann.private), ids, Said(text="two")) == ids
    shown = ann.private.messages[int(ids[0])]
    assert (shown.text, shown.buttons) == ("two", [])


async def test_edit_to_the_same_asks_nobody(telegram: TelegramServer, outlet: TelegramOutlet, ann: User) -> None:
    ids = await outlet.send(place(ann.private), Said(text="one"))
    await outlet.edit(place(ann.private), ids, Said(text="one"))
    assert telegram.calls_to("editMessageText") == []


async def test_edit_that_changes_nothing_is_no_error(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User
) -> None:
    ids = await outlet.send(place(ann.private), Said(text="one"))
    fresh = TelegramOutlet(outlet._bot, Moves())
    assert await fresh.edit(place(ann.private), ids, Said(text="one")) == ids
    assert len(telegram.calls_to("editMessageText")) == 1


async def test_edit_grows_into_more_messages_and_shrinks_again(outlet: TelegramOutlet, ann: User) -> None:
    ids = await outlet.send(place(ann.private), Said(text="short"))
    long = "\n".join("x" * 79 for _ in range(60))
    grown = await outlet.edit(place(ann.private), ids, Said(text=long))
    assert grown[0] == ids[0]
    assert len(grown) == 2
    assert await outlet.edit(place(ann.private), grown, Said(text="short again")) == ids
    assert ann.private.messages[int(grown[1])].deleted


async def test_edit_of_a_deleted_message_shows_a_new_one(outlet: TelegramOutlet, ann: User) -> None:
    ids = await outlet.send(place(ann.private), Said(text="one"))
    await ann.delete(ann.private.messages[int(ids[0])])
    [new] = await outlet.edit(place(ann.private), ids, Said(text="two"))
    assert new != ids[0]
    assert ann.private.messages[int(new)].text == "two"


async def test_delete_takes_messages_away_and_minds_no_missing_ones(outlet: TelegramOutlet, ann: User) -> None:
    ids = [
        *await outlet.send(place(ann.private), Said(text="one")),
        *await outlet.send(place(ann.private), Said(text="two")),
    ]
    await ann.delete(ann.private.messages[int(ids[0])])
    await outlet.delete(place(ann.private), ids)
    assert ann.private.said() == []


async def test_delete_of_too_old_messages_leaves_them(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User
) -> None:
    old = await outlet.send(place(ann.private), Said(text="old"))
    telegram.clock.advance(49 * 3600)
    new = await outlet.send(place(ann.private), Said(text="new"))
    await outlet.delete(place(ann.private), [*old, *new])
    assert [m.text for m in ann.private.said()] == ["old"]
    for call in telegram.calls_to("deleteMessage*"):
        call.violations.clear()  # only Telegram knows how old is too old


async def test_send_to_somebody_who_blocked_us_is_unreachable(outlet: TelegramOutlet, ann: User) -> None:
    await ann.block_bot()
    with pytest.raises(Unreachable):
        await outlet.send(place(ann.private), Said(text="x"))


async def test_send_to_a_group_that_threw_us_out_is_unreachable(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User
) -> None:
    group = telegram.group("Team", [ann])
    await ann.kick_bot(group)
    with pytest.raises(Unreachable):
        await outlet.send(place(group), Said(text="x"))


async def test_send_to_a_topic_goes_there(telegram: TelegramServer, outlet: TelegramOutlet, ann: User) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True)
    topic = forum.topic("billing")
    [sent] = await outlet.send(f"{forum.id}/{topic.id}", Said(text="x"))
    assert forum.messages[int(sent)].topic is topic


async def test_send_to_a_deleted_topic_goes_to_general(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User
) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True)
    topic = forum.topic("billing")
    forum.delete_topic(topic)
    [sent] = await outlet.send(f"{forum.id}/{topic.id}", Said(text="x"))
    assert forum.messages[int(sent)].topic is forum.general


async def test_send_to_a_group_that_became_a_supergroup_follows_it_once(
    telegram: TelegramServer, outlet: TelegramOutlet, moves: Moves, ann: User
) -> None:
    group = telegram.group("Team", [ann])
    before = await outlet.send(place(group), Said(text="before"))
    new = telegram.upgrade(group, told=())
    [sent] = await outlet.send(place(group), Said(text="x", reply_to=before[0]))
    assert new.messages[int(sent)].text == "x"
    assert moves.seen == [(group.id, new.id)]
    await outlet.send(place(group), Said(text="y"))
    assert len([c for c in telegram.calls_to("sendMessage") if c.refused]) == 1


async def test_edit_after_a_migration_shows_a_new_message(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User
) -> None:
    group = telegram.group("Team", [ann])
    ids = await outlet.send(place(group), Said(text="before"))
    new = telegram.upgrade(group, told=())
    [moved] = await outlet.edit(place(group), ids, Said(text="after"))
    assert new.messages[int(moved)].text == "after"
    [again] = await outlet.edit(place(new), ids, Said(text="after all"))
    assert new.messages[int(again)].text == "after all"
    assert new.messages[int(moved)].text == "after"


async def test_open_beside_makes_a_topic_where_we_may(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User
) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True).make_bot_admin()
    key = await outlet.open_beside(place(forum), "⑂ A title that is much too long. " * 9)
    assert key is not None
    chat, _, topic = key.partition("/")
    assert int(chat) == forum.id
    assert forum.topics[int(topic)].name.startswith("⑂ A title")


async def test_open_beside_answers_none_where_we_may_not(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User
) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True)
    assert await outlet.open_beside(place(forum), "x") is None
    assert await outlet.open_beside(place(telegram.group("Old", [ann])), "x") is None


async def test_typing_is_shown_in_the_topic(telegram: TelegramServer, outlet: TelegramOutlet, ann: User) -> None:
    forum = telegram.supergroup("Team", [ann], forum=True)
    topic = forum.topic("billing")
    await outlet.typing(f"{forum.id}/{topic.id}")
    assert forum.actions == [("typing", topic)]


async def test_typing_never_fails(telegram: TelegramServer, outlet: TelegramOutlet, ann: User) -> None:
    await ann.block_bot()
    await outlet.typing(place(ann.private))
    telegram.fail_next("sendChatAction", 502)
    await outlet.typing(place(ann.private))


@pytest.mark.parametrize("drop", [False, True])
async def test_send_through_trouble_arrives(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User, drop: bool
) -> None:
    telegram.fail_next("sendMessage", 0 if drop else 502, drop=drop)
    [sent] = await outlet.send(place(ann.private), Said(text="x"))
    assert [m.text for m in ann.private.said()] == ["x"]
    assert ann.private.messages[int(sent)].text == "x"


async def test_send_refused_for_haste_waits_and_is_sent_once_more(
    telegram: TelegramServer, outlet: TelegramOutlet, ann: User
) -> None:
    telegram.fail_next("sendMessage", 429, retry_after=1)
    await outlet.send(place(ann.private), Said(text="**x**", markdown=True))
    refused, again = telegram.calls_to("sendMessage")
    assert again.at - refused.at >= 1
    assert again.params == refused.params
    assert [m.text for m in ann.private.said()] == ["x"]


async def test_direct_is_the_users_own_chat(outlet: TelegramOutlet) -> None:
    assert await outlet.direct("456") == "456"
    assert await outlet.direct("-100456") is None
