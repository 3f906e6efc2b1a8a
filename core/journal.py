"""Around every operation: the thread's lock, the audit row of what was refused or failed, the metrics,
and word to everybody who looks at the thread.

The row of what was done is written by the operation itself, in the transaction that does it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime

import structlog

from turnback.core.answers import Rewound
from turnback.core.errors import Refusal
from turnback.core.events import Events
from turnback.core.locks import ThreadLocks
from turnback.core.metrics import Metrics
from turnback.core.models import ID, AccountId, Action, Actor, AuditEntry, Outcome, StepId, Thread, ThreadId
from turnback.core.threads.store import ThreadStore

_log = structlog.get_logger(__name__)


class Journal:
    """Writes down what happens to threads."""

    def __init__(
        self,
        threads: ThreadStore,
        events: Events,
        metrics: Metrics,
        locks: ThreadLocks,
        clock: Callable[[], datetime],
    ) -> None:
        self._threads = threads
        self._events = events
        self._metrics = metrics
        self._locks = locks
        self._clock = clock

    def entry(
        self,
        actor: Actor,
        action: Action,
        thread_id: str | None = None,
        step: str | None = None,
        *,
        head_before: str | None = None,
        outcome: Outcome = Outcome.DONE,
        code: str | None = None,
    ) -> AuditEntry:
        """An audit row. Ids that people typed are kept only where they are ids."""
        return AuditEntry(
            at=self._clock(),
            account=actor.account,
            actor=actor.identity or actor.name or actor.account,
            surface=actor.surface,
            action=action,
            thread_id=ThreadId(thread_id) if thread_id and ID.fullmatch(thread_id) else None,
            snapshot_id=StepId(step) if step and ID.fullmatch(step) else None,
            head_before=head_before,
            outcome=outcome,
            code=code,
        )

    @asynccontextmanager
    async def operation(
        self, actor: Actor, action: Action, thread_id: str, ref: str | None = None, *, lock: bool = True
    ) -> AsyncIterator[None]:
        """Run an operation alone in its thread; what is refused or fails is audited and counted."""
        began = time.perf_counter()
        outcome = Outcome.FAILED
        try:
            async with AsyncExitStack() as stack:
                if lock:
                    await stack.enter_async_context(self._locks.hold(ThreadId(thread_id)))
                yield
            outcome = Outcome.DONE
        except Refusal as refusal:
            outcome = Outcome.REFUSED
            await self._write(self.entry(actor, action, thread_id, ref, outcome=outcome, code=refusal.code))
            raise
        except Exception as error:
            _log.exception("operation failed", action=action.value, thread=thread_id, surface=actor.surface.value)
            await self._write(self.entry(actor, action, thread_id, ref, outcome=outcome, code=type(error).__name__))
            raise
        finally:
            self._metrics.rewinds.labels(action.value, outcome.value).inc()
            self._metrics.rewind_seconds.observe(time.perf_counter() - began)

    async def _write(self, entry: AuditEntry) -> None:
        try:
            await self._threads.audit(entry)
        except Exception:  # noqa: BLE001 - what was refused or failed must reach who asked, also while the disk is full
            _log.exception("not audited", action=entry.action.value, code=entry.code)

    def tell_reload(self, thread: Thread, readers: frozenset[AccountId], head: str | None) -> None:
        """Every open tab of the thread reloads."""
        data = {"thread_id": thread.id, "head": head}
        self._events.publish("reload", data, thread_id=thread.id, readers=readers)

    def tell_threads(self, readers: frozenset[AccountId]) -> None:
        """The lists of threads of these accounts changed."""
        self._events.publish("threads", {}, readers=readers)

    def tell_move(
        self, actor: Actor, thread: Thread, readers: frozenset[AccountId], action: Action, rewound: Rewound
    ) -> None:
        """Tabs reload, and every other bound place gets one line: who, from where, to which step."""
        self.tell_reload(thread, readers, rewound.head.step.id if rewound.head else None)
        data = {
            "thread_id": thread.id,
            "action": action.value,
            "by": actor.name or actor.identity or actor.account,
            "surface": actor.surface.value,
            "place": actor.place,
            "turn_index": rewound.turn_index,
            "number": rewound.head.step.number if rewound.head else None,
        }
        self._events.publish("rewound", data, thread_id=thread.id, readers=readers)
