"""Where people write: direct chats, channels, threads, forums; who is heard there, and who may do what."""

from __future__ import annotations

from pathlib import Path

from platforms.discord.channels import Channel
from platforms.discord.guilds import Guild
from platforms.discord.people import User
from platforms.discord.server import DiscordServer
from support.discord_acts import step_of, talk
from support.discord_bot import Bot, discord_bot
from support.idling import idle


async def test_channel_hears_mentions_and_replies_and_nothing_else(
    bot: Bot, discord: DiscordServer, ann: User, bob: User, general: Channel
) -> None:
    await ann.say("hello everybody", general)
    await general.no_replies()
    answer = await talk(ann, general, "one")
    await bob.say("two", general, reply_to=answer)
    await general.seen("You said: two")
    assert await bot.texts(general) == ["one", "You said: one", "two", "You said: two"]


async def test_answer_in_a_channel_is_a_reply_that_pings_nobody(bot: Bot, ann: User, general: Channel) -> None:
    answer = await talk(ann, general, "one")
    assert answer.reply_to is not None
    assert answer.reply_to.author is ann
    assert answer.pings == frozenset()


async def test_agent_that_names_everybody_pings_nobody(bot: Bot, ann: User, bob: User, general: Channel) -> None:
    answer = await talk(ann, general, "@everyone <@&1>")
    assert "@everyone" in answer.text
    assert answer.pings == frozenset()


async def test_mention_of_the_bots_own_role_speaks_to_it(
    bot: Bot, discord: DiscordServer, ann: User, guild: Guild, general: Channel
) -> None:
    await ann.say(f"{guild.bot_role.mention} one", general)
    await general.seen("You said: one")


async def test_mention_alone_shows_what_can_be_asked(
    bot: Bot, discord: DiscordServer, ann: User, general: Channel
) -> None:
    await ann.say(f"{discord.bot.mention}", general)
    await general.seen("What you can ask here")


async def test_other_people_have_names_in_what_the_agent_hears(
    bot: Bot, ann: User, bob: User, general: Channel
) -> None:
    await ann.say(f"{general.scene.bot.mention} ask {bob.mention}", general)
    await general.seen("You said: ask @Bob")


async def test_channel_thread_and_direct_chat_are_kept_apart(bot: Bot, ann: User, general: Channel) -> None:
    await talk(ann, general, "in the channel")
    thread = await ann.open_thread("Aside", general)
    await talk(ann, thread, "in the thread")
    await talk(ann, ann.private, "in private")
    threads = {await bot.thread(channel) for channel in (general, thread, ann.private)}
    assert len(threads) == 3
    assert await bot.texts(thread) == ["in the thread", "You said: in the thread"]


async def test_post_of_a_forum_is_a_conversation_of_its_own(bot: Bot, ann: User, guild: Guild) -> None:
    forum = guild.forum("ideas")
    post = await ann.open_post("First", f"{guild.scene.bot.mention} one", forum)
    await post.seen("You said: one")
    await idle(bot)
    await (await ann.slash("/replay list", post)).seen("Turn 1: one")


async def test_fork_here_goes_on_in_a_thread_that_is_the_askers(
    bot: Bot, ann: User, bob: User, general: Channel
) -> None:
    await talk(ann, general, "one", "two")
    await ann.slash("/fork", general, step=await step_of(ann, general, 1), here="true")
    thread = await general.thread_of("⑂")
    await thread.seen("turn 1", since=0)
    await ann.say(f"{general.scene.bot.mention} history", thread)
    await thread.seen("1. one")
    await bob.say(f"{general.scene.bot.mention} mine?", thread)
    await thread.seen("somebody's own")


async def test_fork_here_in_a_thread_opens_one_beside_it(bot: Bot, ann: User, general: Channel) -> None:
    thread = await ann.open_thread("Aside", general)
    await talk(ann, thread, "one")
    await ann.slash("/fork", thread, here="true")
    await (await general.thread_of("⑂")).seen("turn 1", since=0)


async def test_fork_here_from_a_forums_post_opens_a_post(bot: Bot, ann: User, guild: Guild) -> None:
    forum = guild.forum("ideas")
    post = await ann.open_post("First", f"{guild.scene.bot.mention} one", forum)
    await post.seen("You said: one")
    await idle(bot)
    await ann.slash("/fork", post, here="true")
    await (await forum.thread_of("⑂")).seen("turn 1", since=0)


