"""The command menus that a bot sets, by scope and language, and which of them a person sees.

https://core.telegram.org/bots/api#determining-list-of-commands
"""

from __future__ import annotations

from collections.abc import Iterator

from platforms.core import Json
from platforms.telegram.refusals import wrong

_OF_A_CHAT = ("chat", "chat_administrators", "chat_member")
SCOPES = frozenset(("default", "all_private_chats", "all_group_chats", "all_chat_administrators", *_OF_A_CHAT))

Key = tuple[str, int, int, str]
"""Scope, chat, user, language; 0 and "" where there is none."""


class Menus:
    """Commands by scope."""

    def __init__(self) -> None:
        self._lists: dict[Key, list[Json]] = {}

    def put(self, scope: object, language: str, commands: list[Json]) -> None:
        self._lists[_key(scope, language)] = commands

    def get(self, scope: object, language: str) -> list[Json]:
        return self._lists.get(_key(scope, language), [])

    def drop(self, scope: object, language: str) -> None:
        self._lists.pop(_key(scope, language), None)

    def seen_by(self, user_id: int, language: str, chat_id: int, *, private: bool, admin: bool) -> list[Json]:
        """The menu in front of that person in that chat: of all that fit, the narrowest."""
        for scope in _narrowest_first(user_id, chat_id, private=private, admin=admin):
            for spoken in (language, ""):
                if (*scope, spoken) in self._lists:
                    return self._lists[(*scope, spoken)]
        return []


def _narrowest_first(user_id: int, chat_id: int, *, private: bool, admin: bool) -> Iterator[tuple[str, int, int]]:
    if private:
        yield "chat", chat_id, 0
        yield "all_private_chats", 0, 0
    else:
        yield "chat_member", chat_id, user_id
        if admin:
            yield "chat_administrators", chat_id, 0
        yield "chat", chat_id, 0
        if admin:
            yield "all_chat_administrators", 0, 0
        yield "all_group_chats", 0, 0
    yield "default", 0, 0


def _key(scope: object, language: str) -> Key:
    scope = scope or {"type": "default"}
    if not isinstance(scope, dict) or scope.get("type") not in SCOPES:
        raise wrong("can't parse BotCommandScope: unsupported type specified")
    if language and len(language) != 2:
        raise wrong("invalid language code specified")
    kind = scope["type"]
    if kind in _OF_A_CHAT and not scope.get("chat_id"):
        raise wrong("can't parse BotCommandScope: chat_id is not specified")
    if kind == "chat_member" and not scope.get("user_id"):
        raise wrong("can't parse BotCommandScope: user_id is not specified")
    chat_id = int(scope["chat_id"]) if kind in _OF_A_CHAT else 0
    return kind, chat_id, int(scope["user_id"]) if kind == "chat_member" else 0, language
