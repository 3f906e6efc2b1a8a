"""Everything once: copies, retries, changes, late answers, restarts."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from platforms.slack.channels import Channel
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.idling import idle
from support.slack_bot import Bot, slack_bot

from turnback.core.models import Surface


async def test_event_that_comes_again_starts_nothing(bot: Bot, ann: User, slack: SlackServer) -> None:
    await ann.say("one")
    await ann.private.seen("You said: one")
    for _ in range(2):
        slack.redeliver()
    await slack.deliveries.settled()
    assert await bot.texts(ann.private.id) == ["one", "You said: one"]
    assert len(ann.private.said()) == 1


async def test_same_message_under_other_event_ids_starts_nothing(bot: Bot, ann: User, slack: SlackServer) -> None:
    await ann.say("one")
    event = slack.deliveries.history[-1]
    for _ in range(3):
        slack.redeliver(event, anew=True)
    await ann.private.seen("You said: one")
    await slack.deliveries.settled()
    assert await bot.texts(ann.private.id) == ["one", "You said: one"]


async def test_changed_and_deleted_messages_start_nothing(bot: Bot, ann: User) -> None:
    message = await ann.say("one")
    await ann.private.seen("You said: one")
    await ann.edit(message, "two")
    await ann.private.no_replies()
    await ann.delete(message)
    await ann.private.no_replies()
    assert await bot.texts(ann.private.id) == ["one", "You said: one"]


async def test_command_is_acknowledged_though_the_store_is_stuck(
    bot: Bot, ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = asyncio.Event()
    claim = bot.service.threads.claim

    async def slow_claim(*args: object) -> bool:
        await stuck.wait()
        return await claim(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(bot.service.threads, "claim", slow_claim)
    await (await ann.command("/help")).answered(seconds=1)
    stuck.set()
    await ann.private.seen("/replay restore STEP")


async def test_same_fork_asked_for_twice_makes_one_chat(bot: Bot, ann: User) -> None:
    await ann.say("one")
    await ann.private.seen("You said: one")
    await idle(bot)
    for _ in range(2):
        await ann.command("/fork")
        await ann.private.seen(re.compile("Forked turn 1|That fork"))
    assert len(await bot.service.threads.list_threads(None)) == 2


async def test_message_that_was_claimed_but_never_begun_runs_at_the_next_start(
    slack: SlackServer, ann: User, tmp_path: Path
) -> None:
    async with slack_bot(tmp_path, slack) as bot:
        await ann.say("one")
        await ann.private.seen("You said: one")
        event = next(e for e in slack.deliveries.history if e.payload["event"].get("text") == "one").payload
        body = {**event, "event": {**event["event"], "ts": "1700000000.000100", "text": "two"}}
        key = f"{slack.app.team}:{ann.private.id}:1700000000.000100"
        await bot.service.threads.claim(Surface.SLACK, key, {"kind": "event", "body": body}, datetime.now(UTC))
    async with slack_bot(tmp_path, slack):
        await ann.private.seen("You said: two")


async def test_nothing_that_lets_others_answer_is_kept(bot: Bot, ann: User, slack: SlackServer, tmp_path: Path) -> None:
    await ann.command("/help")
    await ann.private.seen("/replay restore STEP")
    given = next(d.payload for d in slack.deliveries.history if d.kind == "slash_commands")
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())
    assert given["response_url"].encode() not in kept
    assert b"/help" in kept


async def test_answer_that_is_refused_by_its_address_comes_another_way(
    bot: Bot, ann: User, slack: SlackServer, general: Channel
) -> None:
    await ann.say("one")
    await ann.private.seen("You said: one")
    slack.fail_next("response_url", 500, times=5)
    await ann.command(f"/switch {await bot.thread(ann.private.id)}", general)
    await general.seen("Switch to it in a private chat.")
    assert len(general.said()) == 1


async def test_answer_in_the_direct_chat_is_a_message_that_can_be_changed(
    bot: Bot, ann: User, slack: SlackServer
) -> None:
    await ann.command("/help")
    await ann.private.seen("/replay restore STEP")
    assert slack.calls_to("response_url") == []


async def test_private_answer_whose_address_is_refused_stays_private(
    bot: Bot, ann: User, slack: SlackServer, general: Channel
) -> None:
    slack.fail_next("response_url", 404)
    await ann.command("/web", general)
    shown = await general.seen(lambda message: bool(message.buttons))
    assert shown.only_for == ann.id


async def test_private_answer_that_cannot_be_whispered_comes_in_the_direct_chat(
    bot: Bot, ann: User, slack: SlackServer
) -> None:
    elsewhere = slack.channel("elsewhere", [ann], private=True, bot=False)
    slack.fail_next("response_url", 404, times=2)
    await ann.command("/web", elsewhere)
    await ann.private.seen(lambda message: bool(message.buttons), since=0)
    assert elsewhere.said() == []


async def test_links_that_slack_made_are_undone(bot: Bot, ann: User, slack: SlackServer, general: Channel) -> None:
    root = await ann.mention("open main.py and mail ana@example.org & <b>", general)
    await general.seen("You said: open main.py and mail ana@example.org & <b>", thread=root)
    await ann.say("!replay compare 3fa9c1d2.py 77b0aa01", general, thread=root)
    shown = await general.seen("3fa9c1d2.py", thread=root)
    assert "http" not in shown.text
    await ann.mention("see https://host/replay?thread=a&b=c", general, thread=root)
    await general.seen("You said: see https://host/replay?thread=a&b=c", thread=root)
