"""Going back, branching off and deleting, from the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

import typer

from turnback.cli.api import connect
from turnback.cli.options import Config, Data, Json, StepRef, ThreadRef, Yes, settings
from turnback.cli.output import confirmed, note, show
from turnback.config import Loaded
from turnback.core.text import counted

OptionalStep = Annotated[str | None, typer.Argument(metavar="[STEP]", help="A step; none: the newest.")]

LINES_SHOWN = 40
"""Lines of a comparison that people see; --json has all."""


def restore(thread: ThreadRef, step: StepRef, config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Take a chat back to a step."""
    _rewind(settings(config, data), "/api/replay/restore", thread, as_json, snapshot_id=step)


def undo(
    thread: ThreadRef,
    n: Annotated[int, typer.Argument(min=1, help="How many turns.")] = 1,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Go back to before the last turns."""
    _rewind(settings(config, data), "/api/replay/undo", thread, as_json, n=n)


def redo(thread: ThreadRef, config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Reverse the last undo, restore or reset."""
    _rewind(settings(config, data), "/api/replay/redo", thread, as_json)


def reset(thread: ThreadRef, config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Go back to before the first turn; steps stay."""
    _rewind(settings(config, data), "/api/threads/{thread}/reset", thread, as_json)


def fork(
    thread: ThreadRef, step: OptionalStep = None, config: Config = None, data: Data = None, as_json: Json = False
) -> None:
    """Branch a step into a new chat."""
    asyncio.run(_fork(settings(config, data), thread, step, as_json))


def compare(
    thread: ThreadRef,
    a: Annotated[str, typer.Argument(metavar="A", help="A step.")],
    b: Annotated[str | None, typer.Argument(metavar="[B]", help="Another; none: now.")] = None,
    other: Annotated[str | None, typer.Option("--other", metavar="THREAD", help="The chat of B.")] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """What differs between two steps."""
    asyncio.run(_compare(settings(config, data), thread, a, b, other, as_json))


def label(
    thread: ThreadRef,
    step: StepRef,
    name: Annotated[str | None, typer.Argument(metavar="[LABEL]", help="None: takes the label off.")] = None,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Give a step a name."""
    asyncio.run(_label(settings(config, data), thread, step, name, as_json))


def clear(thread: ThreadRef, yes: Yes = False, config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """Delete the saved steps of a chat; the conversation stays."""
    asyncio.run(_clear(settings(config, data), thread, yes, as_json))


def delete(thread: ThreadRef, yes: Yes = False, config: Config = None, data: Data = None) -> None:
    """Delete a chat and everything of it; its forks stay."""
    asyncio.run(_delete(settings(config, data), thread, yes))


def _rewind(loaded: Loaded, path: str, thread: str, as_json: bool, **body: Any) -> None:
    async def run() -> None:
        async with connect(loaded) as api:
            thread_id = await api.thread(thread)
            full = body if "{thread}" in path else {"thread_id": thread_id, **body}
            answer = await api.post(path.format(thread=thread_id), full)
        show(answer, as_json, *_rewound_lines(answer))

    asyncio.run(run())


async def _fork(loaded: Loaded, thread: str, step: str | None, as_json: bool) -> None:
    async with connect(loaded) as api:
        body = {"thread_id": await api.thread(thread)} | ({"snapshot_id": step} if step else {})
        made = await api.post("/api/replay/fork", body)
    show(made, as_json, f"{made['thread_id']}  {made['title']}")


async def _compare(loaded: Loaded, thread: str, a: str, b: str | None, other: str | None, as_json: bool) -> None:
    async with connect(loaded) as api:
        body = {"thread_id": await api.thread(thread), "a": a} | ({"b": b} if b else {})
        if other:
            body["b_thread_id"] = await api.thread(other)
        found = await api.post("/api/replay/compare", body)
    show(found, as_json, *_compare_lines(found))


async def _label(loaded: Loaded, thread: str, step: str, name: str | None, as_json: bool) -> None:
    async with connect(loaded) as api:
        path = f"/api/replay/snapshots/{await api.thread(thread)}/{quote(step, safe='')}"
        found = await api.patch(path, {"label": name})
    show(found, as_json, f"{found['id'][:8]} is now ★ {name}" if name else f"{found['id'][:8]} has no label now")


async def _clear(loaded: Loaded, thread: str, yes: bool, as_json: bool) -> None:
    async with connect(loaded) as api:
        thread_id = await api.thread(thread)
        if not confirmed(f"Delete all saved steps of {thread_id}?", yes):
            note("Nothing was deleted.")
            return
        done = await api.delete(f"/api/replay/threads/{thread_id}")
    show(done, as_json, f"Deleted {counted(done['deleted'], 'step')}.")


async def _delete(loaded: Loaded, thread: str, yes: bool) -> None:
    async with connect(loaded) as api:
        thread_id = await api.thread(thread)
        if not confirmed(f"Delete the chat {thread_id} for good?", yes):
            note("Nothing was deleted.")
            return
        await api.delete(f"/api/threads/{thread_id}")
    show(None, False, f"Deleted {thread_id}.")


def _rewound_lines(answer: dict[str, Any]) -> Iterator[str]:
    where = f"turn {answer['turn_index']}" if answer["turn_index"] else "the beginning"
    yield f"Now at {where} ({answer['head'][:8]})." if answer["head"] else f"Now at {where}."
    if answer["turns_set_aside"]:
        yield f"{counted(answer['turns_set_aside'], 'turn')} set aside; `turnback redo` undoes that."
    if answer["turns_brought_back"]:
        yield f"{counted(answer['turns_brought_back'], 'turn')} brought back."
    for effect in answer["effects"]:
        where = f"turn {effect['turn_index']}, step {effect['number']}"
        yield f"not undone: {effect['tool']} {json.dumps(effect['args'], ensure_ascii=False)} ({where})"


def _compare_lines(found: dict[str, Any]) -> Iterator[str]:
    if found["identical"]:
        yield "No difference."
        return
    yield f"{counted(found['common_messages'], 'message')} in common"
    lines = [f"- {m['role']}: {m['text'] or ''}" for m in found["only_a"]]
    lines += [f"+ {m['role']}: {m['text'] or ''}" for m in found["only_b"]]
    lines += [f"~ {change['op']} {change['path']}" for change in found["changes"]]
    yield from lines[:LINES_SHOWN]
    if len(lines) > LINES_SHOWN:
        yield f"… and {len(lines) - LINES_SHOWN} more (--json shows all)"
