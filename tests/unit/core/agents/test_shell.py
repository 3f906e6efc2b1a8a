"""Commands: where they run, what they see, how they end."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai.exceptions import ToolFailed
from support.listening import Surroundings, listen

from turnback.core.agents import demo
from turnback.core.agents.options import AgentOptions, ShellMode
from turnback.core.agents.tools import sandbox
from turnback.core.agents.tools.sandbox import Confined, Place, Unconfined
from turnback.core.agents.tools.shell import MAX_OUTPUT, command_tool


async def run(place: Place, context: Surroundings, command: str, timeout: float = 60) -> str:  # noqa: ASYNC109
    ctx: Any = SimpleNamespace(deps=SimpleNamespace(context=context), tool_call_approved=True)
    return await command_tool(place, asks=True, timeout=timeout)(ctx, command)


@pytest.fixture
def confined(needs_program: Callable[[str], str]) -> Confined:
    place = Confined(needs_program("bwrap"))
    if place.refusal():
        pytest.skip("missing program: bwrap that is allowed to run")
    return place


async def test_command_runs_in_the_workspace(context: Surroundings) -> None:
    assert await run(Unconfined(), context, "pwd; echo made > file") == f"{context.workspace}\n"
    assert (context.workspace / "file").read_text() == "made\n"


async def test_unconfined_command_sees_no_secrets(context: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNBACK_AGENT__API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    assert "sk-secret" not in await run(Unconfined(), context, "env")


async def test_exit_code_makes_a_failure_with_the_output(context: Surroundings) -> None:
    with pytest.raises(ToolFailed) as caught:
        await run(Unconfined(), context, "echo out; echo err >&2; exit 3")

    assert caught.value.message == "out\nerr\n[exit code 3]"


async def test_silent_command_says_so(context: Surroundings) -> None:
    assert await run(Unconfined(), context, "true") == "(no output)\n"


async def test_output_over_the_limit_is_dropped(context: Surroundings) -> None:
    text = await run(Unconfined(), context, f"head -c {MAX_OUTPUT + 1000} /dev/zero | tr '\\0' x")

    assert text == "x" * MAX_OUTPUT + "\n[1000 more bytes]\n"


async def test_late_command_is_ended_with_its_children(context: Surroundings) -> None:
    with pytest.raises(ToolFailed, match=r"started\n\[stopped after 0.3 seconds\]"):
        await run(Unconfined(), context, "echo started; (sleep 600 & echo $! > child; wait)", timeout=0.3)

    assert ends(int((context.workspace / "child").read_text()))


async def test_cancelled_command_is_ended_with_its_children(context: Surroundings) -> None:
    fifo = context.workspace / "started"
    os.mkfifo(fifo)
    task = asyncio.create_task(run(Unconfined(), context, "sleep 600 & echo $! > started; wait"))
    child = int(await asyncio.to_thread(fifo.read_text))

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ends(child)


async def test_command_cancelled_while_it_starts_is_ended_with_its_children(
    context: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo, let_go, start = context.workspace / "started", asyncio.Event(), asyncio.create_subprocess_exec

    async def slow_start(*words: str, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*words, **options)
        await let_go.wait()
        return process

    os.mkfifo(fifo)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", slow_start)
    task = asyncio.create_task(run(Unconfined(), context, "sleep 600 & echo $! > started; wait"))
    child = int(await asyncio.to_thread(fifo.read_text))

    task.cancel()
    let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ends(child)


async def test_background_job_ends_with_its_command(context: Surroundings) -> None:
    text = await run(Unconfined(), context, "sleep 600 & echo $!")

    assert ends(int(text))


async def test_job_that_left_the_group_holds_nobody(context: Surroundings) -> None:
    text = await run(Unconfined(), context, "setsid sleep 600 & echo $!")

    os.kill(int(text), 9)


async def test_confined_command_sees_its_workspace_only(confined: Confined, context: Surroundings) -> None:
    secret = context.workspace.parent / "turnback.db"
    secret.write_text("secret")

    text = await run(
        confined, context, f"pwd; ls -a /workspace; ls {context.workspace.parent} {Path.home()} 2>&1; true"
    )

    assert text.startswith("/workspace\n.\n..\n")
    assert "turnback.db" not in text
    assert text.count("No such file") == 2


async def test_confined_command_writes_its_workspace_only(confined: Confined, context: Surroundings) -> None:
    await run(confined, context, "echo made > file")

    assert (context.workspace / "file").read_text() == "made\n"
    for place in ("/usr/made", "/etc/made", "/made/x"):
        with pytest.raises(ToolFailed):
            await run(confined, context, f"echo made > {place}")


async def test_confined_command_has_no_network_and_no_secrets(
    confined: Confined, context: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNBACK_AGENT__API_KEY", "sk-secret")

    text = await run(confined, context, "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '; env; ls /proc")

    assert text.splitlines()[0] == "lo"
    assert "sk-secret" not in text
    assert str(os.getpid()) not in text.split()


async def test_confined_jobs_end_with_their_command(confined: Confined, context: Surroundings) -> None:
    fifo = context.workspace / "held"
    os.mkfifo(fifo)
    reading = asyncio.create_task(asyncio.to_thread(fifo.read_bytes))

    await run(
        confined,
        context,
        "setsid sh -c 'exec 3> held; echo open > opened; sleep 600' & until test -e opened; do :; done",
    )

    assert await asyncio.wait_for(reading, 10) == b""


async def test_shell_without_bubblewrap_is_refused_in_words(
    context: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "find_bubblewrap", lambda: None)
    agent = demo.build(AgentOptions(shell=ShellMode.CONFINED))

    told = await listen(agent.run({}, "shell echo hi", context), context)

    assert told.gates == []
    assert told.text == "the shell is refused: bubblewrap is not installed, so commands cannot be confined"


async def test_bubblewrap_that_does_not_work_is_refused_in_words(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)

    assert Confined(str(program)).refusal() == (
        "the shell is refused: commands cannot be confined here (bwrap: No permissions to create new namespace)"
    )


def ends(process: int) -> bool:
    """Whether it ends, which a kill lets happen a moment later."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)
