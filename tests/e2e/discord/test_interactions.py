"""Commands, buttons, forms and choices: deferred first, private where they must be, and within their token's time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from platforms.discord.channels import Channel
from platforms.discord.guilds import Guild
from platforms.discord.interactions import Answer
from platforms.discord.people import User
from platforms.discord.server import DiscordServer
from support.discord_acts import opened, step_of, talk
from support.discord_bot import Bot, discord_bot

from turnback.core.models import Action, Outcome


async def done(bot: Bot, action: Action) -> int:
    """How often something was done."""
    trail = await bot.service.threads.audit_trail()
    return sum(e.action is action and e.outcome is Outcome.DONE for e in trail)


async def test_command_is_deferred_before_the_store_is_asked(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one", "two")
    step = await step_of(ann, ann.private, 1)
    held = asyncio.Event()
    claim = bot.service.threads.claim

    async def busy(*args: Any, **named: Any) -> bool:
        await held.wait()
        return await claim(*args, **named)

    bot.service.threads.claim = busy  # type: ignore[method-assign]
    asked = await ann.slash("/replay restore", step=step)
    assert await asked.answered() is Answer.DEFERRED
    assert await done(bot, Action.RESTORE) == 0
    held.set()
    shown = await asked.seen("Back at turn 1")
    assert shown is asked.original


async def test_restore_that_was_deferred_too_late_is_not_done(bot: Bot, discord: DiscordServer, ann: User) -> None:
    await talk(ann, ann.private, "one", "two")
    step = await step_of(ann, ann.private, 1)
    discord.fail_next("POST /interactions/*/callback", 404)
    asked = await ann.slash("/replay restore", step=step)
    await discord.arrived(f"POST /interactions/{asked.id}/TOKEN/callback")
    await ann.private.no_replies()
    assert await done(bot, Action.RESTORE) == 0
    assert await bot.texts(ann.private) == ["one", "You said: one", "two", "You said: two"]


async def test_answer_after_the_tokens_time_is_a_message(bot: Bot, discord: DiscordServer, ann: User) -> None:
    await talk(ann, ann.private, "one", "two")
    discord.fail_next("PATCH /webhooks/*", 401)
    await ann.slash("/replay list")
    assert (await ann.private.seen("Steps of this chat")).text.count("Turn") >= 2
    assert bot.presenter.is_connected("discord")
    await talk(ann, ann.private, "three")


async def test_turn_that_outlives_the_token_is_answered_by_a_message(
    bot: Bot, discord: DiscordServer, ann: User
) -> None:
    await ann.say("slow 1")
    stopping = await ann.slash("/replay list")
    await stopping.answered()
    discord.clock.advance(16 * 60)
    await ann.private.seen("slept 1", since=0)
    assert bot.presenter.is_connected("discord")


async def test_button_of_an_old_list_works(bot: Bot, discord: DiscordServer, ann: User) -> None:
    await ann.say("steps 25")
    await ann.private.seen("done 25")
    listed = await (await ann.slash("/replay list", page=2)).seen("page 2 of")
    discord.clock.advance(20 * 60)
    await ann.press("Page 1", listed)
    assert await ann.private.seen("page 1 of") is listed


async def test_command_that_cannot_be_written_down_says_so_and_does_nothing(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one")

    async def broken(*_: object) -> bool:
        raise OSError("disk full")

    bot.service.threads.claim = broken  # type: ignore[method-assign, assignment]
    await (await ann.slash("/undo")).seen("nothing was done")
    assert await bot.texts(ann.private) == ["one", "You said: one"]


async def test_private_answer_after_the_tokens_time_goes_to_the_direct_chat(
    bot: Bot, discord: DiscordServer, ann: User, general: Channel
) -> None:
    discord.fail_next("PATCH /webhooks/*", 401)
    await ann.slash("/web", general)
    await ann.private.seen("signs you in", since=0)
    assert general.said() == []


@pytest.mark.parametrize("command", ["/web", "/chats"])
async def test_what_is_private_only_the_asker_sees(bot: Bot, ann: User, general: Channel, command: str) -> None:
    await talk(ann, general, "one")
    shown = (await (await ann.slash(command, general)).replies())[-1]
    assert shown.ephemeral
    assert shown.visible_to is ann


async def test_what_is_private_and_was_asked_in_words_goes_to_the_direct_chat(
    bot: Bot, ann: User, general: Channel
) -> None:
    await ann.say(f"{general.scene.bot.mention} /web", general)
    assert "direct chat" in (await general.seen("for your eyes only")).text
    await ann.private.seen("signs you in", since=0)


async def test_press_on_a_private_message_is_answered_privately(bot: Bot, ann: User, general: Channel) -> None:
    await talk(ann, general, "one")
    await talk(ann, ann.private, "mine")
    shown = await (await ann.slash("/chats", general)).seen("Your chats")
    asked = await ann.select(shown.selects[0].options[0], shown)
    assert all(message.ephemeral for message in await asked.replies())


async def test_steps_are_offered_newest_first_with_what_tells_them_apart(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one", "two")
    step = await step_of(ann, ann.private, 1)
    await ann.slash("/replay name", step=step, label="good")
    await ann.private.seen("★ good")
    offered = await ann.autocomplete("/replay restore", step="")
    assert [choice.name.split(" · ")[0] for choice in offered] == ["→ turn 2, step 1", "turn 1, step 1"]
    assert all(part in offered[1].name for part in (step, "just now", "one", "★ good"))
    assert [choice.value[:8] for choice in await ann.autocomplete("/fork", step="good")] == [step]
    assert await ann.autocomplete("/replay show", step="nothing like that") == []


async def test_no_more_steps_are_offered_than_discord_takes(bot: Bot, ann: User) -> None:
    for count in (19, 18):
        await ann.say(f"steps {count}")
        await ann.private.seen(f"done {count}")
    offered = await ann.autocomplete("/replay compare", a="")
    assert len(offered) == 25


async def test_offered_step_can_be_restored(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one", "two")
    choice = (await ann.autocomplete("/replay restore", step="turn 1"))[0]
    await (await ann.slash("/replay restore", step=choice.value)).seen("Back at turn 1")


async def test_strangers_are_offered_nothing(discord: DiscordServer, ann: User, bob: User, tmp_path: Path) -> None:
    general = discord.guild("Team", [ann, bob]).channel("general")
    async with discord_bot(tmp_path, discord, allow=(f"discord:{ann.id}",)):
        await discord.registered("help")
        await talk(ann, general, "one")
        assert len(await ann.autocomplete("/replay show", general, step="")) == 1
        assert await bob.autocomplete("/replay show", general, step="") == []
        await (await bob.slash("/replay list", general)).seen(f"discord:{bob.id}")


async def test_list_offers_each_step_within_the_limits(bot: Bot, ann: User) -> None:
    await ann.say("steps 25")
    await ann.private.seen("done 25")
    shown = await (await ann.slash("/replay list", page=1)).seen("page 1 of")
    assert 0 < len(shown.selects[0].options) <= 25
    assert len(shown.text) <= 2000


async def test_page_button_turns_the_page_in_place(bot: Bot, ann: User) -> None:
    await ann.say("steps 25")
    await ann.private.seen("done 25")
    shown = await (await ann.slash("/replay list", page=2)).seen("page 2 of")
    asked = await ann.press("Page 1", shown)
    assert await ann.private.seen("page 1 of") is shown
    assert await asked.answered() is Answer.DEFERRED_UPDATE


async def test_opened_step_can_be_restored_forked_compared(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one", "two")
    shown = await opened(ann, ann.private)
    await (await ann.press("Compare", shown)).seen("in common")
    await (await ann.press("Fork", shown)).seen("Forked turn 1")
    await (await ann.press("Restore", shown)).seen("Back at turn 1, step 1")
    assert await bot.texts(ann.private) == ["one", "You said: one"]


async def test_label_button_opens_a_form_and_what_is_sent_names_the_step(
    discord: DiscordServer, ann: User, tmp_path: Path
) -> None:
    async with discord_bot(tmp_path, discord):
        await discord.registered("help")
        await talk(ann, ann.private, "one")
        asked = await ann.press("Label", await opened(ann, ann.private))
        form = await asked.opened()
        assert form.title == "Label"
    async with discord_bot(tmp_path, discord) as bot:  # the form is known after a restart, too
        filled = await ann.submit(asked, {"A name for this step, in one word": "first-try"})
        await filled.seen("★ first-try")
        assert await bot.texts(ann.private) == ["one", "You said: one"]


async def test_button_and_choice_of_before_a_restart_work(discord: DiscordServer, ann: User, tmp_path: Path) -> None:
    async with discord_bot(tmp_path, discord):
        await discord.registered("help")
        await talk(ann, ann.private, "one", "two")
        listed = await (await ann.slash("/replay list")).seen("Steps of this chat")
        step = await opened(ann, ann.private)
    async with discord_bot(tmp_path, discord):
        await (await ann.press("Restore", step)).seen("Back at turn 1, step 1")
        await (await ann.select("Turn 2, step 1", listed)).seen("Asked: two")


async def test_clear_asks_and_only_who_was_asked_may_answer(bot: Bot, ann: User, bob: User, general: Channel) -> None:
    await talk(ann, general, "one")
    question = await (await ann.slash("/replay clear", general)).seen("Delete the 1 step")
    await (await bob.press("Delete 1 step", question)).seen("Only Ann may answer that")
    await ann.press("Delete 1 step", question)
    assert await general.seen("Deleted 1 step") is question
    assert not question.buttons


async def test_rights_are_asked_anew_at_every_press(
    bot: Bot, ann: User, bob: User, guild: Guild, general: Channel
) -> None:
    await talk(ann, general, "one", "two")
    moderators = guild.role("Moderators", "manage_messages")
    shown = await opened(ann, general)
    await (await bob.press("Restore", shown)).seen("may")
    assert await done(bot, Action.RESTORE) == 0
    guild.give(bob, moderators)
    await (await bob.press("Restore", shown)).seen("Back at turn 1")
    guild.take(bob, moderators)
    await (await bob.press("Restore", shown)).seen("may")
    assert await done(bot, Action.RESTORE) == 1


async def test_approval_is_decided_on_its_card(bot: Bot, ann: User) -> None:
    await ann.say("shell echo four-''two")
    card = await ann.private.seen("Approval needed: run\\_command")
    asked = await ann.press("Approve", card)
    await ann.private.seen("four-two")
    assert await asked.answered() is Answer.DEFERRED_UPDATE
    assert card.text.startswith("Approved by Ann")
    assert not card.buttons


async def test_every_command_of_the_catalogue_is_answered(bot: Bot, ann: User) -> None:
    await talk(ann, ann.private, "one")
    step = await step_of(ann, ann.private, 1)
    for command, options, told in (
        ("/replay show", {"step": step}, "Asked: one"),
        ("/replay tree", {}, "All steps"),
        ("/replay compare", {"a": step}, "same"),
        ("/memory list", {}, "Nothing is remembered"),
        ("/help", {}, "What you can ask here"),
        ("/stop", {}, "Nothing is running"),
        ("/undo", {"n": 1}, "Took 1 turn back"),
        ("/redo", {}, "Now at turn 1"),
        ("/reset", {}, "again"),
        ("/retention", {}, "admin"),
        ("/switch", {"chat": "abcd"}, "no such chat"),
        ("/fork", {"step": step, "here": "true"}, "here"),
        ("/delete", {}, "Delete"),
    ):
        await (await ann.slash(command, **options)).replies()
        shown = [message.text for message in ann.private.said()][-1]
        assert told.lower() in shown.lower(), f"{command}: {shown}"
