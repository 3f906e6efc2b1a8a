"""Questions before what cannot be undone: asked with two buttons, answered by who was asked, within 10 minutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_hex

from turnback.bots.commands import Command
from turnback.bots.replies import Button, Reply
from turnback.core.errors import Forbidden, NotFound
from turnback.core.models import AccountId, Actor, ThreadId

OPEN_FOR = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, whom, and about which thread."""

    account: AccountId
    name: str
    thread_id: ThreadId | None
    command: Command
    until: datetime


class Questions:
    """The open questions. They are forgotten at a restart: then people are asked again."""

    def __init__(self, clock: Callable[[], datetime], new_token: Callable[[], str] = lambda: token_hex(8)) -> None:
        self._clock = clock
        self._new_token = new_token
        self._open: dict[str, Question] = {}

    def ask(
        self, actor: Actor, thread_id: ThreadId | None, command: Command, text: str, yes: str, no: str = "Cancel"
    ) -> Reply:
        """Ask whether `command` shall be done; `text` says what it would do."""
        now = self._clock()
        self._open = {token: question for token, question in self._open.items() if question.until > now}
        token = self._new_token()
        self._open[token] = Question(
            account=actor.account, name=actor.name, thread_id=thread_id, command=command, until=now + OPEN_FOR
        )
        buttons = (Button(label=yes, command=f"/confirm {token}"), Button(label=no, command=f"/decline {token}"))
        return Reply(text=text, buttons=buttons)

    def take(self, actor: Actor, token: str) -> Question:
        """Take a question off, to do or leave what it asks.

        Raises NotFound when it is answered, too old or never was, Forbidden for anybody but who was asked.
        """
        question = self._open.get(token)
        if question is None or question.until <= self._clock():
            raise NotFound("That question is no longer open. Nothing was done; send the command again.")
        if question.account != actor.account:
            raise Forbidden(f"Only {question.name or 'who was asked'} may answer that.")
        del self._open[token]
        return question
