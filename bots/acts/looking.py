"""Looking back: overview, list, tree, show, compare. None of it changes anything or asks a model."""

from __future__ import annotations

from turnback.bots import listing
from turnback.bots.asking import Asked
from turnback.bots.commands import Compare, ListSteps, Overview, Show, Tree
from turnback.bots.replies import Reply
from turnback.core.errors import InvalidRequest


async def overview(asked: Asked, command: Overview) -> Reply:
    """`/replay`; as a reply to a message: its step."""
    if command.step is not None:
        return await show(asked, Show(step=command.step))
    steps = await asked.app.rewind.list_steps(asked.actor, asked.thread_id)
    url = asked.links.steps_url(asked.thread_id) if asked.links else None
    return listing.overview(steps, url)


async def list_steps(asked: Asked, command: ListSteps) -> Reply:
    """`/replay list`."""
    steps = await asked.app.rewind.list_steps(asked.actor, asked.thread_id)
    return listing.steps_list(steps, command.page, asked.now, asked.policy.budgets, asked.place.can.max_text)


async def tree(asked: Asked, command: Tree) -> Reply:
    """`/replay tree`."""
    steps = await asked.app.rewind.list_steps(asked.actor, asked.thread_id, everything=True)
    return listing.tree(steps, command.page, asked.now, asked.policy.budgets, asked.place.can.max_text)


async def show(asked: Asked, command: Show) -> Reply:
    """`/replay show STEP`."""
    detail = await asked.app.rewind.show(asked.actor, asked.thread_id, _named(command.step))
    return listing.step(detail, detail.view.step.summary, asked.now)


async def compare(asked: Asked, command: Compare) -> Reply:
    """`/replay compare A [B]`."""
    rewind, actor, thread = asked.app.rewind, asked.actor, asked.thread_id
    a = await rewind.resolve(actor, thread, _named(command.step))
    b = await rewind.resolve(actor, thread, command.other) if command.other is not None else None
    result = await rewind.compare(actor, thread, a.step.id, b.step.id if b else None)
    return listing.comparison(result, a, b)


def _named(step: str | None) -> str:
    if step is None:
        raise InvalidRequest("Which step? /replay list shows them; or send this as a reply to an answer.")
    return step
