"""The commands for a bot that you already have.

    application.add_handlers(handlers(service), group=-1)

adds `/replay`, `/fork`, `/undo` and `/redo` and the buttons under their replies, and takes no other update
from you. Your agent stays yours: begin from `await recorded(service, update)` (None: from nothing), and after
each answer call `await record(service, update, state)`. After a restore, `recorded` is the restored state.
docs/examples/telegram_bot.py is a whole bot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from telegram import Message, Update
from telegram.ext import ApplicationHandlerStop, BaseHandler, CallbackQueryHandler, ContextTypes, ExtBot, MessageHandler
from telegram.ext.filters import UpdateFilter

from turnback.bots.desk import Desk
from turnback.bots.dispatch import Dispatch
from turnback.bots.hosting import record_at, recorded_at
from turnback.bots.people import PlatformPeople
from turnback.bots.places import Place
from turnback.bots.presenting import Presenter
from turnback.bots.telegram.incoming import Incoming
from turnback.bots.telegram.intake import Intake
from turnback.bots.telegram.keyboard import pressed
from turnback.bots.telegram.keys import place_at, spot_in
from turnback.bots.telegram.outlet import TelegramOutlet
from turnback.bots.telegram.reading import author_of, words_of
from turnback.core.answers import Recorded
from turnback.core.models import State, Surface
from turnback.core.service import Turnback

COMMANDS = ("replay", "fork", "undo", "redo")
EVERYBODY = (f"{Surface.TELEGRAM.value}:*",)

_BUTTONS = frozenset({"confirm", "decline", "bringback", "lesson", "switch"})
"""First words that only our own buttons send."""

_Handler = BaseHandler[Update, ContextTypes.DEFAULT_TYPE, None]


def handlers(
    service: Turnback,
    *,
    commands: Sequence[str] = COMMANDS,
    allow: Sequence[str] = EVERYBODY,
    admins: Sequence[str] = (),
) -> list[_Handler]:
    """Handlers for `Application.add_handlers`. `commands` are the words that we may answer to; `allow` and
    `admins` are as in the settings (`access.allow`, `access.admins`).
    """
    guest = _Guest(service, PlatformPeople(service, admins=lambda: admins, allow=lambda: allow))
    words = frozenset(commands)
    return [
        MessageHandler(_Ours(words), guest.take),
        CallbackQueryHandler(guest.take, pattern=lambda data: _is_ours(data, words)),
    ]


async def record(
    service: Turnback,
    update: Update,
    state: State,
    *,
    step: int = 0,
    model: str | None = None,
    answer: Message | None = None,
) -> Recorded:
    """Save the state that your agent is in after its answer to `update`, as a step that can be gone back to.

    `state` is a JSON object; its `messages` are what people can read. `step` counts the steps of one turn from
    0, the first of which begins the turn. `answer` is the message that you answered with: commands can then be
    sent as replies to it.
    """
    message = _message(update)
    said, shown = message.text or message.caption or "", str(answer.message_id) if answer is not None else None
    return await record_at(
        service, _place(message), author_of(message), said, state, step=step, model=model, answer=shown
    )


async def recorded(service: Turnback, update: Update) -> State | None:
    """The state that the conversation of `update` stands at: what was recorded last, or gone back to since."""
    return await recorded_at(service, _place(_message(update)))


class _Guest:
    """Our part in somebody else's bot: no polling, no menu, no answers but to our commands."""

    def __init__(self, service: Turnback, people: PlatformPeople) -> None:
        self._service = service
        presenter = Presenter(service)
        dispatch = Dispatch(service)
        self._desk = Desk(service, dispatch, people=people, presenter=presenter)
        self._intake: Intake | None = None

    async def take(self, update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
        """Take an update that is ours, and let nobody else have it."""
        if self._intake is None:
            self._intake = self._started(context.bot)
            await self._intake.redo()
        await self._intake.take(update.to_dict())
        raise ApplicationHandlerStop

    def _started(self, bot: ExtBot[Any]) -> Intake:
        outlet = TelegramOutlet(bot, self._on_moved)
        return Intake(bot, self._service.threads, Incoming(bot, outlet), self._desk, on_moved=self._on_moved)

    async def _on_moved(self, old: int, new: int) -> None:
        await self._service.threads.move_place(Surface.TELEGRAM, str(old), str(new))


class _Ours(UpdateFilter):
    """Messages that begin with one of our commands, or complete one."""

    def __init__(self, words: frozenset[str]) -> None:
        super().__init__()
        self._words = words

    def filter(self, update: Update) -> bool:
        """Whether the message is for us."""
        message = update.message or update.channel_post
        if message is None:
            return False
        return _first(words_of(message, message.get_bot().bot).text) in self._words


def _is_ours(data: object, words: frozenset[str]) -> bool:
    return isinstance(data, str) and _first(pressed(data).command) in words | _BUTTONS


def _first(text: str) -> str | None:
    """The word of a command, without its slash and the bot's name."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return first[1:].partition("@")[0].lower() if first.startswith("/") else None


def _place(message: Message) -> Place:
    return place_at(spot_in(message), message.chat)


def _message(update: Update) -> Message:
    message = update.effective_message
    if not isinstance(message, Message):
        raise TypeError("an update without a message has no conversation")
    return message
