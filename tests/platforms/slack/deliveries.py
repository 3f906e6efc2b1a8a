"""What the app is told: events, slash commands and interactions, each to be acknowledged within 3 seconds.

An event that is not acknowledged comes again, up to three times (at once, after a minute and after five with
Slack, sooner here); a command or a click never, the person sees an error. They travel over Socket Mode, or
over HTTP where the app has a request URL. https://docs.slack.dev/apis/events-api
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from platforms.core import WAIT_SECONDS, ClientRefused, Json, Signal
from platforms.slack.scene import Scene

if TYPE_CHECKING:
    from platforms.slack.channels import Channel
    from platforms.slack.people import User

Kind = Literal["events_api", "slash_commands", "interactive"]

ACKNOWLEDGE_SECONDS = 3.0
RETRIES = 3
RETRY_WAIT = 0.05


@dataclass(eq=False, kw_only=True)
class Delivery:
    """Something that the app is told, and how it took it."""

    kind: Kind
    payload: Json
    user: User | None = field(default=None, repr=False)
    channel: Channel | None = field(default=None, repr=False)
    signal: Signal = field(default_factory=Signal, repr=False)
    attempts: int = 0
    reason: str = ""
    """Why the last attempt failed."""
    acknowledged: bool = False
    answer: Json | None = None
    """What came with the acknowledgement."""
    error: str = ""
    """What the person sees when the app fails, such as operation_timeout."""
    no_retry: bool = False
    """Set for an event, too, that is to come but once."""

    @property
    def finished(self) -> bool:
        return self.acknowledged or bool(self.error)

    async def answered(self, *, seconds: float = WAIT_SECONDS) -> Json:
        """Wait for the acknowledgement; answers what came with it."""
        await self.signal.until(lambda: self.finished, lambda: f"an acknowledgement of {self.payload}", seconds)
        if self.error:
            raise AssertionError(f"{self.kind} failed with {self.error}: {self.reason}")
        return self.answer or {}

    async def failed(self, *, seconds: float = WAIT_SECONDS) -> str:
        """Wait for the error that the person sees."""
        await self.signal.until(lambda: self.error, lambda: f"an error of {self.payload}", seconds)
        return self.error


@dataclass(frozen=True, kw_only=True)
class Failed:
    """An attempt that was not acknowledged; it is `counted` where the app is to blame."""

    reason: str
    counted: bool


class Transport(Protocol):
    """How something reaches the app."""

    async def attempt(self, delivery: Delivery) -> Json | Failed:
        """What came with the acknowledgement. `delivery.attempts` counts from 1."""
        ...

    async def stop(self) -> None: ...


class Deliveries:
    """Everything that was to be told, and what still is."""

    def __init__(self, scene: Scene, transport: Callable[[], Transport], shown: Callable[[Delivery], None]) -> None:
        """`shown` puts the message that came with a command's acknowledgement before the person."""
        self.history: list[Delivery] = []
        self.retry_wait = RETRY_WAIT
        self._scene, self._transport, self._shown = scene, transport, shown
        self._running: dict[Delivery, asyncio.Task[None]] = {}
        self._paused: list[Delivery] = []
        self._up = False

    def event(self, kind: str, event: Json, **more: Any) -> Delivery | None:
        """Something happened; None when the app is not told of that kind."""
        app = self._scene.app
        if kind not in app.manifest.events or not app.installed:
            return None
        return self._push("events_api", {**self._envelope(copy.deepcopy(event)), **more})

    def command(self, payload: Json, user: User, channel: Channel) -> Delivery:
        self._check_installed()
        return self._push("slash_commands", payload, user, channel)

    def interaction(self, payload: Json, user: User, channel: Channel | None) -> Delivery:
        self._check_installed()
        if not self._scene.app.manifest.interactive:
            raise ClientRefused("This app is not configured to handle interactive responses")
        return self._push("interactive", copy.deepcopy(payload), user, channel)

    def redeliver(self, event: Delivery | None = None, *, anew: bool = False) -> Delivery:
        """Tell an event once more, the last one unless told which.

        It comes as a retry of the same event id; `anew` with another id and no sign of being a retry, as
        Slack does at times.
        """
        told = event or next(each for each in reversed(self.history) if each.kind == "events_api")
        if told.kind != "events_api":
            raise ClientRefused("only events are ever sent again")
        payload = copy.deepcopy(told.payload)
        if anew:
            payload["event_id"] = self._scene.new_id("Ev")
            return self._push("events_api", payload)
        return self._push("events_api", payload, attempts=max(1, told.attempts), reason="timeout")

    def events(self, kind: str) -> list[Json]:
        """All events of a type or subtype so far, the oldest first."""
        told = [each.payload["event"] for each in self.history if each.kind == "events_api"]
        return [event for event in told if kind in (event["type"], event.get("subtype"))]

    async def settled(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the app has acknowledged, or failed, all that it is told."""

        def unfinished() -> list[Json]:
            return [each.payload for each in self.history if not each.finished]

        await self._scene.signal.until(lambda: not unfinished(), lambda: f"acknowledged: {unfinished()}", seconds)

    def resume(self) -> None:
        """Begin, or go on after `stop`."""
        self._up = True
        paused, self._paused = self._paused, []
        for delivery in paused:
            self._start(delivery)

    async def stop(self) -> None:
        """Keep the events for later; commands and interactions fail."""
        self._up = False
        running, self._running = self._running, {}
        for task in running.values():
            task.cancel()
        await asyncio.gather(*running.values(), return_exceptions=True)
        for delivery in running:
            self._pause(delivery)
        await self._transport().stop()

    def _push(
        self,
        kind: Kind,
        payload: Json,
        user: User | None = None,
        channel: Channel | None = None,
        *,
        attempts: int = 0,
        reason: str = "",
    ) -> Delivery:
        delivery = Delivery(kind=kind, payload=payload, user=user, channel=channel, attempts=attempts, reason=reason)
        self.history.append(delivery)
        if self._up:
            self._start(delivery)
        else:
            self._pause(delivery)
        return delivery

    def _start(self, delivery: Delivery) -> None:
        self._running[delivery] = asyncio.create_task(self._deliver(delivery))

    def _pause(self, delivery: Delivery) -> None:
        if delivery.finished:
            return
        if delivery.kind == "events_api":
            self._paused.append(delivery)
        else:
            self._finish(delivery, error="dispatch_failed")

    async def _deliver(self, delivery: Delivery) -> None:
        tries = 1 + (RETRIES if delivery.kind == "events_api" else 0)
        while True:
            delivery.attempts += 1
            outcome = await self._transport().attempt(delivery)
            if not isinstance(outcome, Failed):
                self._acknowledge(delivery, outcome)
                break
            delivery.reason = outcome.reason
            if outcome.counted:
                self._scene.note(f"{delivery.kind}: {outcome.reason} (attempt {delivery.attempts})")
            if delivery.attempts >= tries or delivery.no_retry:
                self._finish(delivery, error="operation_timeout" if "within" in outcome.reason else "dispatch_failed")
                break
            await asyncio.sleep(self.retry_wait)
        self._running.pop(delivery, None)

    def _acknowledge(self, delivery: Delivery, answer: Json) -> None:
        delivery.answer = answer
        if delivery.kind == "slash_commands" and (answer.get("text") or answer.get("blocks")):
            self._shown(delivery)
        elif delivery.kind == "interactive" and delivery.payload["type"] == "block_actions" and answer:
            self._scene.note("interactive: a message in the acknowledgement of a click is never shown")
        delivery.acknowledged = True
        self._finish(delivery)

    def _finish(self, delivery: Delivery, error: str = "") -> None:
        delivery.error = error
        delivery.signal.touch()
        self._scene.signal.touch()

    def _check_installed(self) -> None:
        if not self._scene.app.installed:
            raise ClientRefused("the app is not installed any more")

    def _envelope(self, event: Json) -> Json:
        app = self._scene.app
        authorization = {
            "enterprise_id": None,
            "team_id": app.team,
            "user_id": app.user_id,
            "is_bot": True,
            "is_enterprise_install": False,
        }
        return {
            "token": "verification-token",
            "team_id": app.team,
            "api_app_id": app.id,
            "event": event,
            "type": "event_callback",
            "event_id": self._scene.new_id("Ev"),
            "event_time": int(self._scene.clock.now()),
            "authorizations": [authorization],
            "is_ext_shared_channel": False,
            "event_context": "4-simulated",
        }
