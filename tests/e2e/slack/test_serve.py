"""`turnback serve` as a process of its own: by base URL, through a proxy with nothing patched, and over HTTP."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from platforms.gate import Gate
from platforms.slack.people import User
from platforms.slack.server import SlackServer
from support.servers import Running, serving, turnback
from support.slack_bot import server

ACCESS = {"TURNBACK_ACCESS__ALLOW": '["slack:*"]'}


@asynccontextmanager
async def served(folder: Path, env: Mapping[str, str], *arguments: object) -> AsyncIterator[Running]:
    """A server in a process of its own; its start and end do not hold the loop that Slack's runs in."""
    context = serving(*arguments, cwd=folder, env={**ACCESS, **env})
    running = await asyncio.to_thread(context.__enter__)
    try:
        yield running
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)


def tokens(slack: SlackServer) -> dict[str, str]:
    return {"TURNBACK_SLACK__BOT_TOKEN": slack.bot_token, "TURNBACK_SLACK__APP_TOKEN": slack.app_token}


def by_base_url(slack: SlackServer) -> dict[str, str]:
    return {**tokens(slack), "TURNBACK_SLACK__API_BASE_URL": slack.base_url}


async def test_serve_by_base_url_answers_and_ends_in_time(slack: SlackServer, ann: User, tmp_path: Path) -> None:
    async with served(tmp_path, by_base_url(slack)) as running:
        await slack.connected(seconds=20)
        for text in ("one", "two"):  # once a turn is answered the one before is saved
            await ann.say(text)
            await ann.private.seen(f"You said: {text}", seconds=20)
        await ann.command("/replay list")
        await ann.private.seen("Turn 1: one")
        assert await asyncio.to_thread(running.end) == 0
        log = "".join(running.lines)
        assert slack.bot_token not in log
        assert slack.app_token not in log
        assert "Traceback" not in log


async def test_serve_through_proxy_and_certificate_of_the_environment(tmp_path: Path) -> None:
    async with server(own_hosts=True) as slack, Gate(slack.routes) as gate:
        ann = slack.user("Ann")
        general = slack.channel("general", [ann])
        async with served(tmp_path, {**tokens(slack), **gate.environment()}) as running:
            await slack.connected(seconds=20)
            await ann.send_file("a.txt", b"x", comment="one")
            await ann.private.seen("inbox/a.txt", seconds=20)
            await ann.command("/help", general)
            await general.seen("/replay restore STEP", seconds=20)
            assert await asyncio.to_thread(running.end) == 0
        assert set(gate.reached) == {"slack.com", "hooks.slack.com", "files.slack.com", "wss-primary.slack.com"}
        assert gate.refused == []
        assert slack.violations == []


async def test_serve_killed_and_started_again_answers_every_message_once(
    slack: SlackServer, ann: User, tmp_path: Path
) -> None:
    async with served(tmp_path, by_base_url(slack)) as running:
        await slack.connected(seconds=20)
        await ann.say("one")
        await ann.private.seen("You said: one", seconds=20)
        await ann.say("two")
        await asyncio.to_thread(running.end, signal.SIGKILL)
    await ann.say("three")
    async with served(tmp_path, by_base_url(slack)) as running:
        await ann.private.seen("You said: three", seconds=20)
        await ann.say("history")
        shown = await ann.private.seen("1. one", seconds=20)
        assert shown.text.count("two") <= 1
        assert shown.text.count("three") == 1
        await asyncio.to_thread(running.end)


async def test_serve_over_http_takes_requests_at_the_hook(slack: SlackServer, ann: User, tmp_path: Path) -> None:
    port = _free_port()
    slack.request_url = f"http://127.0.0.1:{port}/hooks/slack"
    env = {
        "TURNBACK_SLACK__BOT_TOKEN": slack.bot_token,
        "TURNBACK_SLACK__SIGNING_SECRET": slack.signing_secret,
        "TURNBACK_SLACK__API_BASE_URL": slack.base_url,
    }
    async with served(tmp_path, env, "--port", port) as running:
        assert await slack.verify_url()
        await ann.say("one")
        await ann.private.seen("You said: one", seconds=20)
        await asyncio.to_thread(running.end)


async def test_check_names_what_is_wrong_with_the_token(slack: SlackServer, tmp_path: Path) -> None:
    env = by_base_url(slack)
    good = await asyncio.to_thread(lambda: turnback("check", cwd=tmp_path, env=env))
    assert "@turnback" in good.stdout
    slack.revoke_token()
    bad = await asyncio.to_thread(lambda: turnback("check", cwd=tmp_path, env=env))
    assert bad.returncode == 1
    assert "slack.bot_token" in bad.stdout
    assert slack.bot_token not in bad.stdout + bad.stderr


async def test_check_says_that_there_is_no_way_in(slack: SlackServer, tmp_path: Path) -> None:
    env = {"TURNBACK_SLACK__BOT_TOKEN": slack.bot_token, "TURNBACK_SLACK__API_BASE_URL": slack.base_url}
    done = await asyncio.to_thread(lambda: turnback("check", cwd=tmp_path, env=env))
    assert "slack.app_token" in done.stdout
    assert done.returncode == 1


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
