"""The commands that Telegram offers while people type, for each kind of chat, within its limits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from telegram import (
    Bot,
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllChatAdministrators,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
)
from telegram.error import BadRequest, Forbidden

from turnback.bots.commands import CATALOGUE, Usage
from turnback.bots.telegram.markup import shortened
from turnback.core.models import Surface
from turnback.core.threads.store import ThreadStore

MOST_COMMANDS = 100
DESCRIPTION = 256
MENU_BYTES = 4000
"""About 4 KB for all of one menu: Telegram documents no such limit, but has one."""

_NOT_FOR_ALL = frozenset({"reset", "delete", "memory", "switch", "chats"})
"""What in a group is offered to admins only, who by default are the ones that may. Others can still type it."""


def commands(*, leave_out: frozenset[str] = frozenset(), admin: bool = False) -> list[BotCommand]:
    """One entry for each first word; `admin`: with those for the service's admins."""
    words: dict[str, list[Usage]] = {}
    for usage in CATALOGUE:
        if (admin or not usage.admin) and usage.word not in leave_out:
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


class AdminMenus:
    """The menus of the service's admins in their direct chats.

    Whose chats have one is written down before they get it, so that it is taken away again whenever they are admins
    no more. Telegram refuses chats that it does not know as ours: of people who never wrote to the bot there.
    """

    def __init__(self, bot: Bot, threads: ThreadStore) -> None:
        self._bot = bot
        self._threads = threads
        self._good: set[str] = set()
        self._refused: set[str] = set()

    def met(self, user: int) -> None:
        """Somebody wrote to the bot in their direct chat, so that Telegram knows it."""
        self._refused.discard(str(user))

    async def look(self) -> None:
        """Set the menus that are not as they should be, and take away those that should not be there.

        Raises TelegramError.
        """
        note = f"telegram.admin_menus.{self._bot.id}"
        admins = {key for key in await self._threads.admins(Surface.TELEGRAM) if key.isdecimal()}  # others are groups
        noted = set((await self._threads.note(note) or "").split())
        if not admins <= noted:
            await self._threads.set_note(note, " ".join(sorted(admins | noted)))
        for user in sorted(admins - self._good - self._refused):
            await self._offer(user)
        for user in sorted(noted - admins):
            await self._take_away(user)
        if not noted <= admins:
            await self._threads.set_note(note, " ".join(sorted(admins)))

    async def _offer(self, user: str) -> None:
        scope, wanted = BotCommandScopeChat(int(user)), commands(admin=True)
        try:
            if list(await self._bot.get_my_commands(scope=scope)) != wanted:
                await self._bot.set_my_commands(wanted, scope=scope)
        except (BadRequest, Forbidden):
            self._refused.add(user)
        else:
            self._good.add(user)

    async def _take_away(self, user: str) -> None:
        self._good.discard(user)
        with suppress(BadRequest, Forbidden):
            await self._bot.delete_my_commands(scope=BotCommandScopeChat(int(user)))


def _description(usages: Sequence[Usage]) -> str:
    subs = [usage.sub for usage in usages if usage.sub]
    first = usages[0]
    more = [sub for sub in subs if sub != first.sub]
    text = f"{first.does}; also {', '.join(more)}" if more else first.does
    return shortened(text, DESCRIPTION)