async def test_fork_here_in_a_direct_chat_says_that_it_cannot(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one")
    await (await ann.slash("/fork", here="true")).seen("here")
    assert await bot.texts(ann.private) == ["one", "You said: one"]


async def test_fork_here_without_the_right_to_open_threads_says_so(
    bot: Bot, ann: User, guild: Guild, general: Channel
) -> None:
    await talk(ann, general, "one")
    general.deny(guild.everyone, "create_public_threads")
    shown = await (await ann.slash("/fork", general, here="true")).seen("Forked")
    assert "thread" not in {channel.name for channel in guild.channels}
    assert "here" in shown.text


async def test_only_who_may_goes_back_in_a_channel(
    bot: Bot, ann: User, bob: User, guild: Guild, general: Channel
) -> None:
    await talk(ann, general, "one", "two")
    await (await bob.slash("/replay list", general)).seen("Steps of this chat")
    await (await bob.slash("/undo", general)).seen("may")
    guild.give(bob, guild.role("Moderators", "manage_messages"))
    await (await bob.slash("/undo", general)).seen("(by Bob)")


async def test_rights_of_who_writes_words_are_those_of_the_channel(
    bot: Bot, ann: User, bob: User, guild: Guild, general: Channel
) -> None:
    await talk(ann, general, "one", "two")
    await bob.say(f"{guild.scene.bot.mention} undo", general)
    await general.seen("may")
    general.allow(bob, "manage_messages")
    await bob.say(f"{guild.scene.bot.mention} undo", general)
    await general.seen("(by Bob)")


async def test_guild_may_be_let_in_as_a_whole(discord: DiscordServer, ann: User, bob: User, tmp_path: Path) -> None:
    ours, theirs = discord.guild("Ours", [ann]), discord.guild("Theirs", [bob])
    async with discord_bot(tmp_path, discord, allow=(f"discord:guild:{ours.id}",)):
        await talk(ann, ours.channel("general"), "one")
        elsewhere = theirs.channel("general")
        await bob.say(f"{discord.bot.mention} one", elsewhere)
        await elsewhere.seen(f"discord:{bob.id}")


async def test_who_is_in_a_guild_that_is_let_in_may_use_their_direct_chat(
    discord: DiscordServer, ann: User, bob: User, tmp_path: Path
) -> None:
    ours = discord.guild("Ours", [ann])
    async with discord_bot(tmp_path, discord, allow=(f"discord:guild:{ours.id}",)):
        await discord.registered("help")
        await talk(ann, ann.private, "one")
        listed = await (await ann.slash("/replay list")).seen("Steps of this chat")
        await (await ann.select("Turn 1, step 1", listed)).seen("Asked:")
        assert [choice.value for choice in await ann.autocomplete("/replay show", step="")]
        await bob.say("one")
        await bob.private.seen(f"discord:{bob.id}")


async def test_stranger_in_a_direct_chat_is_told_the_name_to_give(
    discord: DiscordServer, ann: User, tmp_path: Path
) -> None:
    async with discord_bot(tmp_path, discord, allow=()):
        await ann.say("hello")
        await ann.private.seen(f"discord:{ann.id}")


async def test_closed_direct_chat_does_not_stop_a_turn(bot: Bot, ann: User) -> None:
    await ann.say("slow 1")
    await ann.private.signal.until(lambda: ann.private.typed, lambda: "typing")
    await ann.block_bot()
    await idle(bot)
    assert (await bot.texts(ann.private))[-1] == "slept 1"


async def test_message_whose_channel_is_gone_breaks_nothing(bot: Bot, ann: User, general: Channel) -> None:
    await ann.say(f"{general.scene.bot.mention} slow 1", general)
    await general.signal.until(lambda: general.typed, lambda: "typing")
    general.delete()
    await idle(bot)
    await talk(ann, ann.private, "still here")


async def test_without_the_intent_replies_with_a_ping_are_heard_and_others_get_a_hint(
    ann: User, tmp_path: Path, discord: DiscordServer, general: Channel, capsys: object
) -> None:
    discord.gateway.privileged.clear()
    async with discord_bot(tmp_path, discord):
        assert not discord.gateway.intents & (1 << 15)
        answer = await talk(ann, general, "one")
        await ann.say("two", general, reply_to=answer)
        await general.seen("You said: two")
        await ann.say("three", general, reply_to=answer, ping=False)
        await general.seen("Message Content")
        await ann.say("to somebody else", general)
        await general.no_replies()
        await talk(ann, ann.private, "four")


async def test_intent_is_asked_for_where_the_portal_allows_it(
    bot: Bot, discord: DiscordServer, ann: User, general: Channel
) -> None:
    assert discord.gateway.intents & (1 << 15)
    answer = await talk(ann, general, "one")
    await ann.say("three", general, reply_to=answer, ping=False)
    await general.seen("You said: three")
