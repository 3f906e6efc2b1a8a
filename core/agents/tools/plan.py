"""The agent's own plan and scratchpad: keys of its state, so they go back with it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from turnback.core.agents.work import ToolContext
from turnback.core.text import well_formed


class PlanItem(BaseModel):
    """One thing to do."""

    title: str
    status: Literal["pending", "in_progress", "done"]


async def plan(ctx: ToolContext, items: list[PlanItem]) -> str:
    """Replace the plan: what is to be done, in order, and how far each is.

    Args:
        items: The whole plan, those that are done included.
    """
    ctx.deps.plan = tuple({"title": well_formed(item.title), "status": item.status} for item in items)
    done = sum(item.status == "done" for item in items)
    return f"the plan has {len(items)} items, {done} done"


async def note(ctx: ToolContext, text: str) -> str:
    """Write a line on the scratchpad, to have it later.

    Args:
        text: The line.
    """
    ctx.deps.scratchpad += well_formed(text) + "\n"
    return "noted"
