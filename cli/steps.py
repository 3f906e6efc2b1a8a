"""`turnback steps`: what is saved."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from turnback.cli.api import Api, all_threads, connect
from turnback.cli.options import Config, Data, Json, StepRef, ThreadRef, folder, settings
from turnback.cli.output import fail, note, progress, show
from turnback.config import Loaded
from turnback.core.text import counted

app = typer.Typer(help="What is saved: list, show, export.", no_args_is_help=False)


@app.command("list")
def list_(
    thread: Annotated[str | None, typer.Argument(metavar="[THREAD]", help="A chat; none: lists the chats.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what is set aside.")] = False,
    config: Config = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """The steps of a chat, or the chats that there are."""
    asyncio.run(_list(settings(config, data), thread, everything, as_json))


@app.command("show")
def show_(thread: ThreadRef, step: StepRef, config: Config = None, data: Data = None, as_json: Json = False) -> None:
    """One step: its messages and the whole state."""
    asyncio.run(_show(settings(config, data), thread, step, as_json))


@app.command()
def export(
    thread: ThreadRef,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A new file; none: stdout.")] = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """All steps of a chat as JSON Lines, with their original ids."""
    asyncio.run(_export(settings(config, data), thread, output))


async def _list(loaded: Loaded, thread: str | None, everything: bool, as_json: bool) -> None:
    if thread is None:
        threads = await all_threads(folder(loaded))
        show({"threads": threads}, as_json, *_thread_lines(threads))
        return
    async with connect(loaded) as api:
        include = {"include": "all"} if everything else {}
        listing = await api.get(f"/api/replay/snapshots/{await api.thread(thread)}", **include)
        show(listing, as_json, *_step_lines(listing))


async def _show(loaded: Loaded, thread: str, step: str, as_json: bool) -> None:
    async with connect(loaded) as api:
        found = await api.get(f"/api/replay/snapshots/{await api.thread(thread)}/{quote(step, safe='')}")
        lines = [_step_line(found), ""]
        lines += [_message_line(message) for message in found["messages"]]
        lines += ["", json.dumps(found["state"], indent=2, ensure_ascii=False)]
        show(found, as_json, *lines)


async def _export(loaded: Loaded, thread: str, output: Path | None) -> None:
    if output and output.exists():
        fail(f"{output} exists already; name a new file")
    with progress("exporting"):
        async with connect(loaded) as api:
            lines = [line async for line in _exported(api, await api.thread(thread))]
    if output:
        output.touch(mode=0o600)
        output.write_bytes(b"".join(lines))
        note(f"{counted(len(lines), 'step')} written to {output}")
    else:
        sys.stdout.buffer.write(b"".join(lines))
        sys.stdout.buffer.flush()


async def _exported(api: Api, thread_id: str) -> AsyncIterator[bytes]:
    listing = await api.get(f"/api/replay/snapshots/{thread_id}", include="all")
    for step in listing["snapshots"]:
        full = await api.get(f"/api/replay/snapshots/{thread_id}/{step['id']}")
        full.pop("messages")
        yield json.dumps(full, separators=(",", ":")).encode() + b"\n"


def _thread_lines(threads: list[dict[str, Any]]) -> Iterator[str]:
    if not threads:
        yield "No chats yet."
    for thread in threads:
        running = "  a turn is running" if thread["turn_running"] else ""
        steps = counted(thread["steps"], "step")
        yield f"{thread['thread_id']}  {steps:>11}  {thread['surface']:<8}  {thread['title']}{running}"


def _step_lines(listing: dict[str, Any]) -> Iterator[str]:
    steps = {step["id"]: step for step in listing["snapshots"]}
    if not steps:
        yield "No saved steps."
    for turn in listing["turns"]:
        aside = "" if turn["on_path"] else "  ↯ set aside"
        yield f"turn {turn['turn_index']}  {turn['summary']}{aside}"
        for entry in turn["steps"]:
            if entry["id"] in steps:
                yield "  " + _step_line(steps[entry["id"]])


def _step_line(step: dict[str, Any]) -> str:
    marks = {"head": "→", "has_branches": "⎇", "truncated": "✂"}
    shown = "".join(mark for key, mark in marks.items() if step[key])
    label = f" ★ {step['label']}" if step["label"] else ""
    did = ", ".join(step["tools"]) or "answered"
    return (
        f"turn {step['turn_index']}, step {step['number']}  {step['id'][:8]}  {did}  "
        f"{step['created_at']}  {step['model'] or ''} {shown}{label}"
    ).rstrip()


def _message_line(message: dict[str, Any]) -> str:
    calls = "".join(
        f" {call['name']}({json.dumps(call['args'], ensure_ascii=False)})" for call in message["tool_calls"] or ()
    )
    return f"{message['role']}: {message['text'] or ''}{calls}"
