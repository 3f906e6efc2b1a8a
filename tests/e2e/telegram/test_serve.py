"""`turnback serve` as a process of its own: by base URL, through a proxy with nothing patched, and by webhook."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from platforms.gate import Gate
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.servers import Running, serving, turnback

ACCESS = {"TURNBACK_ACCESS__ALLOW": '["telegram:*"]'}


@asynccontextmanager
async def served(folder: Path, env: Mapping[str, str], *arguments: object) -> AsyncIterator[Running]:
    """A server in a process of its own; its start and end do not hold the loop that Telegram's runs in."""
    context = serving(*arguments, cwd=folder, env={**ACCESS, **env})
    running = await asyncio.to_thread(context.__enter__)
    try:
        yield running
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)


def by_base_url(telegram: TelegramServer) -> dict[str, str]:
    return {"TURNBACK_TELEGRAM__TOKEN": telegram.token, "TURNBACK_TELEGRAM__API_BASE_URL": telegram.base_url}


async def test_serve_by_base_url_answers_and_ends_in_time(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    async with served(tmp_path, by_base_url(telegram)) as running:
        for text in ("one", "two"):  # once a turn is answered the one before is saved
            await ann.say(text)
            await ann.private.seen(f"You said: {text}", seconds=20)
        await ann.command("/replay list")
        await ann.private.seen("Turn 1: one")
        assert await asyncio.to_thread(running.end) == 0
        assert telegram.token not in "".join(running.lines)
        assert telegram.updates.pending == 0


async def test_serve_through_proxy_and_certificate_of_the_environment(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with Gate({"api.telegram.org": telegram.port}) as gate:
        env = {"TURNBACK_TELEGRAM__TOKEN": telegram.token, **gate.environment()}
        async with served(tmp_path, env) as running:
            await ann.send_document("a.txt", b"x", caption="one")
            await ann.private.seen("inbox/a.txt", seconds=20)
            assert await asyncio.to_thread(running.end) == 0
        assert set(gate.reached) == {"api.telegram.org"}
        assert gate.refused == []


async def test_serve_killed_and_started_again_answers_every_message_once(
    telegram: TelegramServer, ann: User, tmp_path: Path
) -> None:
    async with served(tmp_path, by_base_url(telegram)) as running:
        await ann.say("one")
        await ann.private.seen("You said: one", seconds=20)
        await ann.say("two")
        await asyncio.to_thread(running.end, signal.SIGKILL)
    await ann.say("three")
    async with served(tmp_path, by_base_url(telegram)) as running:
        await ann.private.seen("You said: three", seconds=20)
        await ann.say("history")
        shown = await ann.private.seen("1. one", seconds=20)
        assert [text.count("one") for text in shown.text.splitlines()].count(1) == 1
        assert shown.text.count("two") <= 1
        assert shown.text.count("three") == 1
        await asyncio.to_thread(running.end)


async def test_serve_killed_after_a_group_got_another_id_takes_what_waited_into_the_groups_chat(
    telegram: TelegramServer, ann: User, bob: User, tmp_path: Path
) -> None:
    telegram.bot.privacy = False
    group = telegram.group("Team", [ann, bob])
    async with served(tmp_path, by_base_url(telegram)) as running:
        for text in ("one", "two"):  # once a turn is answered the one before is saved
            await ann.say(f"@turnback_bot {text}", group)
            await group.seen(f"You said: {text}", seconds=20)
        await ann.command("/replay list", group)
        shown = await group.seen("Steps of this chat")
        asked = len(telegram.calls_to("getChatMember"))
        telegram.fail_next("getChatMember", 0, delay=60)
        await bob.press("Turn 1, step 1", shown)
        await telegram.arrived("getChatMember", asked + 1)  # until that is answered nothing more is begun there
        await ann.say("@turnback_bot three", group)
        await telegram.updates.confirmed()
        new = telegram.upgrade(group)
        await telegram.updates.confirmed()
        assert "You said: three" not in "".join(message.text for message in (*group.said(), *new.said()))
        await asyncio.to_thread(running.end, signal.SIGKILL)
    telegram.stop_failing()
    async with served(tmp_path, by_base_url(telegram)) as running:
        await new.seen("You said: three", seconds=20)
        await ann.say("@turnback_bot history", new)
        shown = await new.seen("3. three", seconds=20)
        assert "1. one" in shown.text
        await asyncio.to_thread(running.end)


async def test_serve_by_webhook_takes_updates_at_the_hook(telegram: TelegramServer, ann: User, tmp_path: Path) -> None:
    port = _free_port()
    env = {
        **by_base_url(telegram),
        "TURNBACK_TELEGRAM__WEBHOOK_URL": f"http://127.0.0.1:{port}/hooks/telegram",
        "TURNBACK_TELEGRAM__WEBHOOK_SECRET": "a-secret",
    }
    async with served(tmp_path, env, "--port", port) as running:
        await ann.say("one")
        await ann.private.seen("You said: one", seconds=20)
        assert telegram.calls_to("getUpdates") == []
        assert telegram.updates.webhook.secret == "a-secret"
        await asyncio.to_thread(running.end)
    await ann.say("two")
    async with served(tmp_path, env, "--port", port) as running:
        await ann.private.seen("You said: two", seconds=20)
        await asyncio.to_thread(running.end)
    polling = {**by_base_url(telegram)}
    async with served(tmp_path, polling) as running:
        await ann.say("three")
        await ann.private.seen("You said: three", seconds=20)
        await asyncio.to_thread(running.end)


async def test_check_names_what_is_wrong_with_the_token(telegram: TelegramServer, tmp_path: Path) -> None:
    env = by_base_url(telegram)
    good = await asyncio.to_thread(lambda: turnback("check", cwd=tmp_path, env=env))
    assert "@turnback_bot" in good.stdout
    telegram.revoke_token()
    bad = await asyncio.to_thread(lambda: turnback("check", cwd=tmp_path, env=env))
    assert bad.returncode == 1
    assert "telegram.token" in bad.stdout
    assert telegram.token not in bad.stdout + bad.stderr


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
