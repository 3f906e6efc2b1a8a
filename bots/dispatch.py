"""Dispatch: a Command from a person at a place -> one call of the service -> a Reply.

The one way from every surface to the time machine, and the only place in the chat layer where a
refusal becomes words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import uuid4

import structlog

from turnback.bots.acts import chats, going, keeping, looking
from turnback.bots.asking import App, Asked, Beside, Links, SettingsPort
from turnback.bots.commands import (
    Answer,
    Chats,
    Clear,
    Command,
    Compare,
    Decide,
    Delete,
    ForkStep,
    Help,
    ListSteps,
    MemoryForget,
    MemoryList,
    MemorySwitch,
    Misused,
    Name,
    NotACommand,
    NotForUs,
    Overview,
    Redo,
    Reset,
    Restore,
    Retention,
    Show,
    Stop,
    Switch,
    TellLesson,
    Tree,
    Undo,
    Unknown,
    Web,
)
from turnback.bots.grammar import parse
from turnback.bots.places import Place, Places
from turnback.bots.questions import Questions
from turnback.bots.replies import Button, Reply, reply_json
from turnback.bots.telling import telling_apart
from turnback.bots.words import printable
from turnback.core.errors import (
    AmbiguousStep,
    ApprovalPending,
    InvalidRequest,
    NothingToRedo,
    Refusal,
    TooManyLabels,
    WorkspaceChanged,
)
from turnback.core.models import Actor, ThreadId
from turnback.core.policy import TimeTravel

T = TypeVar("T")

FILES_SHOWN = 30
"""Paths that a reply lists before it only counts."""

CANDIDATES_SHOWN = 10

_ACTS: dict[type[Command], Callable[[Asked, Any], Awaitable[Reply]]] = {
    Overview: looking.overview,
    ListSteps: looking.list_steps,
    Tree: looking.tree,
    Show: looking.show,
    Compare: looking.compare,
    Restore: going.restore,
    Undo: going.undo,
    Redo: going.redo,
    TellLesson: going.tell_lesson,
    Reset: going.reset,
    ForkStep: going.fork,
    Name: going.name,
    Clear: keeping.clear,
    Delete: keeping.delete,
    MemoryList: keeping.memory,
    MemoryForget: keeping.forget,
    MemorySwitch: keeping.switch_memory,
    Retention: keeping.retention,
    Chats: chats.chats,
    Switch: chats.switch,
    Stop: chats.stop,
    Decide: chats.decide,
    Web: chats.web,
    Help: chats.help_,
}

_log = structlog.get_logger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Dispatch:
    """Answers commands."""

    def __init__(
        self,
        app: App,
        *,
        policy: Callable[[], TimeTravel] = TimeTravel,
        links: Links | None = None,
        settings: SettingsPort | None = None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._app = app
        self._policy = policy
        self._links = links
        self._settings = settings
        self._clock = clock
        self.places = Places(app.threads, app.rewind)
        self.questions = Questions(clock)

    @property
    def discards(self) -> bool:
        """Whether a restore deletes what lies after it, and so asks before."""
        return self._policy().on_restore == "discard"

    async def dispatch(
        self, actor: Actor, place: Place, command: Command | Unknown | Misused, *, beside: Beside | None = None
    ) -> Reply:
        """Do what a command asks, or say why not. Never raises."""
        if isinstance(command, Unknown | Misused):
            return _not_understood(command)

        async def act() -> Reply:
            asked = replace(await self._asked(actor, place), beside=beside)
            if isinstance(command, Answer):
                return await self._answer(asked, command)
            return await self._act(asked, command)

        return await self.guarded(place, type(command).__name__, act)

    async def ask_first(self, actor: Actor, place: Place, command: Command, text: str, yes: str, no: str) -> Reply:
        """Ask before a command is done. Never raises."""

        async def ask() -> Reply:
            return (await self._asked(actor, place)).ask_first(command, text, yes, no)

        return await self.guarded(place, type(command).__name__, ask)

    async def guarded(self, place: Place, what: str, work: Callable[[], Awaitable[T]]) -> T | Reply:
        """Do some work that answers people; what is refused or fails is said in words. Never raises."""
        try:
            return await work()
        except Refusal as refusal:
            return _in_words(refusal)
        except Exception:  # noqa: BLE001 - a bug must neither reach the chat as a traceback nor stop the adapter
            return _bug(what, place)

    async def _asked(self, actor: Actor, place: Place) -> Asked:
        return Asked(
            app=self._app,
            places=self.places,
            questions=self.questions,
            links=self._links,
            policy=self._policy(),
            settings=self._settings,
            now=self._clock(),
            actor=actor,
            place=place,
            found=await self.places.find(place),
        )

    async def _answer(self, asked: Asked, answer: Answer) -> Reply:
        question = self.questions.take(asked.actor, answer.token)
        if not answer.yes:
            return Reply(text="Nothing was done.", replaces=True)
        done = await self._act(asked.once_confirmed(question.thread_id), question.command)
        return replace(done, replaces=done.stands_at is None)

    async def _act(self, asked: Asked, command: Command) -> Reply:
        try:
            return await _ACTS[type(command)](asked, command)
        except WorkspaceChanged as refusal:
            if not isinstance(command, Restore | Undo | Redo):
                raise
            return self._ask_about_files(asked, command, refusal)
        except NothingToRedo as refusal:
            if not isinstance(command, Redo) or command.only is None:
                raise
            text = "That was brought back already, or something newer lies on top of it. Nothing was changed."
            return Reply(text=text, error=refusal.code)

    def _ask_about_files(self, asked: Asked, command: Restore | Undo | Redo, refusal: WorkspaceChanged) -> Reply:
        confirmed = replace(command, confirm_files=refusal.files_token)
        lines = [f"{file['change']} {printable(file['path'], 120)}" for file in refusal.files[:FILES_SHOWN]]
        more = len(refusal.files) - FILES_SHOWN
        text = "\n".join(
            [
                "Somebody else changed these files since (+ comes back, - is removed, ~ changes):",
                *lines,
                *([f"and {more} more"] if more > 0 else []),
                "Ignored files are not covered.",
            ]
        )
        return replace(asked.ask_first(confirmed, text, "Go back anyway"), error=refusal.code)


def answer_command(app: App, dispatch: Dispatch) -> Callable[[Actor, ThreadId, str], Awaitable[dict[str, Any]]]:
    """The words of a chat for `POST /api/threads/{t}/commands`: `{"text", "buttons", "error"}`.

    Raises NotFound for a thread that is not the actor's to see, InvalidRequest for ordinary text; every
    other refusal is in the answer.
    """

    async def answer(actor: Actor, thread_id: ThreadId, text: str) -> dict[str, Any]:
        parsed = parse(text, bang=True)
        if isinstance(parsed, NotACommand | NotForUs):
            raise InvalidRequest("That is not a command: one begins with a slash, such as /replay list.")
        await app.rewind.thread(actor, thread_id)
        return reply_json(await dispatch.dispatch(actor, Place(surface=actor.surface, thread_id=thread_id), parsed))

    return answer


def _not_understood(parsed: Unknown | Misused) -> Reply:
    if isinstance(parsed, Misused):
        return Reply(text=f"{parsed.reason} Usage: {parsed.usage}", error=InvalidRequest.code)
    near = f" Did you mean {parsed.nearest}?" if parsed.nearest else ""
    buttons = (Button(label=parsed.nearest, command=parsed.nearest),) if parsed.nearest in _SAFE_TO_PRESS else ()
    text = f"“{parsed.word}” is not something I know.{near} Usage: {parsed.usage}"
    return Reply(text=text, buttons=buttons, error=InvalidRequest.code)


_SAFE_TO_PRESS = frozenset({"/replay list", "/replay tree", "/chats", "/help", "/memory list"})
"""Commands that a suggestion offers as a button: whole as they are, and they change nothing."""


def _in_words(refusal: Refusal) -> Reply:
    match refusal:
        case AmbiguousStep(candidates=candidates):
            return _ambiguous(refusal, [dict(candidate) for candidate in candidates])
        case ApprovalPending(gates=gates):
            tools = ", ".join(printable(str(gate.get("tool", "")), 40) for gate in gates)
            return Reply(text=f"{refusal.detail} Waiting: {tools}." if tools else refusal.detail, error=refusal.code)
        case TooManyLabels():
            return Reply(text=f"{refusal.detail} /replay name STEP - takes it off.", error=refusal.code)
    return Reply(text=refusal.detail, error=refusal.code)


def _ambiguous(refusal: Refusal, candidates: list[dict[str, Any]]) -> Reply:
    ids = telling_apart([str(c["id"]) for c in candidates])
    shown = candidates[:CANDIDATES_SHOWN]
    lines = [
        f"{ids[c['id']]} · turn {c['turn_index']}, step {c['number']} · {printable(str(c['summary']), 60)}"
        for c in shown
    ]
    if len(candidates) > len(shown):
        lines.append(f"and {len(candidates) - len(shown)} more")
    buttons = tuple(
        Button(label=f"Turn {c['turn_index']}, step {c['number']}", command=f"/replay show {c['id']}")
        for c in shown[:5]
    )
    return Reply(text="\n".join([refusal.detail, *lines]), buttons=buttons, error=refusal.code)


def _bug(what: str, place: Place) -> Reply:
    correlation = uuid4().hex[:8]
    _log.exception("command failed", command=what, surface=place.surface.value, id=correlation)
    return Reply(
        text=f"That went wrong, and nothing more was done. The log says why under {correlation}.", error="failed"
    )
