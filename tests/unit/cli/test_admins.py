"""Who is an admin of a service: by its settings, or in their own right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from turnback.cli.compose import Composed, running
from turnback.config import load
from turnback.core.models import AccountId, Actor, Identity, Surface

BOSS = Actor(account=AccountId("boss"), surface=Surface.WEB, admin=True)


def settings(folder: Path, *admins: str) -> Any:
    return load(environment={}, options={"storage.path": str(folder), "access.admins": list(admins)})


async def meet(composed: Composed, name: str, key: str) -> None:
    """Somebody writes to the bot for the first time."""
    account = await composed.service.people.ensure_account(name)
    identity = Identity(surface=Surface.TELEGRAM, user_key=key, account=account.id, name=name)
    await composed.service.threads.add_identity(identity)


async def admins(composed: Composed) -> set[str]:
    return {account.name for account in await composed.service.threads.accounts() if account.admin}


async def test_who_is_taken_off_the_setting_is_no_admin_from_the_next_start(tmp_path: Path) -> None:
    async with running(settings(tmp_path), maintain=False) as composed:
        await meet(composed, "ann", "1")
    async with running(settings(tmp_path, "telegram:1", "bob"), maintain=False) as composed:
        assert await admins(composed) == {"ann", "bob"}
    async with running(settings(tmp_path, "bob"), maintain=False) as composed:
        assert await admins(composed) == {"bob"}


async def test_change_of_the_setting_makes_and_unmakes_admins_at_once(tmp_path: Path) -> None:
    page = load(environment={}, options={"storage.path": str(tmp_path)})
    async with running(page, maintain=False) as composed:
        await meet(composed, "ann", "1")
        token = await composed.service.people.create_token(await composed.service.people.ensure_account("ann"))
        for names, expected in ((["telegram:1"], True), ([], False)):
            await composed.live.change(BOSS, {"access.admins": names})
            account = await composed.service.people.authenticate(token, "token")
            assert account is not None
            assert account.admin is expected


async def test_admin_by_the_command_line_is_not_unmade_by_the_setting(tmp_path: Path) -> None:
    async with running(settings(tmp_path, "ann"), maintain=False) as composed:
        await composed.service.people.ensure_account("ann", admin=True)
    async with running(settings(tmp_path), maintain=False) as composed:
        await composed.live.change(BOSS, {"access.group_policy": "anyone"})
        assert await admins(composed) == {"ann"}
