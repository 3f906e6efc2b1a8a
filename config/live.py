"""Settings while the service runs: what is in force, what the page may change, and what waits for a restart.

Keys of `time_travel`, the rules of `access` and `chat` are read anew at each use and take effect at
once; the others are read at start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from turnback.config.forms import FormField, kind_of
from turnback.config.keys import HIDDEN, KEYS, Key, nearest
from turnback.config.loading import Loaded, SettingsError, variable_of
from turnback.config.sections import Settings
from turnback.core.errors import Forbidden, InvalidRequest, Refusal
from turnback.core.models import Action, Actor, AuditEntry, Outcome

LIVE_SECTIONS = frozenset({"time_travel", "access", "chat"})
"""Sections that are read anew at each use."""

FILE_ONLY = frozenset({"storage.path", "storage.url", "storage.durability", "agent.shell"})
"""What the page may not change: where its own data lies, and whether the agent gets a shell."""


class SettingsStore(Protocol):
    """Where the page's changes are kept (the thread store)."""

    async def settings(self) -> Mapping[str, Any]: ...
    async def set_settings(self, changes: Mapping[str, Any], audit: AuditEntry) -> None: ...
    async def audit(self, entry: AuditEntry) -> None: ...


async def _nothing(_: Settings) -> None:
    """Nobody wants to know."""


class LiveSettings:
    """The settings of a running service. `changed` is told of every change, before whoever made it is answered."""

    def __init__(
        self,
        loaded: Loaded,
        store: SettingsStore,
        clock: Callable[[], datetime],
        changed: Callable[[Settings], Awaitable[None]] = _nothing,
    ) -> None:
        self._started = loaded
        self._loaded = loaded
        self._store = store
        self._clock = clock
        self._changed = changed
        self._lock = asyncio.Lock()
        self._overrides: dict[str, Any] = {
            f"{section}.{name}": value
            for source, layer in loaded.layers
            if source == "page"
            for section, values in layer.items()
            for name, value in values.items()
        }

    @property
    def settings(self) -> Settings:
        """As set now; what needs a restart may differ from what runs."""
        return self._loaded.settings

    def rows(self) -> list[dict[str, Any]]:
        """One per key: key, value, running, source, default, restart_needed, help."""
        return [self._row(key) for key in KEYS.values()]

    def fields(self) -> list[FormField]:
        """One per key, as a form shows it."""
        return [self._form_field(key) for key in KEYS.values()]

    def read(self, name: str, text: str) -> Any:
        """What a person who typed `text` for a key means; text that means nothing stays as it is."""
        return _get_key(name).read(text)

    def problems(self, actor: Actor, changes: Mapping[str, Any]) -> dict[str, str]:
        """Why `change` would refuse these changes, by key; empty if it would not."""
        found = {}
        for name, value in changes.items():
            try:
                self._check_settable(_get_key(name), value)
            except InvalidRequest as refusal:
                found[name] = refusal.detail
        try:
            self._merged(changes)
        except SettingsError as error:
            # A key that was not changed can be in the way, too: an agent that needs a model.
            found |= {name: words for name, words in error.by_key.items() if name not in found}
        if changes and not actor.admin:
            return dict.fromkeys(changes, Forbidden().detail)
        return found

    async def change(self, actor: Actor, changes: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Set keys from now on; None takes the page's own value back. All or nothing; answers the rows changed.

        Raises Forbidden and InvalidRequest; then the old values stand.
        """
        async with self._lock:
            try:
                overrides, loaded = self._checked(actor, changes)
            except Refusal as refusal:
                await self._store.audit(self._entry(actor, Outcome.REFUSED, refusal.code))
                raise
            await self._store.set_settings(changes, self._entry(actor, Outcome.DONE, None))
            self._overrides, self._loaded = overrides, loaded
            await self._changed(self.settings)
        return [self._row(KEYS[name]) for name in changes]

    async def change_text(self, actor: Actor, name: str, text: str) -> dict[str, Any]:
        """`change` of one key with the value as somebody typed it."""
        key = _get_key(name)
        (row,) = await self.change(actor, {name: key.read(text)})
        return row

    def _checked(self, actor: Actor, changes: Mapping[str, Any]) -> tuple[dict[str, Any], Loaded]:
        if not actor.admin:
            raise Forbidden("Only an admin may change settings.")
        if not changes:
            raise InvalidRequest("Name at least one setting to change.")
        for name, value in changes.items():
            self._check_settable(_get_key(name), value)
        try:
            return self._merged(changes)
        except SettingsError as error:
            raise InvalidRequest("; ".join(line.removeprefix("page: ") for line in error.lines)) from None

    def _merged(self, changes: Mapping[str, Any]) -> tuple[dict[str, Any], Loaded]:
        overrides = {**self._overrides, **changes}
        overrides = {name: value for name, value in overrides.items() if value is not None}
        return overrides, self._loaded.with_page(overrides)

    def _check_settable(self, key: Key, value: Any) -> None:
        locked = self._never_here(key) or (self._overridden(key) if value is not None else None)
        if locked:
            raise InvalidRequest(locked)
        if key.secret and value == HIDDEN:
            raise InvalidRequest(f"{key}: that is what is shown instead of a secret, not one.")
        if str(key) == "agent.kind" and isinstance(value, str) and ":" in value:
            raise InvalidRequest("An agent of your own (module:attribute) can be named in the settings file only.")

    @staticmethod
    def _never_here(key: Key) -> str | None:
        """Why the page may never set a key."""
        if str(key) in FILE_ONLY:
            return f"{key} can be set in the settings file and the environment only."
        return None if key.built else f"{key} is not in this version yet."

    def _overridden(self, key: Key) -> str | None:
        """Why the page cannot set a key now."""
        source = self._loaded.source(str(key))
        if source in ("environment", "command line"):
            return f"{key} is set by the {source}, which wins over the page."
        return None

    def _form_field(self, key: Key) -> FormField:
        row = self._row(key)
        return FormField(
            key=str(key),
            kind=kind_of(key),
            value=row["value"],
            running=row["running"],
            default=row["default"],
            source=row["source"],
            choices=key.choices,
            allowed=key.allowed(),
            help=key.help,
            live=key.section in LIVE_SECTIONS,
            restart_needed=row["restart_needed"],
            locked=self._never_here(key) or self._overridden(key),
            variable=variable_of(str(key)),
        )

    def _row(self, key: Key) -> dict[str, Any]:
        value = self._loaded.value(str(key))
        running = value if key.section in LIVE_SECTIONS else self._started.value(str(key))
        return {
            "key": str(key),
            "value": key.show(value),
            "running": key.show(running),
            "source": self._loaded.source(str(key)),
            "default": key.show(key.default),
            "restart_needed": value != running,
            "help": key.help,
        }

    def _entry(self, actor: Actor, outcome: Outcome, code: str | None) -> AuditEntry:
        return AuditEntry(
            at=self._clock(),
            account=actor.account,
            actor=actor.identity or actor.name,
            surface=actor.surface,
            action=Action.SETTINGS,
            outcome=outcome,
            code=code,
        )


def _get_key(name: str) -> Key:
    if name not in KEYS:
        near = nearest(name)
        raise InvalidRequest(f"There is no setting {name}" + (f"; did you mean {near}?" if near else "."))
    return KEYS[name]
