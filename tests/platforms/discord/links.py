"""One connection of the gateway: its greeting, heartbeats, compression and limits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import zlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import zstandard
from platforms.core import Json
from platforms.discord.gateway import KNOWN_INTENTS, PRIVILEGED, Session
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

if TYPE_CHECKING:
    from platforms.discord.scene import Scene

SENDS_A_MINUTE = 120
PAYLOAD_LIMIT = 4096
HEARTBEAT_GRACE = 1.5
"""How many intervals without a heartbeat the server waits."""

Compress = Callable[[bytes], bytes]


class Closing(Exception):
    """The server closes the connection."""

    def __init__(self, code: int, reason: str, *, violation: bool = True) -> None:
        super().__init__(reason)
        self.code, self.reason, self.violation = code, reason, violation


class Link:
    """A connected WebSocket; what it sends is sent in order by one task."""

    def __init__(self, scene: Scene, socket: WebSocket, record: Callable[[str, Json], object]) -> None:
        self.scene, self.socket, self._record = scene, socket, record
        self.session: Session | None = None
        self._compress = _compressor(socket.query_params.get("compress"))
        self._out: asyncio.Queue[Json | int] = asyncio.Queue()
        self._cut = asyncio.Event()
        self._sends: deque[float] = deque()
        self._beat_by = 0.0

    def send(self, packet: Json) -> None:
        self._out.put_nowait(packet)

    def close(self, code: int) -> None:
        """After what is still to be sent."""
        self._out.put_nowait(code)

    def cut(self) -> None:
        """Without a word."""
        self._cut.set()

    async def flushed(self) -> None:
        await self._out.join()

    async def serve(self) -> None:
        """Speak until the connection ends."""
        await self.socket.accept()
        gateway = self.scene.gateway
        gateway.links.append(self)
        parts = [asyncio.create_task(part) for part in (self._hear(), self._speak(), self._cut.wait())]
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in parts:
                part.cancel()
            results = await asyncio.gather(*parts, return_exceptions=True)
            self._cut.set()
            self._forget_unsent()
            clean = any(isinstance(gone, WebSocketDisconnect) and gone.code in (1000, 1001) for gone in results)
            gateway.left(self, clean=clean)
        for gone in results:
            if isinstance(gone, Exception) and not isinstance(gone, WebSocketDisconnect):
                raise gone

    async def _speak(self) -> None:
        while True:
            packet = await self._out.get()
            try:
                if isinstance(packet, int):
                    await self.socket.close(packet)
                    return
                text = json.dumps(packet)
                if self._compress is None:
                    await self.socket.send_text(text)
                else:
                    await self.socket.send_bytes(self._compress(text.encode()))
            finally:
                self._out.task_done()

    def _forget_unsent(self) -> None:
        while not self._out.empty():
            self._out.get_nowait()
            self._out.task_done()

    async def _hear(self) -> None:
        try:
            if self.socket.query_params.get("v") != "10" or self.socket.query_params.get("encoding") != "json":
                raise Closing(4012, "only version 10 in JSON is simulated")
            interval = self.scene.gateway.heartbeat_seconds
            self.send({"op": 10, "d": {"heartbeat_interval": int(interval * 1000)}, "s": None, "t": None})
            loop = asyncio.get_running_loop()
            self._beat_by = loop.time() + interval * HEARTBEAT_GRACE
            while True:
                self._take(await self._next())
        except Closing as closing:
            if closing.violation:
                self.scene.note("GATEWAY", f"{closing.code} {closing.reason}")
            with contextlib.suppress(RuntimeError):
                await self.socket.close(closing.code, closing.reason)

    async def _next(self) -> Json:
        try:
            async with asyncio.timeout_at(self._beat_by):
                text = await self.socket.receive_text()
        except TimeoutError:
            raise Closing(4009, f"no heartbeat in {self.scene.gateway.heartbeat_seconds} s") from None
        except KeyError:
            raise Closing(4002, "a frame that is not text") from None
        self._check_pace()
        if len(text.encode()) > PAYLOAD_LIMIT:
            raise Closing(4002, f"a payload over {PAYLOAD_LIMIT} bytes")
        try:
            packet = json.loads(text)
        except ValueError:
            raise Closing(4002, "a payload that is not JSON") from None
        return dict(packet)

    def _check_pace(self) -> None:
        now = asyncio.get_running_loop().time()
        self._sends.append(now)
        while self._sends[0] <= now - 60:
            self._sends.popleft()
        if len(self._sends) > SENDS_A_MINUTE:
            raise Closing(4008, f"over {SENDS_A_MINUTE} sends in 60 s")

    def _take(self, packet: Json) -> None:
        op, data = packet.get("op"), packet.get("d")
        if op == 1:
            interval = self.scene.gateway.heartbeat_seconds
            self._beat_by = asyncio.get_running_loop().time() + interval * HEARTBEAT_GRACE
            self.send({"op": 11, "d": None, "s": None, "t": None})
            return
        self._record(f"GATEWAY op {op}", data if isinstance(data, dict) else {})
        if op in (2, 6):
            self._begin(op, data or {})
        elif self.session is None:
            raise Closing(4003, f"op {op} before IDENTIFY")
        elif op == 8:
            self._tell_members(self.session, data or {})
        elif op != 3:
            raise Closing(4001, f"op {op} is not simulated")

    def _begin(self, op: int, data: Json) -> None:
        gateway = self.scene.gateway
        if self.session is not None:
            raise Closing(4005, "already authenticated")
        if data.get("token", "").removeprefix("Bot ") != self.scene.token:
            raise Closing(4004, "Authentication failed.", violation=False)
        if op == 6:
            if not gateway.resume(self, str(data.get("session_id")), int(data.get("seq") or 0)):
                self.send({"op": 9, "d": False, "s": None, "t": None})
            return
        intents = int(data.get("intents") or 0)
        if intents & ~KNOWN_INTENTS:
            raise Closing(4013, "Invalid intent(s).")
        if any(intents & bit and name not in gateway.privileged for name, bit in PRIVILEGED.items()):
            raise Closing(4014, "Disallowed intent(s).", violation=False)
        gateway.begin(self, intents)

    def _tell_members(self, session: Session, wanted: Json) -> None:
        guild = self.scene.guilds[str(wanted["guild_id"])]
        ids = {str(user_id) for user_id in wanted.get("user_ids") or []}
        query = wanted.get("query") or ""
        if not ids and not query and not session.intents & PRIVILEGED["members"]:
            raise Closing(4014, "all members asked for without their intent")
        by_name = [member for member in guild.members.values() if member.account.name.startswith(query)]
        found = [guild.members[user_id] for user_id in ids if user_id in guild.members] if ids else by_name
        chunk = {"guild_id": guild.id, "members": [m.json() for m in found], "chunk_index": 0, "chunk_count": 1}
        session.tell("GUILD_MEMBERS_CHUNK", chunk | {"nonce": wanted.get("nonce"), "not_found": []})


async def refuse(socket: WebSocket) -> None:
    """Answer the handshake with 503."""
    await socket.send_denial_response(Response(status_code=503))


def _compressor(kind: str | None) -> Compress | None:
    """One stream for the whole connection, flushed after every payload."""
    if kind == "zlib-stream":
        deflate = zlib.compressobj()
        return lambda data: deflate.compress(data) + deflate.flush(zlib.Z_SYNC_FLUSH)
    if kind == "zstd-stream":
        stream: Any = zstandard.ZstdCompressor().compressobj()
        return lambda data: bytes(stream.compress(data) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    return None
