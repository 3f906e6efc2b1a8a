"""The HTTP API as the terminal uses it."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx2

Json = dict[str, Any]

RETRY_SECONDS = (0.2, 0.5, 1, 2, 5)
"""Pauses before a lost event stream is opened again."""

MISSED = "missed"
"""The event that stands for all that happened while the stream was lost for too long, or the server was away."""

_QUICK = httpx2.Timeout(30)
_PATIENT = httpx2.Timeout(30, read=None)


class Problem(Exception):
    """The server refused, or could not be reached; `code` is a refusal's, or `unreachable`."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A server-sent event."""

    name: str
    data: Mapping[str, Any]


class Client:
    """One signed-in user of a server."""

    def __init__(self, url: str, token: str, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        """Raises Problem for a URL that is none."""
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=_QUICK,
            transport=transport,
            trust_env=not is_loopback(url),  # a proxy from the environment does not reach this machine
        )

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def threads(self) -> Sequence[Json]:
        """My threads, newest first."""
        found: Sequence[Json] = (await self._ask("GET", "/api/threads"))["threads"]
        return found

    async def thread(self, thread: str) -> Json:
        """A thread."""
        return await self._ask("GET", f"/api/threads/{quote(thread)}")

    async def create_thread(self) -> Json:
        """Start a thread."""
        return await self._ask("POST", "/api/threads", {})

    async def messages(self, thread: str) -> Sequence[Json]:
        """The transcript's path."""
        found: Sequence[Json] = (await self._ask("GET", f"/api/threads/{thread}/messages"))["messages"]
        return found

    async def steps(self, thread: str) -> Sequence[Json]:
        """The steps on the path."""
        found: Sequence[Json] = (await self._ask("GET", f"/api/replay/snapshots/{thread}"))["snapshots"]
        return found

    async def send(self, thread: str, text: str) -> Json:
        """Say something, and wait for what comes of it: `{"turn_index", "status", "reply", "gates"}`."""
        return await self._ask("POST", f"/api/threads/{thread}/messages?wait=true", {"text": text}, _PATIENT)

    async def command(self, thread: str, text: str) -> Json:
        """Send a command: `{"text", "buttons", "error"}`."""
        return await self._ask("POST", f"/api/threads/{thread}/commands", {"text": text}, _PATIENT)

    async def decide(self, thread: str, gate: str, approve: bool) -> Json:
        """Approve or deny, and wait as `send` does."""
        path = f"/api/threads/{thread}/approvals/{quote(gate)}?wait=true"
        return await self._ask("POST", path, {"approve": approve}, _PATIENT)

    async def stop(self, thread: str) -> None:
        """Stop what runs."""
        await self._ask("POST", f"/api/threads/{thread}/stop")

    async def events(self, thread: str, ready: asyncio.Event) -> AsyncIterator[Told]:
        """What happens in a thread, for as long as the caller listens; `ready` is set once it is listened to.

        A lost connection is opened again after the last event, with `MISSED` where that is not possible any more;
        it ends only when the thread is gone.
        """
        last, tries = "", 0
        while True:
            try:
                async with self._stream(thread, last) as stream:
                    ready.set()
                    reopened = bool(last)
                    async for sse in stream:
                        tries, last = 0, sse.id or last
                        data = sse.json() if sse.data else None
                        if sse.event and isinstance(data, dict):
                            is_missed = reopened and sse.event == "reload" and data.get("head") is None
                            yield Told(name=MISSED if is_missed else sse.event, data=data)
                            reopened = False
            except (httpx2.TransportError, httpx2.StreamError, httpx2.SSEError, ValueError):
                pass
            await asyncio.sleep(RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)])
            tries += 1

    @asynccontextmanager
    async def _stream(self, thread: str, last: str) -> AsyncIterator[httpx2.EventSource]:
        headers = {"Last-Event-ID": last} if last else {}
        timeout = httpx2.Timeout(30, read=90)
        async with self._http.sse(f"/api/events?thread_id={thread}", headers=headers, timeout=timeout) as stream:
            if stream.response.is_server_error:
                raise httpx2.RemoteProtocolError("the server cannot tell now")
            if not stream.response.is_success:
                await stream.response.aread()
                raise _problem(stream.response)
            yield stream

    async def _ask(self, method: str, path: str, body: Json | None = None, patience: httpx2.Timeout = _QUICK) -> Json:
        try:
            response = await self._http.request(method, path, json=body, timeout=patience)
        except httpx2.TransportError as error:
            raise Problem("unreachable", f"The server does not answer ({type(error).__name__}).") from error
        if response.is_error:
            raise _problem(response)
        if not response.content:
            return {}
        try:
            answer: Json = response.json()
        except ValueError as error:
            raise Problem("failed", "What answers there is not Turnback.") from error
        return answer


def _problem(response: httpx2.Response) -> Problem:
    try:
        told = response.json()
        return Problem(str(told["code"]), str(told["detail"]))
    except (ValueError, KeyError, TypeError):
        return Problem("failed", f"The server answered {response.status_code}.")


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine. Raises Problem for one that is none."""
    try:
        host = httpx2.URL(url).host
    except httpx2.InvalidURL as error:
        raise Problem("invalid_request", f"{url!r} is no URL.") from error
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
