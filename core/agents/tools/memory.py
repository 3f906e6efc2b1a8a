"""Facts that the agent keeps: each belongs to the turn that taught it, and goes back with it."""

from __future__ import annotations

from pydantic_ai.exceptions import ToolFailed

from turnback.core.agents.work import ToolContext
from turnback.core.text import well_formed

MAX_FACT = 2000
"""Characters of a fact."""


async def remember(ctx: ToolContext, text: str) -> str:
    """Remember a fact about the person or their work beyond this conversation's window.

    Args:
        text: The fact, in one sentence.
    """
    fact = " ".join(well_formed(text).split())
    if not fact or len(fact) > MAX_FACT:
        raise ToolFailed(f"a fact has 1 to {MAX_FACT} characters")
    if await ctx.deps.context.remember(fact) is None:
        raise ToolFailed("memory is off in this chat")
    return "remembered"


async def recall(ctx: ToolContext) -> str:
    """Read all the facts that were remembered here, one a line, oldest first."""
    facts = await ctx.deps.context.recall()
    return "\n".join(well_formed(fact.text) for fact in facts) or "(nothing is remembered)"
