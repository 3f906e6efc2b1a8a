"""Real `turnback` processes on a free port."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

START_SECONDS = 100
END_SECONDS = 20

PROGRAM = (sys.executable, "-m", "turnback.cli")

_LISTENING = re.compile(r"listening on (http://\S+?:\d+)")


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's, without settings of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNBACK_")}
    return kept | dict(more or {})


def turnback(
    *arguments: object, cwd: Path, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def token_of(cwd: Path, *arguments: object) -> str:
    """A new token of the data there."""
    done = turnback("token", *arguments, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@dataclass
class Running:
    """A server that runs; `lines` is its log so far."""

    process: subprocess.Popen[str]
    url: str = ""
    lines: list[str] = field(default_factory=list)
    _listening: threading.Event = field(default_factory=threading.Event)

    def read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if found := _LISTENING.search(line):
                self.url = found[1]
                self._listening.set()
        self._listening.set()

    def await_listening(self) -> None:
        if not self._listening.wait(START_SECONDS) or not self.url:
            self.process.kill()
            raise AssertionError("".join(self.lines))

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and answer the exit code."""
        self.process.send_signal(number)
        return self.process.wait(END_SECONDS)


@contextlib.contextmanager
def serving(
    *arguments: object, cwd: Path, command: str = "serve", env: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """A server that answers, killed at the end if it still runs."""
    process = subprocess.Popen(
        [*PROGRAM, command, "--port", "0", *map(str, arguments)],
        cwd=cwd,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    running = Running(process)
    reader = threading.Thread(target=running.read, daemon=True)
    reader.start()
    try:
        running.await_listening()
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(END_SECONDS)
        reader.join(END_SECONDS)
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


@dataclass(frozen=True)
class Caller:
    """The HTTP API with a token."""

    client: httpx2.Client

    def __call__(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        answer = self.client.request(method, path, json=body)
        assert answer.is_success, (answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def thread(self, *said: str) -> str:
        """A new chat, in which that was said."""
        thread_id: str = self("POST", "/api/threads", {})["thread_id"]
        for text in said:
            self("POST", f"/api/threads/{thread_id}/messages?wait=true", {"text": text})
        return thread_id


@contextlib.contextmanager
def calling(url: str, token: str) -> Iterator[Caller]:
    headers = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
        yield Caller(client)
