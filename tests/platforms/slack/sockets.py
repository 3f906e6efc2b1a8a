"""Socket Mode: the app connects out, and is told over WebSockets.

https://docs.slack.dev/apis/events-api/using-socket-mode: a URL is good for one connection, an app has up to
ten, and each message comes over any one of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from platforms.core import Json
from platforms.slack.deliveries import ACKNOWLEDGE_SECONDS, Delivery, Failed
from platforms.slack.refusals import missing
from platforms.slack.scene import Scene
from starlette.websockets import WebSocket, WebSocketDisconnect

CONNECTIONS_LIMIT = 10
LEAVE_SECONDS = 1.0
"""How long a connection stays that the app was asked to refresh."""
GONE_KEPT = 1000

Reason = Literal["warning", "refresh_requested", "link_disabled", "lost"]

LOST = Failed(reason="connection lost", counted=False)


@dataclass(eq=False)
class Connection:
    socket: WebSocket = field(repr=False)
    leaving: bool = False
    """It is told nothing new."""
    carried: set[str] = field(default_factory=set)
    """The envelopes of events that wait for their acknowledgement."""


@dataclass(eq=False)
class _Envelope:
    delivery: Delivery
    answer: asyncio.Future[Json | Failed]


class Sockets:
    """The connections of the app."""

    def __init__(self, scene: Scene) -> None:
        self.acknowledge_seconds = ACKNOWLEDGE_SECONDS
        self.connections: list[Connection] = []
        self.opened = 0
        self._scene = scene
        self._tickets: set[str] = set()
        self._waiting: dict[str, _Envelope] = {}
        self._acknowledged: deque[str] = deque(maxlen=GONE_KEPT)
        self._given_up: deque[str] = deque(maxlen=GONE_KEPT)
        self._in_order = asyncio.Lock()
        self._turn = 0

    def open_url(self) -> str:
        """A URL for one new connection."""
        if len(self.connections) >= CONNECTIONS_LIMIT:
            raise missing("too_many_websockets")
        ticket = secrets.token_hex(12)
        self._tickets.add(ticket)
        return self._scene.url("socket", f"/link/?ticket={ticket}&app_id={self._scene.app.id}")

    async def connected(self, count: int = 1, *, seconds: float = 10.0) -> None:
        """Wait until the app has `count` connections that are told things."""
        look = lambda: len(self._open()) >= count  # noqa: E731
        await self._scene.signal.until(look, lambda: f"{count} connections; there are {self.connections}", seconds)

    async def serve(self, socket: WebSocket) -> None:
        """One connection, from its handshake to its end."""
        ticket = socket.query_params.get("ticket", "")
        if ticket not in self._tickets:
            self._scene.note("socket mode: a URL was used twice, or never given out")
            await socket.close(1008)
            return
        self._tickets.discard(ticket)
        await socket.accept()
        connection = Connection(socket)
        await socket.send_text(json.dumps(self._hello()))
        self.connections.append(connection)
        self.opened += 1
        self._scene.signal.touch()
        try:
            while True:
                self._hear(connection, await socket.receive_text())
        except WebSocketDisconnect:
            pass
        finally:
            self._forget(connection)

    async def attempt(self, delivery: Delivery) -> Json | Failed:
        envelope_id = secrets.token_hex(16)
        try:
            async with self._in_order if delivery.kind == "events_api" else contextlib.nullcontext():
                connection = await self._next_connection(delivery)
                if connection is None:
                    return Failed(reason="no connection", counted=False)
                envelope = _Envelope(delivery, asyncio.get_running_loop().create_future())
                self._waiting[envelope_id] = envelope
                if delivery.kind == "events_api":
                    connection.carried.add(envelope_id)
                if not await _send(connection, self._packet(envelope_id, delivery)):
                    return LOST
            async with asyncio.timeout(self.acknowledge_seconds):
                return await envelope.answer
        except TimeoutError:
            self._given_up.append(envelope_id)
            reason = f"not acknowledged within {self.acknowledge_seconds:g} s"
            return Failed(reason=reason, counted=True)
        finally:
            self._waiting.pop(envelope_id, None)

    async def disconnect(self, reason: Reason = "refresh_requested") -> None:
        """End every connection: with a notice, after which the app should open another, or "lost" without one."""
        for connection in list(self.connections):
            if reason == "lost":
                self._forget(connection)
                await connection.socket.close(1011)
                continue
            await _send(connection, {"type": "disconnect", "reason": reason, "debug_info": {"host": "simulated"}})
            if reason != "warning":
                connection.leaving = True
                asyncio.get_running_loop().call_later(LEAVE_SECONDS, self._close_soon, connection)

    async def stop(self) -> None:
        for connection in list(self.connections):
            self._forget(connection)

    def _close_soon(self, connection: Connection) -> None:
        if connection in self.connections:
            asyncio.ensure_future(connection.socket.close(1000))  # noqa: RUF006 - it ends with its socket

    def _open(self) -> list[Connection]:
        return [connection for connection in self.connections if not connection.leaving]

    async def _next_connection(self, delivery: Delivery) -> Connection | None:
        """An event waits for one; a person does not."""
        seconds = 3600.0 if delivery.kind == "events_api" else self.acknowledge_seconds
        try:
            await self.connected(seconds=seconds)
        except AssertionError:
            return None
        self._turn += 1
        found = self._open()
        return found[self._turn % len(found)]

    def _packet(self, envelope_id: str, delivery: Delivery) -> Json:
        packet: Json = {"envelope_id": envelope_id, "type": delivery.kind, "payload": delivery.payload}
        packet["accepts_response_payload"] = delivery.kind != "events_api"
        if delivery.kind == "events_api":
            again = delivery.attempts > 1
            packet |= {"retry_attempt": delivery.attempts - 1, "retry_reason": "timeout" if again else ""}
        return packet

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.connections) + 1,
            "connection_info": {"app_id": self._scene.app.id},
            "debug_info": {"host": "simulated", "build_number": 1, "approximate_connection_time": 18060},
        }

    def _hear(self, connection: Connection, text: str) -> None:
        try:
            said = json.loads(text)
            envelope_id = str(said["envelope_id"])
        except (ValueError, TypeError, KeyError):
            self._scene.note(f"socket mode: not understood: {text[:100]}")
            return
        envelope = self._waiting.get(envelope_id)
        if envelope is None or envelope.answer.done():
            self._note_useless(envelope_id)
            return
        payload = said.get("payload") or {}
        if payload and envelope.delivery.kind == "events_api":
            self._scene.note("socket mode: the acknowledgement of an event carries a payload")
        connection.carried.discard(envelope_id)
        self._acknowledged.append(envelope_id)
        envelope.answer.set_result(payload)

    def _note_useless(self, envelope_id: str) -> None:
        if envelope_id in self._acknowledged:
            self._scene.note("socket mode: one envelope was acknowledged twice")
        elif envelope_id not in self._given_up:
            self._scene.note("socket mode: a late acknowledgement, or of an unknown envelope")

    def _forget(self, connection: Connection) -> None:
        if connection not in self.connections:
            return
        self.connections.remove(connection)
        for envelope_id in connection.carried:
            self._given_up.append(envelope_id)
            envelope = self._waiting.get(envelope_id)
            if envelope and not envelope.answer.done():
                envelope.answer.set_result(LOST)
        self._scene.signal.touch()


async def _send(connection: Connection, packet: Json) -> bool:
    """Whether it went out."""
    try:
        await connection.socket.send_text(json.dumps(packet))
    except (RuntimeError, WebSocketDisconnect, OSError):
        return False
    return True
