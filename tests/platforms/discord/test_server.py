"""The simulated Discord with the real library: what people and a bot can do together."""

from __future__ import annotations

from collections.abc import Iterator

import discord
import pytest
from platforms.core import ClientRefused
from platforms.discord.channels import Channel, Kind
from platforms.discord.echo import EchoBot
from platforms.discord.interactions import Answer
from platforms.discord.people import User
from platforms.discord.server import DiscordServer


@pytest.fixture(autouse=True)
def no_violations(server: DiscordServer) -> Iterator[None]:
    yield
    assert server.violations == []


async def test_saying_something_is_answered_in_the_channel(echo: EchoBot, ann: User, general: Channel) -> None:
    await ann.say("hello 😀", general)
    [answer] = await general.replies()
    assert answer.text == "ann: hello 😀"


async def test_writing_directly_is_answered_there(server: DiscordServer, echo: EchoBot, ann: User) -> None:
    await ann.say("just us")
    assert (await ann.private.seen("ann: just us")).channel.recipient is ann


async def test_editing_a_message_arrives_as_an_edit(echo: EchoBot, ann: User, general: Channel) -> None:
    said = await ann.say("frist", general)
    await general.seen("frist")
    await ann.edit(said, "first")
    await general.seen("edited: first")


async def test_sending_a_file_reaches_the_bot(echo: EchoBot, ann: User, general: Channel) -> None:
    await ann.send_document("notes.txt", b"one", general, caption="for you")
    await general.seen("ann: for you [notes.txt: one]")


async def test_a_slash_command_is_answered_with_what_only_its_asker_sees(
    echo: EchoBot, ann: User, general: Channel
) -> None:
    asked = await ann.slash("/replay restore", general, step="3fa9c1d2", note="please")
    assert await asked.answered() is Answer.DEFERRED
    first, second = await asked.replies(2)
    assert (first.text, second.text) == ("restored 3fa9c1d2 please", "and more")
    assert first.ephemeral
    assert second.visible_to is ann
    assert not asked.failed


@pytest.mark.parametrize("typed", ["step:3fa9 note:of ours", "3fa9 of ours"])
async def test_typed_options_are_filled_in(echo: EchoBot, ann: User, general: Channel, typed: str) -> None:
    await ann.command(f"/replay restore {typed}", general)
    await general.seen("restored 3fa9 of ours")


async def test_a_slash_command_works_in_a_direct_chat(echo: EchoBot, ann: User) -> None:
    asked = await ann.slash("/replay list", page=3)
    assert (await asked.seen("page 3")).channel is ann.private


async def test_typing_an_option_is_completed(echo: EchoBot, ann: User, general: Channel) -> None:
    choices = await ann.autocomplete("/replay restore", general, step="turn 1")
    assert [choice.value for choice in choices] == ["turn 1, step 1", "turn 1, step 2"]


async def test_pressing_a_button_changes_its_message(echo: EchoBot, ann: User, general: Channel) -> None:
    listed = await (await ann.slash("/replay list", general)).seen("page 1")
    pressed = await ann.press("Page 2", listed)
    assert await pressed.answered() is Answer.UPDATE
    shown = await general.seen("page 2")
    assert shown is listed
    assert [button.text for button in shown.buttons] == ["Page 3"]


async def test_choosing_of_a_select_is_answered(echo: EchoBot, ann: User, general: Channel) -> None:
    listed = await (await ann.slash("/replay list", general)).seen("page 1")
    chosen = await ann.select("turn 2", listed)
    assert (await chosen.seen("chose 2")).ephemeral


async def test_sending_a_form_is_answered(echo: EchoBot, ann: User, general: Channel) -> None:
    asked = await ann.slash("/replay name", general)
    modal = await asked.opened()
    assert (modal.title, [entry.text for entry in modal.inputs]) == ("A label", ["Label"])
    with pytest.raises(ClientRefused):
        await ann.submit(asked, {"Label": "x" * 21})
    sent = await ann.submit(asked, {"Label": "before lunch"})
    await sent.seen("labelled before lunch")


async def test_a_context_menu_names_its_message(echo: EchoBot, ann: User, general: Channel) -> None:
    said = await ann.say("the old state", general)
    asked = await ann.context_menu("Rewind to here", said)
    await asked.seen("to 'the old state'")


async def test_the_client_refuses_what_is_not_there(
    server: DiscordServer, echo: EchoBot, ann: User, bob: User, general: Channel
) -> None:
    listed = await (await ann.slash("/replay list", general)).seen("page 1")
    private = await (await ann.slash("/replay restore", general, step="1")).seen("restored")
    stranger = server.user("eve")
    for act in (
        lambda: ann.slash("/play", general),
        lambda: ann.slash("/replay rewind", general),
        lambda: ann.slash("/replay restore", general),
        lambda: ann.slash("/replay list", general, page="two"),
        lambda: ann.slash("/replay list", general, steps=2),
        lambda: ann.press("Page 9", listed),
        lambda: ann.select("turn 7", listed),
        lambda: ann.say("x" * 2001, general),
        lambda: bob.context_menu("Rewind to here", private),
        lambda: stranger.say("hello", general),
        lambda: stranger.slash("/replay list", general),
    ):
        with pytest.raises(ClientRefused):
            await act()


async def test_threads_hold_their_own_messages(echo: EchoBot, ann: User, general: Channel) -> None:
    said = await ann.say("a question", general)
    await general.seen("a question")
    beside, below = await ann.open_thread("beside", general), await ann.open_thread("below", said)
    assert below.id == said.id
    for thread in (beside, below):
        await ann.say(f"in {thread.name}", thread)
        assert (await thread.seen(f"ann: in {thread.name}")).channel is thread
    written = {message.type for message in echo.cached_messages if message.author != echo.user}
    assert {discord.MessageType.thread_created, discord.MessageType.thread_starter_message} < written


