"""Takes the pictures of the page in this folder: `python docs/screens/make.py`, with Debian's chromium.

It starts the demo as people start it, talks with it over HTTP, and looks at it in a browser.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2
from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}

TURNS = (
    "plan write backup.sh; test it on a copy; schedule it nightly",
    "write backup.sh tar czf out.tgz notes",
    "write test.sh sh backup.sh --target copy/",
    "remember the archive belongs on the second disk",
    "write verify.sh tar tzf out.tgz",
)


def seed(api: httpx2.Client) -> tuple[str, str]:
    """A chat that went back once, with a named step and a fork; answers the chat and a step to look at."""

    def say(thread: str, text: str) -> None:
        api.post(f"/api/threads/{thread}/messages?wait=true", json={"text": text}).raise_for_status()

    def steps(thread: str) -> list[dict[str, str]]:
        return list(api.get(f"/api/replay/snapshots/{thread}").raise_for_status().json()["snapshots"])

    thread = str(api.post("/api/threads", json={"title": "Nightly backup"}).raise_for_status().json()["thread_id"])
    for text in TURNS[:3]:
        say(thread, text)
    second = steps(thread)[6]["id"]
    api.post(f"/api/threads/{thread}/commands", json={"text": f"/replay name {second} works"}).raise_for_status()
    fork = api.post("/api/replay/fork", json={"thread_id": thread, "snapshot_id": second}).raise_for_status().json()
    say(str(fork["thread_id"]), "write hourly.sh sh backup.sh")
    api.post("/api/replay/undo", json={"thread_id": thread, "n": 1}).raise_for_status()
    for text in TURNS[3:]:
        say(thread, text)
    return thread, second


def take(browser: Browser, link: str, thread: str, step: str) -> None:
    """The pictures."""
    for name, size, scheme in (("light", DESKTOP, "light"), ("dark", DESKTOP, "dark"), ("phone", PHONE, "light")):
        context = browser.new_context(viewport=size, color_scheme=scheme, storage_state=signed_in(browser, link))  # type: ignore[arg-type]
        page = context.new_page()
        origin = link.split("/login", maxsplit=1)[0]
        pages = {
            "chat": f"/chats/{thread}",
            "replay": f"/replay?thread={thread}&step={step}",
            "compare": f"/replay/compare?thread={thread}&a={step}",
            "settings": "/settings",
            "audit": "/audit",
            "accounts": "/settings/accounts",
            "tokens": "/settings/tokens",
            "you": "/you",
        }
        for each, path in pages.items():
            if name == "light" or each in ("chat", "replay"):
                page.goto(origin + path, wait_until="load")
                page.wait_for_timeout(1000)  # what comes over the event stream, and the focus
                page.screenshot(path=HERE / f"{each}-{name}.png", caret="initial")
        context.close()


_state: dict[str, object] = {}


def signed_in(browser: Browser, link: str) -> dict[str, object]:
    """The browser's cookies after the link was used, which works once."""
    if not _state:
        context = browser.new_context(viewport=DESKTOP)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(link)
        page.screenshot(path=HERE / "login-light.png", caret="initial")
        page.click("button")
        page.wait_for_url(re.compile(r"/$"))
        _state.update(context.storage_state())
        context.close()
    return _state


def main() -> None:
    """Start, seed, look, end."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "turnback.cli", "demo", "--data", f"{folder}/data", "--port", "0"]
        env = {**os.environ, "TURNBACK_AGENT__SHELL": "off"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder, env=env
        ) as server:
            try:
                assert server.stdout is not None
                link = server.stdout.readline().strip()
                token = subprocess.run(
                    [sys.executable, "-m", "turnback.cli", "token", "--data", f"{folder}/data", "--account", "local"],
                    capture_output=True, text=True, check=True, cwd=folder,
                ).stdout.strip().split()[-1]  # fmt: skip
                headers = {"Authorization": f"Bearer {token}"}
                with httpx2.Client(
                    base_url=link.split("/login")[0], headers=headers, timeout=60, trust_env=False
                ) as api:
                    thread, step = seed(api)
                with sync_playwright() as play:
                    browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
                    take(browser, link, thread, step)
                    browser.close()
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
