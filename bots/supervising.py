"""Keeps an adapter running: one that fails is started again after a while, and the operator is told once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from turnback.bots.desk import Desk
from turnback.bots.platform import Adapter, Down, down_kind
from turnback.bots.presenting import Presenter
from turnback.core.service import Turnback

AGAIN_AFTER, LONGEST_WAIT = 1.0, 60.0
"""Seconds before an adapter that failed is started again: after the first time, and at most."""

_log = structlog.get_logger(__name__)


async def supervise(
    adapter: Adapter,
    service: Turnback,
    desk: Desk,
    presenter: Presenter,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Run an adapter until cancelled, whatever happens to it. The alert settles once it is connected again."""
    wait = AGAIN_AFTER
    while True:
        connected = asyncio.create_task(_settle_when_connected(adapter, service, presenter))
        try:
            await adapter.run(desk, presenter)
            trouble = "it ended by itself"
        except Down as down:
            trouble = str(down)
            _log.warning("platform is down", surface=adapter.name, why=trouble)
        except Exception as error:  # noqa: BLE001 - a library may raise anything, and the other platforms go on
            trouble = f"{type(error).__name__}, see the log"  # its text may hold an address with the token
            _log.error("adapter failed", surface=adapter.name, exc_info=error)
        finally:
            worked = connected.done()
            connected.cancel()
            presenter.disconnected(adapter.name)
        service.metrics.platform_errors.labels(adapter.name, "down").inc()
        if not service.alerts.stands(down_kind(adapter.name)):
            service.alerts.sound(down_kind(adapter.name), _told(adapter.name, trouble))
        wait = AGAIN_AFTER if worked else wait
        await sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT)


async def _settle_when_connected(adapter: Adapter, service: Turnback, presenter: Presenter) -> None:
    await presenter.connected(adapter.name)
    service.alerts.settle(down_kind(adapter.name))


def _told(name: str, trouble: str) -> str:
    return f"{name.capitalize()} does not work: {trouble.rstrip('.')}. It is tried again; all else goes on."
