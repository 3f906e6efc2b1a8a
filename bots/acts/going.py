"""Going back, forward and aside: restore, undo, redo, reset, fork; and the names of steps."""

from __future__ import annotations

from turnback.bots.asking import Asked
from turnback.bots.commands import ForkStep, Name, Redo, Reset, Restore, TellLesson, Undo
from turnback.bots.replies import Button, Reply
from turnback.bots.telling import effects_text, head_id, stands, where_and_id
from turnback.bots.words import printable
from turnback.core.answers import Fork, Rewound
from turnback.core.errors import InvalidRequest
from turnback.core.text import counted

_GOES_ON = "Your next message continues from there."


async def restore(asked: Asked, command: Restore) -> Reply:
    """`/replay STEP`. It can be brought back, so it is done at once; with `on_restore = discard` it asks."""
    if command.step is None:
        raise InvalidRequest("Which step? /replay list shows them; or send this as a reply to an answer.")
    if asked.policy.on_restore == "discard" and not asked.confirmed:
        question = await _ask_to_discard(asked, command, command.step)
        if question is not None:
            return question
    rewound = await asked.app.rewind.restore(
        asked.actor, asked.thread_id, command.step, confirm_files=command.confirm_files
    )
    return _moved(asked, rewound, f"Back at {stands(rewound)}")


async def undo(asked: Asked, command: Undo) -> Reply:
    """`/undo [n]`."""
    rewound = await asked.app.rewind.undo(asked.actor, asked.thread_id, command.n, confirm_files=command.confirm_files)
    undone = counted(rewound.undone, "turn")
    if rewound.undone < command.n:
        return _moved(asked, rewound, f"Took {undone} back, as many as there were. Now at {stands(rewound)}")
    return _moved(asked, rewound, f"Took {undone} back. Now at {stands(rewound)}")


async def redo(asked: Asked, command: Redo) -> Reply:
    """`/redo`, and the button "Bring back"."""
    rewound = await asked.app.rewind.redo(
        asked.actor, asked.thread_id, only=command.only, confirm_files=command.confirm_files
    )
    return _moved(asked, rewound, f"Brought back. Now at {stands(rewound)}")


async def tell_lesson(asked: Asked, command: TellLesson) -> Reply:
    """The button "Tell the agent what was tried"."""
    await asked.app.rewind.tell_lesson(asked.actor, asked.thread_id, command.move)
    return Reply(text="The agent will be told what was tried, with your next message.")


async def reset(asked: Asked, command: Reset) -> Reply:
    """`/reset`."""
    del command
    rewound = await asked.app.rewind.reset(asked.actor, asked.thread_id)
    return _moved(asked, rewound, f"Started again. Now at {stands(rewound)}")


async def fork(asked: Asked, command: ForkStep) -> Reply:
    """`/fork [STEP] [here]`."""
    made = await asked.app.rewind.fork(asked.actor, asked.thread_id, command.step)
    lines = [_forked(made)]
    if command.here:
        lines.append(await _open_beside(asked, made))
    buttons = [Button(label="Open", url=asked.links.thread_url(made.thread.id))] if asked.links else []
    if not asked.place.group:
        buttons.append(Button(label="Continue here", command=f"/switch {made.thread.id}"))
    return Reply(text="\n".join(lines), buttons=tuple(buttons))


async def name(asked: Asked, command: Name) -> Reply:
    """`/replay name STEP LABEL`."""
    if command.step is None:
        raise InvalidRequest("Which step shall have that name? Usage: /replay name STEP LABEL")
    view = await asked.app.rewind.label(asked.actor, asked.thread_id, command.step, command.label)
    if command.label is None:
        return Reply(text=f"{where_and_id(view.step).capitalize()} has no name any more.")
    label = view.step.label or command.label
    return Reply(
        text=f"{where_and_id(view.step).capitalize()} is now ★ {label}: /replay restore @{label} goes back to it."
    )


async def _open_beside(asked: Asked, made: Fork) -> str:
    title = printable(made.thread.title, 60)
    spot = where_and_id(made.root.step).rpartition(" ")[0] if made.root else "that step"
    place = None
    if asked.beside is not None and asked.place.can.side_places:
        place = await asked.beside(
            title, f"This goes on from {spot}. What you write here stays apart from the original."
        )
    if place is None:
        return "This place cannot hold a second chat beside this one, so it was not opened here."
    await asked.places.bind(asked.actor, place, made.thread)
    return f"It goes on beside this one, in “{title}”."


def _forked(made: Fork) -> str:
    spot = where_and_id(made.root.step).rpartition(" ")[0] if made.root else "that step"
    if made.again:
        return f"That fork of {spot} was made just now already. It is in your own chats (/chats)."
    return f"Forked {spot} into a new chat of your own (/chats). This one stays as it is."


def _moved(asked: Asked, rewound: Rewound, what: str) -> Reply:
    if rewound.unchanged:
        return Reply(text=f"Already there: {stands(rewound)}. Nothing was changed.", stands_at=head_id(rewound.head))
    lines = [f"{what}{asked.by}"]
    if rewound.turns_set_aside:
        lines.append(f"{counted(rewound.turns_set_aside, 'turn')} {_fate(asked, rewound)}.")
    if rewound.turns_brought_back:
        lines.append(f"{counted(rewound.turns_brought_back, 'turn')} brought back.")
    lines.append(_GOES_ON)
    if rewound.effects_total:
        lines.append(effects_text(rewound))
    elif not rewound.turns_brought_back:
        lines.append("Files, and messages that were sent, stay as they are.")
    return Reply(text="\n".join(lines), buttons=_offers(asked, rewound), stands_at=head_id(rewound.head), moved=True)


def _offers(asked: Asked, rewound: Rewound) -> tuple[Button, ...]:
    if rewound.bring_back is None:
        return ()
    bring_back = Button(label="Bring back", command=f"/bringback {rewound.bring_back}")
    if rewound.lesson is None or asked.policy.lessons != "offer":
        return (bring_back,)
    return (bring_back, Button(label="Tell the agent what was tried", command=f"/lesson {rewound.bring_back}"))


def _fate(asked: Asked, rewound: Rewound) -> str:
    return "set aside" if asked.policy.on_restore == "keep" or rewound.bring_back else "deleted"


async def _ask_to_discard(asked: Asked, command: Restore, step: str) -> Reply | None:
    preview = await asked.app.rewind.preview(asked.actor, asked.thread_id, step)
    if preview.refusal is not None:
        raise preview.refusal
    told = preview.rewound
    if told.unchanged:
        return None
    later = counted(told.turns_set_aside, "later turn")
    goes = "All that does not lead there will be deleted for good."
    if told.turns_set_aside:
        goes = f"{later} will be deleted for good. So will all else that does not lead there."
    lines = [f"Go back to {stands(told)}?", goes]
    effects = effects_text(told)
    yes = f"Delete {later}" if told.turns_set_aside else "Delete the rest"
    return asked.ask_first(command, "\n".join([*lines, effects] if effects else lines), yes)
