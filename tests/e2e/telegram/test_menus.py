"""The menu of commands in the direct chats of the service's admins."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from platforms.core import Call
from platforms.telegram.people import User
from platforms.telegram.server import TelegramServer
from support.telegram_bot import telegram_bot

from turnback.bots.telegram.adapter import MENU_SECONDS


class Looks:
    """The pauses between two looks at who is an admin, made short."""

    def __init__(self) -> None:
        self._done = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        if seconds == MENU_SECONDS:
            self._done.release()
        await asyncio.sleep(min(seconds, 0.02))

    async def some_more(self) -> None:
        """Wait until there were three more."""
        self._done = asyncio.Semaphore(0)
        async with asyncio.timeout(20):
            for _ in range(3):
                await self._done.acquire()


@pytest.fixture
def looks() -> Looks:
    return Looks()


async def offered(telegram: TelegramServer, user: User, *, retention: bool = True) -> None:
    """Wait until somebody's menu in their direct chat has `/retention`, or has not."""
    await telegram.signal.until(
        lambda: ("retention" in user.menu()) is retention and "replay" in user.menu(), lambda: f"{user.menu()}"
    )


def calls(telegram: TelegramServer, method: str, user: User) -> list[Call]:
    """The calls that are about somebody's direct chat."""
    return [call for call in telegram.calls_to(method) if str(user.id) in str(call.params.get("scope"))]


async def test_admin_is_offered_what_is_for_admins_and_others_are_not(
    telegram: TelegramServer, ann: User, bob: User, tmp_path: Path, looks: Looks
) -> None:
    async with telegram_bot(tmp_path, telegram, admins=[f"telegram:{ann.id}"], sleep=looks.sleep):
        for user in (ann, bob):
            await user.say("/start")
            await user.private.seen("What you can ask here")
        await offered(telegram, ann)
        assert "retention" not in bob.menu()
        assert {"reset", "web", "help"} <= set(ann.menu())


async def test_admin_by_the_command_line_is_offered_it_and_loses_it_with_the_right(
    telegram: TelegramServer, ann: User, tmp_path: Path, looks: Looks
) -> None:
    async with telegram_bot(tmp_path, telegram, sleep=looks.sleep) as bot:
        await ann.say("/start")
        await ann.private.seen("What you can ask here")
        [account] = await bot.service.threads.accounts()
        for admin in (True, False, True):
            await bot.service.threads.set_admin(account.id, admin)
            await offered(telegram, ann, retention=admin)


async def test_admin_no_more_after_a_restart_loses_the_menu(
    telegram: TelegramServer, ann: User, tmp_path: Path, looks: Looks
) -> None:
    async with telegram_bot(tmp_path, telegram, admins=[f"telegram:{ann.id}"], sleep=looks.sleep):
        await ann.say("/start")
        await offered(telegram, ann)
    async with telegram_bot(tmp_path, telegram, sleep=looks.sleep) as bot:
        await bot.service.people.settle_admins([])
        await offered(telegram, ann, retention=False)


async def test_menu_that_is_as_it_should_be_is_not_set_again(
    telegram: TelegramServer, ann: User, tmp_path: Path, looks: Looks
) -> None:
    for _ in range(2):
        async with telegram_bot(tmp_path, telegram, admins=[f"telegram:{ann.id}"], sleep=looks.sleep):
            await ann.say("/start")
            await offered(telegram, ann)
            await telegram.signal.until(lambda: calls(telegram, "getMyCommands", ann), lambda: "a look at the menu")
            await looks.some_more()
    assert len(calls(telegram, "setMyCommands", ann)) == 1
    assert len(calls(telegram, "getMyCommands", ann)) == 2


async def test_admin_who_never_wrote_to_the_bot_is_offered_it_when_they_do(
    telegram: TelegramServer, ann: User, tmp_path: Path, looks: Looks, capsys: pytest.CaptureFixture[str]
) -> None:
    group = telegram.supergroup("Team", [ann])
    async with telegram_bot(tmp_path, telegram, admins=[f"telegram:{ann.id}"], sleep=looks.sleep):
        await ann.command("/replay", group)
        await telegram.signal.until(
            lambda: [call.refused for call in calls(telegram, "getMyCommands", ann)], lambda: "a look at the menu"
        )
        await looks.some_more()
        assert len(calls(telegram, "*MyCommands", ann)) == 1, "what was refused is not asked for again and again"
        await ann.say("/start")
        await offered(telegram, ann)
    assert "menus not set" not in "".join(capsys.readouterr())


async def test_trouble_with_a_menu_is_tried_again_and_stops_nothing(
    telegram: TelegramServer, ann: User, tmp_path: Path, looks: Looks
) -> None:
    async with telegram_bot(tmp_path, telegram, admins=[f"telegram:{ann.id}"], sleep=looks.sleep) as bot:
        await ann.say("/start")
        await offered(telegram, ann)
        telegram.fail_next("deleteMyCommands", 500, times=2)
        await bot.service.people.settle_admins([])
        await offered(telegram, ann, retention=False)
        await ann.say("hello")
        await ann.private.seen("You said: hello")


async def test_group_is_no_direct_chat_even_if_it_is_an_admin(
    telegram: TelegramServer, ann: User, tmp_path: Path, looks: Looks
) -> None:
    group = telegram.supergroup("Team", [ann])
    telegram.promote(ann, group, anonymous=True)
    async with telegram_bot(tmp_path, telegram, admins=[f"telegram:{group.id}"], sleep=looks.sleep):
        await ann.command("/replay", group)
        await group.seen(lambda message: bool(message.text))
        await looks.some_more()
        assert [c for c in telegram.calls_to("*MyCommands") if str(group.id) in str(c.params)] == []
