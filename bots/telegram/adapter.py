"""The adapter: connects to Telegram, takes updates in by polling or webhook, and lends out its outlet."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime

import structlog
from telegram.error import Conflict, InvalidToken, TelegramError

from turnback.bots.desk import Desk
from turnback.bots.platform import Down
from turnback.bots.presenting import Presenter
from turnback.bots.telegram.client import make_bot
from turnback.bots.telegram.hook import Hook
from turnback.bots.telegram.incoming import Incoming
from turnback.bots.telegram.intake import Intake
from turnback.bots.telegram.menu import AdminMenus, offer_commands
from turnback.bots.telegram.outlet import TelegramOutlet
from turnback.bots.telegram.pacing import Pacer
from turnback.bots.telegram.reading import UPDATES
from turnback.core.errors import Refusal
from turnback.core.models import Surface
from turnback.core.threads.store import ThreadStore

CONFIRM_SECONDS = 1.0

TROUBLE_WAITS = (0.5, 1.0, 2.0, 4.0)
"""Seconds between tries when polling fails; after the last one the operator is told."""

LOOK_SECONDS = 60.0
"""How often we look after a webhook: with it, nobody else tells us that the token was revoked."""

MENU_SECONDS = 20.0
"""How often we look who is an admin now."""

_REFUSED = "Telegram refuses the bot's token: set telegram.token to a valid one (BotFather hands it out)."
_OTHER = "Another program asks Telegram for this bot's updates: stop it, or give each a bot of its own."

_log = structlog.get_logger(__name__)


class TelegramAdapter:
    """See `platform.Adapter`. Without `webhook_url` it polls; `hook` is then never asked."""

    name = Surface.TELEGRAM.value

    def __init__(
        self,
        token: str,
        threads: ThreadStore,
        *,
        api_base_url: str | None = None,
        webhook_url: str | None = None,
        webhook_secret: str | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        pacer: Pacer | None = None,
    ) -> None:
        self.bot = make_bot(token, api_base_url, pacer or Pacer())
        self.outlet = TelegramOutlet(self.bot, self._on_moved)
        self.hook = Hook()
        self._menus = AdminMenus(self.bot, threads)
        self._threads = threads
        self._webhook_url = webhook_url
        self._secret = webhook_secret or secrets.token_urlsafe(32)
        self._clock = clock
        self._sleep = sleep
        self._presenter: Presenter | None = None
        self._intake: Intake | None = None
        self._offset: int | None = None

    async def run(self, desk: Desk, presenter: Presenter) -> None:
        """Work until cancelled. Raises `Down` when Telegram cannot be worked with for the time being."""
        self._presenter = presenter
        intake = self._intake = self._intake or self._make_intake(desk)
        keeping: asyncio.Task[None] | None = None
        try:
            await self._connect()
            presenter.add(self.outlet)
            await intake.redo()
            await self._set_menus(lambda: offer_commands(self.bot))
            keeping = asyncio.create_task(self._keep_menus())
            await (self._serve_hook(intake) if self._webhook_url else self._poll(intake))
        except TelegramError as error:
            raise down(error) from None  # the library's words may hold the token
        except asyncio.CancelledError:
            await intake.close()
            await self._confirm()
            raise
        finally:
            if keeping is not None:
                keeping.cancel()
            self.hook.close()
            presenter.remove(self.outlet)
            await self.bot.shutdown()

    def _make_intake(self, desk: Desk) -> Intake:
        """One for all runs: what it has begun goes on while Telegram is away."""
        incoming = Incoming(self.bot, self.outlet)
        return Intake(
            self.bot,
            self._threads,
            incoming,
            desk,
            on_moved=self._on_moved,
            met=self._menus.met,
            clock=self._clock,
        )

    async def _connect(self) -> None:
        await self.bot.initialize()
        _log.info("connected", surface=self.name, bot=self.bot.username)

    async def _confirm(self) -> None:
        """Tell Telegram which updates we have, so that the next start is not told of them again."""
        if self._offset is not None and not self._webhook_url:
            with suppress(TelegramError, TimeoutError):
                async with asyncio.timeout(CONFIRM_SECONDS):
                    await self.bot.get_updates(offset=self._offset, limit=1, timeout=0, allowed_updates=UPDATES)

    async def _keep_menus(self) -> None:
        """Admins come and go while we run."""
        while True:
            with suppress(InvalidToken, Refusal):  # whoever takes updates in meets with it, too
                await self._set_menus(self._menus.look)
            await self._sleep(MENU_SECONDS)

    async def _set_menus(self, set_: Callable[[], Awaitable[None]]) -> None:
        try:
            await set_()
        except InvalidToken:
            raise
        except TelegramError as error:
            _log.warning("menus not set", surface=self.name, reason=type(error).__name__)

    async def _poll(self, intake: Intake) -> None:
        if (await self.bot.get_webhook_info()).url:
            await self.bot.delete_webhook()
        failures = 0
        while True:
            try:
                updates = await self.bot.pull(self._offset)
            except InvalidToken:
                raise
            except TelegramError:
                if failures == len(TROUBLE_WAITS):
                    raise
                await self._sleep(TROUBLE_WAITS[failures])
                failures += 1
                continue
            failures = 0
            if updates:
                await intake.take(*updates)
                self._offset = int(updates[-1]["update_id"]) + 1

    async def _serve_hook(self, intake: Intake) -> None:
        assert self._webhook_url is not None
        self.hook.open(intake.take, self._secret)
        await self.bot.set_webhook(self._webhook_url, secret_token=self._secret, allowed_updates=UPDATES)
        while True:
            await self._sleep(LOOK_SECONDS)
            info = await self.bot.get_webhook_info()
            if info.url != self._webhook_url:
                await self.bot.set_webhook(self._webhook_url, secret_token=self._secret, allowed_updates=UPDATES)

    async def _on_moved(self, old: int, new: int) -> None:
        """A group has become a supergroup; whoever learns of it first says so, perhaps several."""
        _log.info("group has a new id", surface=self.name)
        self.outlet.note_move(old, new)
        await self._threads.move_place(Surface.TELEGRAM, str(old), str(new))
        if self._presenter is not None:
            self._presenter.move(Surface.TELEGRAM, str(old), str(new))


def down(error: TelegramError) -> Down:
    """What the operator has to know of it, without the library's words."""
    if isinstance(error, InvalidToken):
        return Down(_REFUSED)
    if isinstance(error, Conflict):
        return Down(_OTHER)
    return Down(
        f"Telegram cannot be reached ({type(error).__name__}): look at network, proxy and telegram.api_base_url."
    )


async def probe(token: str, api_base_url: str | None = None) -> str:
    """The bot's name, for `turnback check`. Raises `Down`."""
    bot = make_bot(token, api_base_url)
    try:
        async with bot:
            return f"@{bot.username}"
    except TelegramError as error:
        raise down(error) from None
