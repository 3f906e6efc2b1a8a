"""The HTTP API as commands use it: of the server that works on the data folder, or, where none runs, of a
service opened for the moment in this process. So a command does the same either way.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from turnback.cli.convert import local_url
from turnback.cli.options import folder
from turnback.cli.output import Failed
from turnback.cli.server_file import find_server
from turnback.config import Loaded
from turnback.core import shapes
from turnback.core.beside import open_people
from turnback.core.folder import STEPS_FILE, THREADS_FILE
from turnback.core.models import Thread
from turnback.core.people import OPERATOR, People
from turnback.core.steps.sqlite import SqliteStepStore
from turnback.core.threads.sqlite import SqliteThreadStore

TIMEOUT_SECONDS = 600.0

MANY = 1_000_000

SHORTEST = 4
"""Characters of a chat's id that must be given."""


class ApiFailed(Failed):
    """The API refused; `problem` is its document."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status, self.problem = status, problem
        super().__init__(_in_words(status, problem))


class Api:
    """JSON in, JSON out."""

    def __init__(self, client: httpx2.AsyncClient, data: Path) -> None:
        self._client = client
        self._data = data

    async def get(self, path: str, **params: str) -> Any:
        return await self._send("GET", path, params=params)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return await self._send("POST", path, body=body or {})

    async def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self._send("PATCH", path, body=body)

    async def delete(self, path: str) -> Any:
        return await self._send("DELETE", path)

    async def thread(self, ref: str) -> str:
        """The id of the chat that begins with `ref`."""
        ref = ref.strip().lower()
        if len(ref) == 32:
            return ref
        if len(ref) < SHORTEST:
            raise Failed(f"give at least {SHORTEST} characters of a chat's id; see `turnback steps list`")
        found = [thread.id for thread in await _threads(self._data) if thread.id.startswith(ref)]
        if len(found) != 1:
            several = f"{len(found)} chats begin" if found else "no chat begins"
            raise Failed(f"{several} with {ref!r}; see `turnback steps list`")
        return found[0]

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, params: Mapping[str, str] | None = None
    ) -> Any:
        # Not the client's own JSON: states may hold lone surrogates, which only escapes can carry.
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        try:
            answer = await self._client.request(method, path, content=content, params=params, headers=headers)
        except httpx2.HTTPError as error:
            raise Failed(f"the server does not answer: {type(error).__name__}") from None
        if answer.is_success:
            return answer.json() if answer.content else None
        try:
            problem = answer.json()
        except ValueError:
            problem = {}
        raise ApiFailed(answer.status_code, problem if isinstance(problem, dict) else {})


@asynccontextmanager
async def connect(loaded: Loaded, account: str | None = None) -> AsyncIterator[Api]:
    """The API of this data folder, as the operator, who may do everything, or as an account."""
    data = folder(loaded)
    server = await find_server(data)
    if server is not None and account is None:
        async with _client(server.url, server.token) as client:
            yield Api(client, data)
        return
    if server is not None:
        async with (
            open_people(data) as people,
            borrowed_token(people, account) as token,
            _client(server.url, token) as client,
        ):
            yield Api(client, data)
        return
    from turnback.cli.compose import running  # noqa: PLC0415 - takes seconds, and is not needed beside a server

    async with running(loaded, maintain=False) as composed:
        app, web = composed.app(), composed.live.settings.web
        async with (
            borrowed_token(composed.service.people, account) as token,
            _client(local_url(web.host, web.port), token, httpx2.ASGITransport(app=app)) as client,
        ):
            yield Api(client, data)


async def all_threads(data: Path) -> list[dict[str, Any]]:
    """Everybody's chats, newest first, read from the data folder: over HTTP there are only one's own."""
    found = await _threads(data)
    steps = SqliteStepStore((data / STEPS_FILE).absolute())
    try:
        usage = await steps.usage([thread.id for thread in found]) if found else {}
        return [shapes.thread_steps_json(thread, usage.get(thread.id)) for thread in found]
    finally:
        await steps.close()


async def _threads(data: Path) -> Sequence[Thread]:
    if not (data / THREADS_FILE).is_file():
        return ()
    threads = await SqliteThreadStore.open(data / THREADS_FILE)
    try:
        return await threads.list_threads(None, limit=MANY)
    finally:
        await threads.close()


@asynccontextmanager
async def borrowed_token(people: People, account: str | None) -> AsyncIterator[str]:
    """A token for as long as the command runs; without an account the operator's."""
    if account is None:
        who = await people.ensure_account(OPERATOR, admin=True)
    else:
        who = await people.ensure_account(account)
    token = await people.create_token(who, label="turnback command line")
    try:
        yield token
    finally:
        await people.end_session(token)


def _client(url: str, token: str, transport: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=url,
        headers={"Authorization": f"Bearer {token}"},
        timeout=TIMEOUT_SECONDS,
        transport=transport,
        trust_env=False,
    )


def _in_words(status: int, problem: Mapping[str, Any]) -> str:
    code, detail = problem.get("code", f"HTTP {status}"), problem.get("detail") or problem.get("title") or ""
    line = f"{code}: {detail}"
    for candidate in problem.get("candidates", ()):
        line += f" [{candidate['id'][:8]} turn {candidate['turn_index']}, step {candidate['number']}]"
    for gate in problem.get("gates", ()):
        line += f" [gate {gate['id']}: {gate['tool']}]"
    return line
