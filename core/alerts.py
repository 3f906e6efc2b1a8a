"""Operator alerts: what an admin has to know although nobody asked.

An alert is a log line at ERROR, a metric, an `alert` event (which adapters send to the admins' chats)
and, while it stands, a banner for admins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from turnback.core.events import Events
from turnback.core.metrics import Metrics

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something that stands; `kind` is a stable word, `text` one line that says what to do."""

    kind: str
    text: str
    since: datetime


class Alerts:
    """The alerts that stand now."""

    def __init__(self, events: Events, metrics: Metrics, clock: Callable[[], datetime]) -> None:
        self._events = events
        self._metrics = metrics
        self._clock = clock
        self._active: dict[str, Alert] = {}

    @property
    def active(self) -> tuple[Alert, ...]:
        """Oldest first."""
        return tuple(self._active.values())

    def stands(self, kind: str) -> bool:
        """Whether there is one of this kind now."""
        return kind in self._active

    def sound(self, kind: str, text: str) -> None:
        """Tell the operator, once for as long as it stands in the same words."""
        standing = self._active.get(kind)
        if standing and standing.text == text:
            return
        if standing is None:
            self._metrics.alerts.labels(kind).inc()
        _log.error("operator alert", kind=kind, alert=text)
        self._active[kind] = Alert(kind=kind, text=text, since=standing.since if standing else self._clock())
        self._events.publish("alert", {"kind": kind, "text": text})

    def settle(self, kind: str) -> bool:
        """What was wrong is well again; False if nothing was."""
        if self._active.pop(kind, None) is None:
            return False
        _log.info("operator alert settled", kind=kind)
        self._events.publish("alert", {"kind": kind, "text": None})
        return True
