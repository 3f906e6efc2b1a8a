"""`turnback token` and `turnback login`: ways in, made directly in the data folder, beside a running server too."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from turnback.cli.convert import local_url, with_page
from turnback.cli.options import Config, Data, folder, settings
from turnback.cli.server_file import read_server
from turnback.config import Loaded
from turnback.core.beside import open_people
from turnback.core.people import LOCAL

Account = Annotated[str, typer.Option("--account", help="Name of the account; made if need be.")]
Admin = Annotated[bool, typer.Option("--admin", help="Make the account an admin.")]


def token(
    account: Account = LOCAL,
    admin: Admin = False,
    label: Annotated[str, typer.Option("--label", help="What the token is for.")] = "",
    config: Config = None,
    data: Data = None,
) -> None:
    """Print a new token for API clients, and nothing else."""
    sys.stdout.write(asyncio.run(_token(settings(config, data), account, admin, label)) + "\n")


def login(account: Account = LOCAL, admin: Admin = False, config: Config = None, data: Data = None) -> None:
    """Print a sign-in link that works once, for 10 minutes."""
    sys.stdout.write(asyncio.run(_login(settings(config, data), account, admin)) + "\n")


async def _token(loaded: Loaded, account: str, admin: bool, label: str) -> str:
    name = _name(account)
    async with open_people(folder(loaded)) as people:
        return await people.create_token(await people.ensure_account(name, admin=admin), label)


async def _login(loaded: Loaded, account: str, admin: bool) -> str:
    name, loaded = _name(account), await with_page(loaded)
    async with open_people(folder(loaded)) as people:
        secret = await people.create_link(await people.ensure_account(name, admin=admin))
    return f"{base_url(loaded)}/login?link={secret}"


def base_url(loaded: Loaded) -> str:
    """Where people reach the server: the public address, the running server's, or the one that is set."""
    web = loaded.settings.web
    server = read_server(folder(loaded))
    if web.public_url is not None:
        return web.public_url
    return server.url if server is not None else local_url(web.host, web.port)


def _name(account: str) -> str:
    name = " ".join(account.split())
    if not name or len(name) > 100 or not name.isprintable():
        raise typer.BadParameter("a name has 1 to 100 printable characters", param_hint="--account")
    return name
