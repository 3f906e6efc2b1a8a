"""Captures: saving a step without ever breaking the turn that made it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import structlog

from turnback.core.errors import Refusal, StoreUnavailable
from turnback.core.metrics import Metrics
from turnback.core.models import CaptureResult, Step
from turnback.core.policy import TimeTravel
from turnback.core.state.codec import Encoded, NotEncodable
from turnback.core.steps.store import StepDraft, StepStore

Announce = Callable[[Step], Awaitable[None]]
"""Tells everybody who watches of a step that was saved."""

_log = structlog.get_logger(__name__)


class Recorder:
    """Saves steps, counts what came of it, and has the saved ones announced.

    `announce` may be set later, by whoever knows how a step is shown; so may `trouble`, which is told when
    the store is out of order.
    """

    def __init__(
        self, store: StepStore, metrics: Metrics, policy: Callable[[], TimeTravel], announce: Announce | None = None
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._policy = policy
        self.announce = announce
        self.trouble: Callable[[StoreUnavailable], None] | None = None

    async def capture(self, draft: StepDraft, content: Encoded | Exception) -> CaptureResult:
        """Save a step; an exception in place of its state is why that could not be encoded. Never raises.

        A capture that a clear, delete or forget overtook is skipped.
        """
        began = time.perf_counter()
        step: Step | None = None
        try:
            step, result = await self._save(draft, content)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong here must not break the turn
            _failed(draft, error)
            result = CaptureResult.FAILED
            if self.trouble and isinstance(error, StoreUnavailable):
                self.trouble(error)
        self._metrics.captures.labels(result.value).inc()
        self._metrics.capture_seconds.observe(time.perf_counter() - began)
        if step is not None:
            await self._tell(step)
        return result

    def count_failed(self) -> None:
        """Count a capture that did not come to a draft."""
        self._metrics.captures.labels(CaptureResult.FAILED.value).inc()

    async def _save(self, draft: StepDraft, content: Encoded | Exception) -> tuple[Step | None, CaptureResult]:
        policy = self._policy()
        if not policy.enabled:
            return None, CaptureResult.SKIPPED
        if isinstance(content, Exception):
            _failed(draft, content)
            return None, CaptureResult.FAILED
        step = await self._store.capture(draft, content, policy.budgets)
        if step is None:
            return None, CaptureResult.SKIPPED
        return step, CaptureResult.TRUNCATED if step.truncated else CaptureResult.STORED

    async def _tell(self, step: Step) -> None:
        if self.announce is None:
            return
        try:
            await self.announce(step)
        except Exception:  # noqa: BLE001 - it is saved; telling of it must not break the turn either
            _log.exception("a saved step was not announced", thread=step.thread_id, step=step.id)


def _failed(draft: StepDraft, error: Exception) -> None:
    """One line. A store out of order is no bug, and what encoding trips over may hold what people wrote."""
    known = isinstance(error, (Refusal, NotEncodable))
    _log.warning(
        "step not saved",
        thread=draft.thread_id,
        step=draft.id,
        reason=error.code if isinstance(error, Refusal) else type(error).__name__,
        exc_info=None if known else error,
    )
