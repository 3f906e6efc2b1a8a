"""The time machine in the agent's own hands. What it asks for happens when its turn ends."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from turnback.core.agents.work import ToolContext
from turnback.core.text import well_formed


async def undo_task(ctx: ToolContext, n: Annotated[int, Field(ge=1, le=1000)] = 1) -> str:
    """Undo the last turns of this conversation, this one too, when this turn ends.

    Args:
        n: How many turns before this one.
    """
    ctx.deps.context.undo(n)
    turns = "the turn" if n == 1 else f"the {n} turns"
    return f"when this turn ends, it and {turns} before it will be undone"


async def redo_task(ctx: ToolContext) -> str:
    """Reverse the last undo when this turn ends; this turn goes, too."""
    ctx.deps.context.redo()
    return "when this turn ends, the last undo will be reversed"


async def list_tasks(ctx: ToolContext) -> str:
    """List the turns before this one, which can be undone, oldest first."""
    turns = await ctx.deps.context.turns()
    return "\n".join(f"{index}. {well_formed(summary)}" for index, summary in turns) or "(no turns before this one)"
