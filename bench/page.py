"""Time Travel with a thousand steps in a real browser.

    python bench/page.py [--steps 1000] [--times 7]

Prints, and exits 1 unless they hold: the median first contentful paint of `/replay` under 500 ms with
nothing cached, its HTML under 200 kB, of an opened step too, and all scripts that the page loads under
80 kB. Needs Chromium (`--chromium`); the service runs in this process, on loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from playwright.async_api import Browser, Response, async_playwright

from turnback.bots.dispatch import Dispatch, answer_command
from turnback.core import open_service
from turnback.core.agents.protocol import Context
from turnback.core.collector import settle_collector
from turnback.core.models import Actor, State, Surface, ThreadId
from turnback.core.policy import Budgets, TimeTravel
from turnback.core.service import Turnback
from turnback.web.app import create_app
from turnback.web.auth import COOKIE
from turnback.web.parts import SettingsPort
from turnback.web.server import serve

PAINT_BAR_MS, HTML_BAR, SCRIPT_BAR = 500, 200_000, 80_000

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
PER_TURN = 4


class Talker:
    """An agent that calls a tool a few times and answers, without a model that would take its time."""

    quiet_tools = frozenset({"note"})

    async def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:  # noqa: ARG002
        messages = [*state.get("messages", []), {"role": "user", "content": text}]
        for number in range(1, PER_TURN):
            call: dict[str, Any] = {"id": f"c{len(messages)}", "type": "function"}
            call |= {"function": {"name": "note", "arguments": {"text": f"step {number} of {PER_TURN - 1}"}}}
            messages = [*messages, {"role": "assistant", "content": "", "tool_calls": [call]}]
            messages = [*messages, {"role": "tool", "tool_call_id": call["id"], "content": "noted"}]
            yield {"type": "step", "state": {"messages": messages}, "model": "bench", "tools": ["note"]}
        messages = [*messages, {"role": "assistant", "content": "done"}]
        yield {"type": "step", "state": {"messages": messages}, "model": "bench"}
        yield {"type": "done", "state": {"messages": messages}, "text": "done"}


class NoSettings:
    """No setting is shown."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return ()


@dataclass
class Seen:
    """What a load of the page took."""

    paints: list[float] = field(default_factory=list)
    html: int = 0
    scripts: int = 0


async def converse(service: Turnback, actor: Actor, steps: int) -> ThreadId:
    """A conversation of so many steps, which once went back and on again."""
    thread = await service.rewind.create_thread(actor, "A long one")
    made = 0
    while made < steps:
        await service.turns.ask(actor, thread.id, f"Turn {made}: note a few things and say when they are noted")
        made += PER_TURN
        if made == steps // 2:
            await service.rewind.undo(actor, thread.id, 2)
    return thread.id


async def load(browser: Browser, url: str, session: str, seen: Seen) -> None:
    """Load a page with an empty cache."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    await context.add_cookies([{"name": COOKIE, "value": session, "url": url}])
    page = await context.new_page()
    answers: list[Response] = []

    def note(answer: Response) -> None:  # the library marks what it is handed, which a list's method does not bear
        answers.append(answer)

    page.on("response", note)
    await page.goto(url, wait_until="load")
    await page.wait_for_function(PAINT)
    seen.paints.append(await page.evaluate(PAINT))
    bodies = [
        (answer.request.resource_type, len(await answer.body())) for answer in answers if "/api/" not in answer.url
    ]
    seen.html = next(size for kind, size in bodies if kind == "document")
    seen.scripts = sum(size for kind, size in bodies if kind == "script")
    await context.close()


async def look(url: str, session: str, thread: ThreadId, step: str, times: int, chromium: str) -> tuple[Seen, Seen]:
    """The list, and an opened step."""
    listed, opened = Seen(), Seen()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        await load(browser, f"{url}/replay?thread={thread}", session, Seen())  # the first paint of a browser is its own
        for _ in range(times):
            await load(browser, f"{url}/replay?thread={thread}", session, listed)
            await load(browser, f"{url}/replay?thread={thread}&step={step}", session, opened)
        await browser.close()
    return listed, opened


async def run(steps: int, times: int, chromium: str) -> bool:
    policy = TimeTravel(budgets=Budgets(max_snapshots=2 * steps, max_global_snapshots=1_000_000))
    with tempfile.TemporaryDirectory() as folder:
        async with open_service(Path(folder), agent=Talker(), policy=policy, maintain=False) as service:
            account = await service.people.ensure_account("bench")
            actor = Actor(account=account.id, surface=Surface.WEB, name="bench")
            thread = await converse(service, actor, steps)
            session = await service.people.create_session(account)
            listing = await service.rewind.list_steps(actor, thread, everything=True)
            settle_collector()
            bound: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            stop = asyncio.Event()
            app = create_app(
                service,
                settings=cast("SettingsPort", NoSettings()),
                commands=answer_command(service, Dispatch(service)),
            )
            server = asyncio.create_task(
                serve(app, host="127.0.0.1", port=0, on_listening=lambda _, port: bound.set_result(port), stop=stop)
            )
            url = f"http://127.0.0.1:{await bound}"
            listed, opened = await look(url, session, thread, listing.steps[100].step.id, times, chromium)
            stop.set()
            await server
    return tell(len(listing.steps), listed, opened)


def tell(steps: int, listed: Seen, opened: Seen) -> bool:
    """Print the figures; answers whether all hold."""
    rows = []
    for name, seen in (("/replay", listed), ("an opened step", opened)):
        paint = statistics.median(seen.paints)
        rows.append((f"{name}: first contentful paint, ms", round(paint), PAINT_BAR_MS, paint < PAINT_BAR_MS))
        rows.append((f"{name}: HTML, bytes", seen.html, HTML_BAR, seen.html < HTML_BAR))
    rows.append(("scripts, bytes", listed.scripts, SCRIPT_BAR, listed.scripts < SCRIPT_BAR))
    print(f"{steps} steps, {len(listed.paints)} loads each, slowest {max(listed.paints + opened.paints):.0f} ms")
    for name, value, bar, ok in rows:
        print(f"{name:44} {value!s:>10}   bar {bar!s:>7}   {'ok' if ok else 'MISS'}")
    return all(ok for *_, ok in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    given = parser.parse_args()
    if not given.chromium:
        sys.exit("bench/page.py needs Chromium: apt install chromium, or --chromium PATH")
    sys.exit(0 if asyncio.run(run(given.steps, given.times, given.chromium)) else 1)


if __name__ == "__main__":
    main()