async def test_a_private_thread_is_the_bots_only_when_it_is_in_it(
    server: DiscordServer, echo: EchoBot, ann: User, general: Channel
) -> None:
    without = await ann.open_thread("no", general, private=True, bot=False)
    await ann.say("alone", without)
    within = await ann.open_thread("yes", general, private=True)
    await ann.say("together", within)
    await within.seen("together")
    assert echo.heard == ["together"]


async def test_a_forum_holds_posts(server: DiscordServer, echo: EchoBot, ann: User, general: Channel) -> None:
    assert general.guild is not None
    forum = general.guild.forum("ideas")
    post = await ann.open_post("An idea", "why not", forum)
    await post.seen("ann: why not")
    await server.gateway.flushed()
    channel = await echo.fetch_channel(int(forum.id))
    assert isinstance(channel, discord.ForumChannel)
    made = await channel.create_thread(name="Mine", content="a post")
    assert made.message.id == made.thread.id
    assert (await forum.thread_of("Mine")).said()[0].text == "a post"


async def test_the_bot_opens_threads(echo: EchoBot, ann: User, general: Channel) -> None:
    said = await ann.say("fork it", general)
    await general.seen("fork it")
    channel = echo.get_channel(int(general.id))
    assert isinstance(channel, discord.TextChannel)
    below = await (await channel.fetch_message(int(said.id))).create_thread(name="⑂ fork")
    await below.send("continued here")
    private = await channel.create_thread(name="secret", type=discord.ChannelType.private_thread)
    assert (await general.thread_of("fork")).said()[0].text == "continued here"
    assert (await general.thread_of("secret")).kind is Kind.PRIVATE_THREAD
    await private.edit(name="renamed", archived=True)
    await private.send("wakes it")
    thread = await general.thread_of("renamed")
    assert not thread.archived


async def test_a_message_goes_through_its_life(echo: EchoBot, ann: User, general: Channel) -> None:
    channel = echo.get_channel(int(general.id))
    assert isinstance(channel, discord.TextChannel)
    said = await ann.say("keep me", general)
    await general.seen("keep me")
    sent = await channel.send("one", reference=await channel.fetch_message(int(said.id)))
    shown = await general.seen("one")
    assert shown.reply_to is said
    await sent.edit(content="two", attachments=[discord.File(__file__, "code.py")])
    assert (shown.text, shown.edits, list(shown.files)) == ("two", ["one"], ["code.py"])
    assert [message.content async for message in channel.history(limit=2)] == ["two", "ann: keep me"]
    await sent.add_reaction("👍")
    await channel.typing()
    assert (shown.reactions, general.typed) == (["👍"], 1)
    await sent.delete()
    await general.gone(shown)


async def test_the_bot_writes_to_a_person_first(server: DiscordServer, echo: EchoBot, bob: User) -> None:
    user = await echo.fetch_user(int(bob.id))
    await user.send("for you alone")
    assert [message.text for message in bob.private.said()] == ["for you alone"]


async def test_rights_follow_roles_and_overwrites(
    server: DiscordServer, echo: EchoBot, ann: User, bob: User, general: Channel
) -> None:
    guild = general.guild
    assert guild is not None
    mods = guild.role("Mods", "manage_messages")
    member = await echo.get_guild(int(guild.id)).fetch_member(int(bob.id))  # type: ignore[union-attr]
    assert not member.guild_permissions.manage_messages
    guild.give(bob, mods)
    await server.gateway.flushed()
    member = await member.guild.fetch_member(member.id)
    channel = echo.get_channel(int(general.id))
    assert isinstance(channel, discord.TextChannel)
    assert channel.permissions_for(member).manage_messages
    general.deny(mods, "manage_messages")
    asked = await bob.slash("/replay list", general)
    assert asked.json()["member"]["permissions"] == str(general.permissions_of(bob))
    await asked.seen("page 1")
    assert not channel.permissions_for(member).manage_messages


async def test_members_come_and_go(server: DiscordServer, echo: EchoBot, general: Channel) -> None:
    assert general.guild is not None
    eve = server.user("eve")
    await eve.join(general.guild)
    await eve.say("here I am", general)
    await general.seen("eve: here I am")
    found = await echo.get_guild(int(general.guild.id)).query_members("ev")  # type: ignore[union-attr]
    assert [member.name for member in found] == ["eve"]
    await eve.leave(general.guild)
    with pytest.raises(ClientRefused):
        await eve.say("gone", general)


async def test_other_bots_and_webhooks_are_told_apart(server: DiscordServer, echo: EchoBot, general: Channel) -> None:
    assert general.guild is not None
    poll = server.other_bot("poll")
    general.guild.join(poll)
    await poll.say("vote", general)
    await general.seen("poll: vote")
    server.webhook_says("ci", "green", general)
    await general.seen("ci: green")
    authors = {message.author.name: message for message in echo.cached_messages}
    assert authors["poll"].author.bot
    assert authors["ci"].webhook_id is not None


async def test_a_bot_removed_from_a_guild_hears_nothing_there(
    server: DiscordServer, echo: EchoBot, ann: User, general: Channel
) -> None:
    assert general.guild is not None
    general.guild.kick_bot()
    await ann.say("still there?", general)
    await general.no_replies()
    assert echo.heard == []
    general.guild.add_bot()
    await ann.say("welcome back", general)
    await general.seen("welcome back")
