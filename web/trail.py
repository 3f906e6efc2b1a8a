"""Which part of the audit trail is wanted, as addresses say it: the same for the page, its exports and the API."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from turnback.core.models import Action, Outcome, Surface
from turnback.core.threads.ledger import AuditFilter
from turnback.web.requests import Text

LONGEST_WORDS = 200


def _read_day(value: Any) -> Any:
    """A number is no day, though the library would take it for seconds."""
    if not isinstance(value, str):
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError("a day, such as 2026-03-01") from None


Day = Annotated[date, BeforeValidator(_read_day)]
Words = Annotated[Text, Field(max_length=LONGEST_WORDS)]


class Wanted(BaseModel):
    """The filters, by the names that they have in an address; what is not named does not matter."""

    model_config = ConfigDict(frozen=True)

    outcome: Outcome | None = None
    action: Action | None = None
    surface: Surface | None = None
    actor: Words | None = Field(None, description="Part of the name or identity of who acted.")
    chat: Words | None = Field(None, description="Part of a chat's title, or the beginning of its id.")
    since: Day | None = Field(None, description="The first day, in UTC.")
    until: Day | None = Field(None, description="The last day, in UTC.")

    def as_filter(self) -> AuditFilter:
        """The same for the store; both days count."""
        return AuditFilter(
            outcome=self.outcome,
            action=self.action,
            surface=self.surface,
            actor=self.actor,
            chat=self.chat,
            since=_midnight(self.since) if self.since else None,
            until=_midnight(self.until + timedelta(days=1)) if self.until and self.until < date.max else None,
        )


class Excerpt(Wanted):
    """What a program asks for."""

    thread_id: Text | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
