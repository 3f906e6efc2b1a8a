"""Each limit of Discord is enforced by the simulated one, and what breaks it is counted."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import discord
import pytest
from platforms.core import Json
from platforms.discord.channels import Channel
from platforms.discord.interactions import Interaction
from platforms.discord.messages import Button, Message
from platforms.discord.people import User
from platforms.discord.server import DiscordServer
from platforms.discord.talking import Talker, button, link, option, select, text_input


@pytest.fixture
async def scene(server: DiscordServer, ann: User, general: Channel) -> AsyncIterator[Talker]:
    async with discord.Client(intents=discord.Intents.none()) as client:
        await client.login(server.token)
        yield Talker(client=client, server=server, ann=ann, general=general)


Act = Callable[[Talker], Awaitable[Any]]


async def modal(s: Talker, *rows: Json, **more: Any) -> None:
    asked = await s.asked()
    await s.answer(asked, 9, **{"custom_id": "m", "title": "t", "components": list(rows) or [text_input()], **more})


async def answer_twice(s: Talker) -> None:
    asked = await s.asked()
    await s.answer(asked, 6)
    await s.answer(asked, 6)


async def answer_late(s: Talker) -> None:
    asked = await s.asked()
    s.server.clock.advance(3.1)
    await s.answer(asked, 6)


async def edit_anns(s: Talker) -> None:
    said = await s.ann.say("mine", s.general)
    await s.call("PATCH", f"/channels/{s.general.id}/messages/{said.id}", {"content": "yours"})


async def edit_empty(s: Talker) -> None:
    sent = await s.send()
    await s.call("PATCH", f"/channels/{s.general.id}/messages/{sent['id']}", {"content": ""})


async def upload(s: Talker, size: int, count: int = 1) -> None:
    channel = s.client.get_partial_messageable(int(s.general.id))
    files = [discord.File(io.BytesIO(bytes(size)), f"f{n}") for n in range(count)]
    with discord.http.handle_message_parameters(files=files) as params:
        await s.client.http.send_message(channel.id, params=params)


async def write_in_forum(s: Talker) -> None:
    assert s.general.guild is not None
    await s.send(channel=s.general.guild.forum("ideas"))


async def thread(s: Talker, **more: Any) -> None:
    await s.call("POST", f"/channels/{s.general.id}/threads", {"name": "n", "type": 11} | more)


async def autocomplete_with_text(s: Talker) -> None:
    await s.command(options=[option(autocomplete=True)])
    asked = Interaction(s.ann, s.general, 4, {}, name="/replay step")
    s.server.scene.interactions[asked.token] = asked
    await s.answer(asked, 4, content="x")


async def many_choices(s: Talker) -> None:
    asked = Interaction(s.ann, s.general, 4, {}, name="/replay step")
    s.server.scene.interactions[asked.token] = asked
    await s.answer(asked, 8, choices=[{"name": "n", "value": str(n)} for n in range(26)])


async def delete_at_once(s: Talker, *, count: int = 2, days: int = 0) -> None:
    assert s.general.guild is not None
    s.general.guild.allow_bot("manage_messages")
    sent = [await s.send() for _ in range(count)]
    s.server.clock.advance(days * 86400)
    await s.call("POST", f"/channels/{s.general.id}/messages/bulk-delete", {"messages": [m["id"] for m in sent]})


def sub(name: str, kind: int = 1, *options: Json) -> Json:
    return option(name, kind, options=list(options))


CHOICES = [{"name": f"{n:02}" + "n" * 98, "value": "v" * 100} for n in range(25)]
EMBED_6001 = [{"description": "x" * 3000}, {"description": "x" * 3001}]

WRONG: dict[str, tuple[Act, str]] = {
    "text": (lambda s: s.send("😀" * 2001), "content: must be 2000 or fewer"),
    "empty": (lambda s: s.send(" \n"), "50006 cannot send an empty message"),
    "11 embeds": (lambda s: s.send(embeds=[{"title": "t"}] * 11), "embeds: must be 10 or fewer"),
    "embeds together": (lambda s: s.send(embeds=EMBED_6001), "maximum size of 6000"),
    "embed title": (lambda s: s.send(embeds=[{"title": "x" * 257}]), "embeds.0.title: must be 256"),
    "embed description": (lambda s: s.send(embeds=[{"description": "x" * 4097}]), "must be 4096"),
    "embed footer": (lambda s: s.send(embeds=[{"footer": {"text": "x" * 2049}}]), "must be 2048"),
    "26 fields": (lambda s: s.send(embeds=[{"fields": [{"name": "n", "value": "v"}] * 26}]), "fields: must be 25"),
    "field value": (
        lambda s: s.send(embeds=[{"fields": [{"name": "n", "value": "v" * 1025}]}]),
        "fields.0.value: must be between 1 and 1024",
    ),
    "6 rows": (lambda s: s.components(*([button(str(n))] for n in range(6))), "components: must be 5 or fewer"),
    "6 buttons": (lambda s: s.components([button(str(n)) for n in range(6)]), "must be between 1 and 5"),
    "empty row": (lambda s: s.components([]), "components.0.components: this field is required"),
    "select beside a button": (lambda s: s.components([button(), select()]), "maximum width"),
    "long custom id": (lambda s: s.components([button("x" * 101)]), "custom_id: must be between 1 and 100"),
    "no custom id": (lambda s: s.components([button("")]), "custom_id: this field is required"),
    "custom id twice": (lambda s: s.components([button()], [button()]), "cannot be duplicated"),
    "button label": (lambda s: s.components([button(label="x" * 81)]), "label: must be 80"),
    "button without label": (lambda s: s.components([button(label="")]), "must have a label or emoji"),
    "button style": (lambda s: s.components([button(style=9)]), "style: value must be one of"),
    "link with custom id": (lambda s: s.components([link(custom_id="a")]), "cannot both be specified"),
    "link without address": (lambda s: s.components([link(url="")]), "url: this field is required"),
    "link to a script": (lambda s: s.components([link(url="javascript:1")]), "scheme must be one of"),
    "26 options": (lambda s: s.components([select(26)]), "options: must be between 1 and 25"),
    "no options": (lambda s: s.components([select(0)]), "options: this field is required"),
    "option twice": (lambda s: s.components([select(options=select()["options"] * 2)]), "already used"),
    "option label": (
        lambda s: s.components([select(options=[{"label": "x" * 101, "value": "v"}])]),
        "label: must be between 1 and 100",
    ),
    "placeholder": (lambda s: s.components([select(placeholder="x" * 151)]), "placeholder: must be 150"),
    "bare button": (lambda s: s.send(components=[button()]), "components.0.type: value must be one of {1}"),
    "version 2": (lambda s: s.send("", flags=1 << 15), "not simulated"),
    "mentions both ways": (
        lambda s: s.send(allowed_mentions={"parse": ["users"], "users": ["1"]}),
        "mutually exclusive",
    ),
    "edit of another's": (edit_anns, "50005 cannot edit a message authored by another user"),
    "edit to nothing": (edit_empty, "50006"),
    "one deleted at once": (lambda s: delete_at_once(s, count=1), "50016"),
    "old ones deleted at once": (lambda s: delete_at_once(s, days=15), "50034"),
    "big file": (lambda s: upload(s, (10 << 20) + 1), "40005 request entity too large"),
    "11 files": (lambda s: upload(s, 1, 11), "attachments: must be 10 or fewer"),
    "message in a forum": (write_in_forum, "50008"),
    "thread name": (lambda s: thread(s, name="x" * 101), "name: must be between 1 and 100"),
    "thread duration": (lambda s: thread(s, auto_archive_duration=5), "value must be one of {60, 1440"),
    "direct chat with oneself": (
        lambda s: s.call("POST", "/users/@me/channels", {"recipient_id": s.server.bot.id}),
        "50033 invalid recipient",
    ),
    "modal title": (lambda s: modal(s, title="x" * 46), "title: must be between 1 and 45"),
    "modal without inputs": (lambda s: modal(s, components=[]), "components: this field is required"),
    "6 inputs": (lambda s: modal(s, *[text_input(custom_id=str(n)) for n in range(6)]), "must be between 1 and 5"),
    "input label": (lambda s: modal(s, text_input(label="x" * 46)), "label: must be between 1 and 45"),
    "input length": (lambda s: modal(s, text_input(max_length=4001)), "less than or equal to 4000"),
    "input value": (lambda s: modal(s, text_input(value="x" * 4001)), "value: must be 4000"),
    "late answer": (answer_late, "10062 unknown interaction"),
    "second answer": (answer_twice, "40060 interaction has already been acknowledged"),
    "answer of another kind": (autocomplete_with_text, "type: value must be one of {8}"),
    "26 choices": (many_choices, "choices: must be 25 or fewer"),
    "command name": (lambda s: s.command(name="Replay"), "command name is invalid"),
    "command name with space": (lambda s: s.command(name="re play"), "command name is invalid"),
    "long command name": (lambda s: s.command(name="x" * 33), "command name is invalid"),
    "description": (lambda s: s.command(description="x" * 101), "description: must be between 1 and 100"),
    "no description": (lambda s: s.command(description=""), "description: this field is required"),
    "26 command options": (lambda s: s.command(options=[option(f"o{n}") for n in range(26)]), "options: must be 25"),
    "option name twice": (lambda s: s.command(options=[option(), option()]), "already exists"),
    "required after optional": (
        lambda s: s.command(options=[option(), option("b", required=True)]),
        "before non-required",
    ),
    "subcommand beside option": (lambda s: s.command(options=[sub("list"), option()]), "mutually exclusive"),
    "deep subcommands": (
        lambda s: s.command(options=[sub("a", 2, sub("b", 2, sub("c")))]),
        "nesting is too deep",
    ),
    "choices and autocomplete": (
        lambda s: s.command(options=[option(autocomplete=True, choices=[{"name": "n", "value": "v"}])]),
        "cannot have choices",
    ),
    "autocomplete of a flag": (lambda s: s.command(options=[option(kind=5, autocomplete=True)]), "only strings"),
    "large command": (
        lambda s: s.command(options=[option(f"o{n:02}", choices=CHOICES) for n in range(2)]),
        "exceeds maximum size (8000)",
    ),
    "menu with description": (lambda s: s.command(type=3, name="Rewind"), "cannot have description"),
    "101 commands": (lambda s: s.put([option(f"c{n}", 1) for n in range(101)]), "30032 maximum number"),
    "16 menus": (lambda s: s.put([{"name": f"c{n}", "type": 3} for n in range(16)]), "30032 maximum number"),
    "name twice": (lambda s: s.put([option("a", 1), option("a", 1)]), "names must be unique"),
    "unknown route": (lambda s: s.call("GET", "/stickers"), "not simulated"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_breaking_a_limit_is_refused_and_counted(scene: Talker, name: str) -> None:
    act, words = WRONG[name]
    with pytest.raises(discord.HTTPException):
        await act(scene)
    assert words in scene.server.refusals[-1].lower()
    assert len(scene.server.violations) == 1


async def expired(s: Talker) -> None:
    asked = await s.asked()
    await s.answer(asked, 6)
    s.server.clock.advance(901)
    await s.follow(asked)


async def follow_before_answer(s: Talker) -> None:
    await s.follow(await s.asked())


async def reply_to_deleted(s: Talker) -> None:
    said = await s.ann.say("gone", s.general)
    await s.ann.delete(said)
    await s.send(message_reference={"message_id": said.id})


async def edit_deleted(s: Talker) -> None:
    sent = await s.send()
    await s.call("DELETE", f"/channels/{s.general.id}/messages/{sent['id']}")
    await s.call("PATCH", f"/channels/{s.general.id}/messages/{sent['id']}", {"content": "y"})


async def second_thread(s: Talker) -> None:
    said = await s.ann.say("start", s.general)
    for _ in range(2):
        await s.call("POST", f"/channels/{s.general.id}/messages/{said.id}/threads", {"name": "n"})


async def blocked(s: Talker) -> None:
    await s.ann.block_bot()
    await s.send(channel=s.ann.private)


async def without(s: Talker, *permissions: str) -> None:
    s.general.deny(s.server.bot, *permissions)


async def hidden(s: Talker) -> None:
    await without(s, "view_channel")
    await s.send()


async def read_only(s: Talker) -> None:
    await without(s, "send_messages")
    await s.send()


async def no_threads(s: Talker) -> None:
    await without(s, "create_public_threads")
    await thread(s)


async def delete_anns(s: Talker) -> None:
    said = await s.ann.say("keep", s.general)
    await s.call("DELETE", f"/channels/{s.general.id}/messages/{said.id}")


async def ephemeral_by_id(s: Talker) -> None:
    asked = await s.asked()
    await s.answer(asked, 4, content="psst", flags=64)
    assert asked.original is not None
    await s.call("GET", f"/channels/{s.general.id}/messages/{asked.original.id}")


async def locked_thread(s: Talker) -> None:
    beside = await s.ann.open_thread("old", s.general)
    beside.archive(locked=True)
    await s.send(channel=beside)


FACTS: dict[str, tuple[Act, str]] = {
    "token after 15 minutes": (expired, "50027 Invalid Webhook Token"),
    "follow-up before an answer": (follow_before_answer, "10015 Unknown Webhook"),
    "reply to a deleted message": (reply_to_deleted, "Unknown message"),
    "edit of a deleted message": (edit_deleted, "10008 Unknown Message"),
    "second thread of a message": (second_thread, "160004"),
    "blocked": (blocked, "50007 Cannot send messages to this user"),
    "hidden channel": (hidden, "50001 Missing Access"),
    "no right to write": (read_only, "50013 Missing Permissions"),
    "no right to open threads": (no_threads, "50013 Missing Permissions"),
    "no right to delete": (delete_anns, "50013 Missing Permissions"),
    "ephemeral message by its id": (ephemeral_by_id, "10008 Unknown Message"),
    "locked thread": (locked_thread, "50083 Thread is archived"),
    "unknown channel": (lambda s: s.call("GET", "/channels/1"), "10003 Unknown Channel"),
}


@pytest.mark.parametrize("name", FACTS)
async def test_running_into_a_fact_is_refused_but_not_counted(scene: Talker, name: str) -> None:
    act, words = FACTS[name]
    with pytest.raises(discord.HTTPException):
        await act(scene)
    assert words in scene.server.refusals[-1]
    assert scene.server.violations == []


async def test_the_longest_of_everything_passes(scene: Talker) -> None:
    await scene.send("😀" * 2000)
    await scene.send(embeds=[{"description": "x" * 4096}, {"title": "x" * 256, "footer": {"text": "x" * 1648}}])
    await scene.components(*([button(f"{row}{n}" + "x" * 98, label="x" * 80) for n in range(5)] for row in range(5)))
    await scene.components([select(25)])
    await modal(scene, *[text_input(custom_id=str(n), label="x" * 45) for n in range(5)], title="x" * 45)
    await scene.command(options=[option("o", choices=CHOICES), *[option(f"o{n}") for n in range(24)]])
    await delete_at_once(scene, count=3, days=13)
    await scene.put([sub("replay", 1, sub("group", 2, sub("deep", 1, option())))])
    assert scene.server.violations == []


async def test_a_message_that_notifies_is_counted(scene: Talker) -> None:
    said = await scene.ann.say("hello", scene.general)
    await scene.send(f"{scene.ann.mention} @everyone", allowed_mentions={"parse": ["users", "everyone"]})
    await scene.send("re", message_reference={"message_id": said.id}, allowed_mentions={"replied_user": True})
    await scene.send(f"{scene.ann.mention} @everyone")
    await scene.send("re", message_reference={"message_id": said.id})
    assert len(scene.server.violations) == 2
    assert [sorted(message.pings) for message in scene.general.said()][:2] == [
        sorted([scene.ann.id, "everyone"]),
        [scene.ann.id],
    ]


async def test_the_same_nonce_sends_once(scene: Talker) -> None:
    for _ in range(2):
        await scene.send("once", nonce="7", enforce_nonce=True)
    assert len(scene.general.said()) == 1


async def test_a_deferred_answer_shows_nothing_until_it_is_filled(scene: Talker) -> None:
    asked = await scene.asked()
    await scene.answer(asked, 5, flags=64)
    assert asked.original is not None
    assert (asked.messages, asked.original.loading) == ([], True)
    await scene.follow(asked, content="done")
    assert [(message.text, message.ephemeral) for message in asked.messages] == [("done", True)]


async def test_a_button_that_was_taken_away_cannot_be_pressed(scene: Talker) -> None:
    await scene.components([button()])
    shown: Message = scene.general.said()[-1]
    taken: Button = shown.button("b")
    await scene.call("PATCH", f"/channels/{scene.general.id}/messages/{shown.id}", {"components": []})
    with pytest.raises(Exception, match="cannot be pressed any more"):
        await scene.ann.press(taken)
