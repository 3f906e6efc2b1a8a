"""What is kept and what goes: clear, delete, memory, retention."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from turnback.bots.asking import Asked, SettingsPort
from turnback.bots.commands import Clear, Delete, MemoryForget, MemoryList, MemorySwitch, Retention
from turnback.bots.replies import Reply
from turnback.bots.telling import telling_apart, value_text
from turnback.bots.words import printable
from turnback.core.errors import Forbidden, InvalidRequest, NotFound
from turnback.core.models import Fact
from turnback.core.policy import Right
from turnback.core.text import counted

_SECTION = "time_travel."
_DAYS = "time_travel.retention_days"
_WORDS_STAY = "What people wrote stays in the conversation."


async def clear(asked: Asked, command: Clear) -> Reply:
    """`/replay clear`."""
    if not asked.confirmed:
        await asked.app.rewind.thread(asked.actor, asked.thread_id, Right.REWIND)
        listing = await asked.app.rewind.list_steps(asked.actor, asked.thread_id, everything=True)
        if not listing.usage.steps:
            return Reply(text="No steps are saved here, so there is nothing to delete.")
        steps, aside = counted(listing.usage.steps, "step"), ", also those set aside" if listing.aside else ""
        return asked.ask_first(
            command,
            f"Delete the {steps} saved here{aside}? That cannot be undone.\n"
            "The conversation itself stays, and so does /undo.",
            f"Delete {steps}",
        )
    deleted = await asked.app.rewind.clear(asked.actor, asked.thread_id)
    return Reply(text=f"Deleted {counted(deleted, 'step')}{asked.by}. The conversation stays.")


async def delete(asked: Asked, command: Delete) -> Reply:
    """`/delete`."""
    if not asked.confirmed:
        return await _ask_to_delete(asked, command)
    await asked.app.rewind.delete(asked.actor, asked.thread_id)
    return Reply(text=f"Deleted this chat{asked.by}. The next message begins a new one.")


async def memory(asked: Asked, command: MemoryList) -> Reply:
    """`/memory list`."""
    del command
    thread = await asked.app.rewind.thread(asked.actor, asked.thread_id)
    facts = await asked.app.rewind.facts(asked.actor, asked.thread_id)
    if not thread.memory:
        return Reply(text="Memory is off here. /memory on turns it on.")
    if not facts:
        return Reply(text="Nothing is remembered here.")
    ids = telling_apart([fact.id for fact in facts])
    lines = [f"{ids[fact.id]} · turn {fact.turn_index} · {printable(fact.text, 200)}" for fact in facts]
    return Reply(text="\n".join(["Remembered here:", *lines, "/memory forget ID deletes one."]))


async def forget(asked: Asked, command: MemoryForget) -> Reply:
    """`/memory forget ID`."""
    fact = await _get_fact(asked, command.fact.casefold())
    await asked.app.rewind.forget(asked.actor, asked.thread_id, fact.id)
    return Reply(text=f"Forgotten{asked.by}, and the steps saved from turn {fact.turn_index} on with it. {_WORDS_STAY}")


async def switch_memory(asked: Asked, command: MemorySwitch) -> Reply:
    """`/memory on` and `off`."""
    if command.on:
        await asked.app.rewind.set_memory(asked.actor, asked.thread_id, True)
        return Reply(text=f"Memory is on{asked.by}.")
    if not asked.confirmed:
        await asked.app.rewind.thread(asked.actor, asked.thread_id, Right.REWIND)
        facts = counted(len(await asked.app.rewind.facts(asked.actor, asked.thread_id)), "remembered fact")
        steps = (await asked.app.steps.usage([asked.thread_id])).get(asked.thread_id)
        return asked.ask_first(
            command,
            f"Turn memory off? That deletes the {facts} of this chat and its "
            f"{counted(steps.steps if steps else 0, 'step')}, for good. {_WORDS_STAY}",
            "Turn memory off",
        )
    await asked.app.rewind.set_memory(asked.actor, asked.thread_id, False)
    return Reply(text=f"Memory is off{asked.by}; what was remembered and the steps are deleted. {_WORDS_STAY}")


async def retention(asked: Asked, command: Retention) -> Reply:
    """`/retention [KEY VALUE]`, for admins."""
    if not asked.actor.admin:
        raise Forbidden("Only an admin of this service may do that.")
    if asked.settings is None:
        raise InvalidRequest("The settings cannot be changed from here.")
    if command.key is None:
        return Reply(text="\n".join(["Kept here:", *_rows(asked.settings), "/retention KEY VALUE changes one."]))
    key = command.key if command.key.startswith(_SECTION) else _SECTION + command.key
    row = _get_row(asked.settings, key)
    if command.value is None:
        return Reply(text=_line(row, with_help=True))
    question = await _ask_to_shorten(asked, command, key, command.value)
    if question is not None:
        return question
    row = await asked.settings.change_text(asked.actor, key, command.value)
    return Reply(text=f"Set: {_line(row)}")


async def _ask_to_delete(asked: Asked, command: Delete) -> Reply:
    thread = await asked.app.rewind.thread(asked.actor, asked.thread_id, Right.REWIND)
    turns = len({row.turn_no for row, _ in await asked.app.rewind.transcript(asked.actor, thread.id, everything=True)})
    facts = await asked.app.rewind.facts(asked.actor, thread.id)
    steps = (await asked.app.steps.usage([thread.id])).get(thread.id)
    goes = f"{counted(turns, 'turn')}, {counted(steps.steps if steps else 0, 'step')}"
    if facts:
        goes += f", {counted(len(facts), 'remembered fact')}"
    return asked.ask_first(
        command,
        f"Delete this chat “{printable(thread.title, 60)}” for good: {goes}? That cannot be undone.\n"
        "Chats that were forked from it stay.",
        "Delete this chat",
    )


async def _get_fact(asked: Asked, wanted: str) -> Fact:
    facts = await asked.app.rewind.facts(asked.actor, asked.thread_id)
    fitting = [fact for fact in facts if fact.id.casefold().startswith(wanted)]
    exact = [fact for fact in fitting if fact.id.casefold() == wanted]
    if not fitting or (len(wanted) < 4 and not exact):
        raise NotFound("There is no such fact here. /memory list shows them.")
    if len(fitting) > 1 and not exact:
        raise InvalidRequest("Several facts begin like that. Give more characters: /memory list shows them.")
    return exact[0] if exact else fitting[0]


async def _ask_to_shorten(asked: Asked, command: Retention, key: str, value: str) -> Reply | None:
    """The question before a shorter retention; None if nothing would go, or it is no such change."""
    if key != _DAYS or asked.confirmed or not value.isdecimal() or not 1 <= len(value) <= 4 or int(value) < 1:
        return None
    days = int(value)
    if asked.settings is None or days >= int(_get_row(asked.settings, key)["running"]):
        return None
    steps, chats = await asked.app.steps.count_before(asked.now - timedelta(days=days))
    if not steps:
        return None
    goes = f"{counted(steps, 'step')} of {counted(chats, 'chat')}"
    return asked.ask_first(
        command,
        f"Keep steps for {counted(days, 'day')} only? The next clean-up then deletes {goes}, for good.",
        f"Keep {counted(days, 'day')}",
    )


def _rows(settings: SettingsPort) -> list[str]:
    return [_line(row) for row in settings.rows() if str(row["key"]).startswith(_SECTION)]


def _get_row(settings: SettingsPort, key: str) -> Mapping[str, Any]:
    for row in settings.rows():
        if row["key"] == key and key.startswith(_SECTION):
            return row
    raise InvalidRequest(f"There is no {printable(key.removeprefix(_SECTION), 40)} to set. /retention shows what is.")


def _line(row: Mapping[str, Any], *, with_help: bool = False) -> str:
    text = f"{str(row['key']).removeprefix(_SECTION)} = {printable(value_text(row['running']), 80)}"
    return f"{text}: {printable(str(row['help']), 200)}" if with_help and row.get("help") else text
