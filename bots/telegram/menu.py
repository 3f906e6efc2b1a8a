"""The commands that Telegram offers while people type, for each kind of chat, within its limits."""

from __future__ import annotations

from collections.abc import Sequence

from telegram import (
    Bot,
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllChatAdministrators,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
)

from turnback.bots.commands import CATALOGUE, Usage
from turnback.bots.telegram.markup import shortened

MOST_COMMANDS = 100
DESCRIPTION = 256
MENU_BYTES = 4000
"""About 4 KB for all of one menu: Telegram documents no such limit, but has one."""

_NOT_FOR_ALL = frozenset({"reset", "delete", "memory", "switch", "chats"})
"""What in a group is offered to admins only, who by default are the ones that may. Others can still type it."""


def commands(*, leave_out: frozenset[str] = frozenset()) -> list[BotCommand]:
    """One entry for each first word."""
    words: dict[str, list[Usage]] = {}
    for usage in CATALOGUE:
        if not usage.admin and usage.word not in leave_out:
            words.setdefault(usage.word, []).append(usage)
    menu = [BotCommand(word, _description(usages)) for word, usages in words.items()][:MOST_COMMANDS]
    while sum(len(f"{c.command}{c.description}".encode()) for c in menu) > MENU_BYTES:
        menu.pop()
    return menu


def menus() -> list[tuple[BotCommandScope, list[BotCommand]]]:
    """Which kind of chat gets which menu."""
    return [
        (BotCommandScopeAllPrivateChats(), commands()),
        (BotCommandScopeAllGroupChats(), commands(leave_out=_NOT_FOR_ALL)),
        (BotCommandScopeAllChatAdministrators(), commands()),
    ]


async def offer_commands(bot: Bot) -> None:
    """Set the menus that are not yet as they should be."""
    for scope, wanted in menus():
        if list(await bot.get_my_commands(scope=scope)) != wanted:
            await bot.set_my_commands(wanted, scope=scope)


def _description(usages: Sequence[Usage]) -> str:
    subs = [usage.sub for usage in usages if usage.sub]
    first = usages[0]
    more = [sub for sub in subs if sub != first.sub]
    text = f"{first.does}; also {', '.join(more)}" if more else first.does
    return shortened(text, DESCRIPTION)
