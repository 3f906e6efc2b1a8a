"""The tools of the built-in agent.

A tool that cannot do what it was asked raises `ToolFailed` with one plain line for the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_ai import Tool

from turnback.core.agents.options import AgentOptions, PermissionMode, ShellMode
from turnback.core.agents.tools import files, memory, plan, timemachine
from turnback.core.agents.tools.sandbox import Confined, Unconfined
from turnback.core.agents.tools.shell import command_tool
from turnback.core.agents.work import Work

_QUIET: tuple[Callable[..., Any], ...] = (
    files.read_file,
    files.list_files,
    plan.plan,
    plan.note,
    memory.remember,
    memory.recall,
    timemachine.list_tasks,
    timemachine.undo_task,
    timemachine.redo_task,
)
_EFFECTS: tuple[Callable[..., Any], ...] = (files.write_file, files.append_file, files.delete_file)

QUIET_TOOLS = frozenset(function.__name__ for function in _QUIET)
"""Tools that are read-only or whose doing goes back with the turns."""


def tools_for(options: AgentOptions) -> list[Tool[Work]]:
    """The tools that an agent with these options has; those that always ask are marked so."""
    ask = options.permission_mode is PermissionMode.CONFIRM_ALL
    tools = [Tool[Work](function, takes_ctx=True) for function in _QUIET]
    tools += [Tool[Work](function, takes_ctx=True, requires_approval=ask) for function in _EFFECTS]
    if options.shell is not ShellMode.OFF:
        shell = Confined() if options.shell is ShellMode.CONFINED else Unconfined()
        asks = options.permission_mode is not PermissionMode.AUTO_APPROVE
        tools.append(Tool[Work](command_tool(shell, asks=asks), takes_ctx=True))
    return tools
