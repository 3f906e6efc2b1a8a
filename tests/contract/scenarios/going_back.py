"""Go back and forward: restore, Bring back, undo, redo, reset."""

from __future__ import annotations

import re

from contract.scenarios.driver import Driver, Feature, scenario
from contract.scenarios.phrases import nothing_was_said, remembered, restart, step, steps, talk


@scenario()
async def restore_by_eight_characters_takes_the_chat_back(ann: Driver) -> None:
    await talk(ann, "one", "two")
    first = await step(ann, 1)
    await ann.command(f"/replay {first}")
    shown = await ann.seen(f"Back at turn 1, step 1 ({first}): one")
    assert "1 turn set aside." in shown.text
    assert await remembered(ann) == ["one"]


@scenario()
async def restore_to_the_middle_of_a_turn_goes_on_from_there(ann: Driver) -> None:
    await talk(ann, "steps 2")
    await ann.command(f"/replay restore {await step(ann, 1, 2)}")
    await ann.seen("Back at turn 1, step 2")
    await talk(ann, "next")
    await ann.command("/replay list")
    await ann.seen("Turn 2: next")


@scenario()
async def restore_to_where_the_chat_stands_changes_nothing(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command(f"/replay {await step(ann, 1)}")
    shown = await ann.seen("Already there: turn 1, step 1")
    assert "Nothing was changed." in shown.text
    assert not shown.buttons


@scenario(Feature.REPLIES)
async def restore_answers_the_message_where_the_chat_stands(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command(f"/replay {await step(ann, 1)}")
    shown = await ann.seen("Back at turn 1")
    assert shown.answers == "You said: one"


@scenario(Feature.REPLIES)
async def command_that_answers_a_message_means_its_step(ann: Driver) -> None:
    answer = await talk(ann, "one")
    first = await step(ann, 1)
    await talk(ann, "two")
    for command, outcome in (
        ("/replay", "Asked: one"),
        ("/replay show", "Asked: one"),
        ("/replay name start", f"Turn 1, step 1 ({first}) is now ★ start"),
        ("/fork", "Forked turn 1, step 1"),
        ("/replay restore", f"Back at turn 1, step 1 ({first})"),
    ):
        await ann.reply(answer, command)
        await ann.seen(outcome)


@scenario(Feature.REPLIES)
async def command_that_answers_a_message_without_a_step_says_so(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command("/replay list")
    listed = await ann.seen("Steps of this chat")
    await ann.reply(listed, "/replay restore")
    await ann.seen("No step ended with that message.")
    assert await remembered(ann) == ["one", "two"]


@scenario()
async def unknown_step_is_not_found(ann: Driver) -> None:
    await talk(ann, "one")
    first = await step(ann, 1)
    other = ("0" if first[0] != "0" else "1") + first[1:]
    await ann.command(f"/replay {other}")
    await ann.seen(re.compile("no such step", re.IGNORECASE))
    await ann.command("/replay restore 3f")
    await ann.seen("too short for a step")


@scenario()
async def bring_back_takes_a_restore_back(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command(f"/replay {await step(ann, 1)}")
    await ann.press("Bring back", await ann.seen("Back at turn 1"))
    await ann.seen("Brought back. Now at turn 2, step 1")
    assert await remembered(ann) == ["one", "two"]


@scenario(Feature.OLD_BUTTONS)
async def bring_back_pressed_again_changes_nothing_and_says_so(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command(f"/replay {await step(ann, 1)}")
    back = await ann.seen("Back at turn 1")
    await ann.press("Bring back", back)
    await ann.seen("Brought back.")
    await ann.press("Bring back", back)
    await ann.seen("That was brought back already, or something newer lies on top of it. Nothing was changed.")
    assert await remembered(ann) == ["one", "two"]


@scenario(Feature.OLD_BUTTONS)
async def bring_back_under_a_newer_message_changes_nothing_and_says_so(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command(f"/replay {await step(ann, 1)}")
    back = await ann.seen("Back at turn 1")
    await talk(ann, "three")
    await ann.press("Bring back", back)
    await ann.seen("something newer lies on top of it. Nothing was changed.")
    assert await remembered(ann) == ["one", "three"]


@scenario()
async def undo_goes_back_one_turn_or_several(ann: Driver) -> None:
    await talk(ann, "one", "two", "three", "four")
    await ann.command("/undo")
    await ann.seen("Took 1 turn back. Now at turn 3")
    await ann.command("/undo 2")
    await ann.seen("Took 2 turns back. Now at turn 1")
    assert await remembered(ann) == ["one"]


@scenario()
async def undo_beyond_the_start_says_how_far_it_went(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command("/undo 100")
    await ann.seen("Took 2 turns back, as many as there were. Now at the beginning")
    await ann.command("/undo")
    await ann.seen(re.compile("nothing to undo", re.IGNORECASE))


@scenario()
async def redo_reverses_one_move_at_a_time_also_after_a_restart(ann: Driver) -> None:
    await talk(ann, "one", "two")
    for _ in range(2):
        await ann.command("/undo")
        await ann.seen("Took 1 turn back")
    await restart(ann)
    await ann.command("/redo")
    await ann.seen("Now at turn 1")
    await ann.command("/redo")
    await ann.seen("Now at turn 2")
    await ann.command("/redo")
    await ann.seen(re.compile("nothing to redo", re.IGNORECASE))


@scenario()
async def message_ends_what_can_be_redone_and_the_steps_stay(ann: Driver) -> None:
    await talk(ann, "one", "two")
    second = await step(ann, 2)
    await ann.command("/undo")
    await ann.seen("Took 1 turn back")
    await talk(ann, "three")
    await ann.command("/redo")
    await ann.seen(re.compile("nothing to redo", re.IGNORECASE))
    await ann.command(f"/replay {second}")
    await ann.seen("Back at turn 2, step 1")
    assert await remembered(ann) == ["one", "two"]


@scenario()
async def reset_starts_again_and_can_be_brought_back(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command("/reset")
    shown = await ann.seen("Started again. Now at the beginning")
    await ann.press("Bring back", shown)
    await ann.seen("Brought back. Now at turn 2")
    await ann.command("/reset")
    await ann.seen("Started again.")
    assert await remembered(ann) == []


@scenario()
async def effects_that_going_back_does_not_undo_are_named(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.say("shell echo hi")
    await ann.press("Approve", await ann.seen("run_command"))
    await ann.seen(re.compile("^hi"))
    await ann.rest()
    await ann.command("/undo")
    shown = await ann.seen("Took 1 turn back")
    assert "This stays done, going back does not undo it:\n- turn 2, step 1: run_command" in shown.text


@scenario(time_travel__on_restore="discard")
async def restore_that_deletes_asks_first(ann: Driver) -> None:
    await talk(ann, "one", "two")
    first = await step(ann, 1)
    await ann.command(f"/replay {first}")
    await ann.press("Cancel", await ann.seen("1 later turn will be deleted for good."))
    await ann.seen("Nothing was done.")
    assert len(await steps(ann)) == 2
    await ann.command(f"/replay {first}")
    await ann.press("Delete 1 later turn", await ann.seen("Go back to turn 1"))
    await ann.seen("1 turn deleted.")
    assert await steps(ann, "/replay tree") == [first]


@scenario(Feature.DELETES, Feature.CHOICES, chat__after_restore="delete")
async def later_answers_and_replies_go_where_that_is_set(ann: Driver) -> None:
    await talk(ann, "one")
    answer = await talk(ann, "two")
    await ann.command("/replay list")
    await ann.press("Turn 1, step 1", await ann.seen("Steps of this chat"))
    opened = await ann.seen("Asked: one")
    await ann.command("/undo")
    back = await ann.seen("Took 1 turn back")
    await ann.gone(answer)
    await ann.gone(opened)
    await ann.press("Bring back", back)
    await ann.seen("Brought back")


@scenario(Feature.DELETES, chat__after_restore="delete")
async def approvals_of_later_turns_go_where_that_is_set(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.say("shell echo hi")
    card = await ann.seen("run_command")
    await ann.press("Approve", card)
    await ann.seen(re.compile("^hi"))
    await ann.rest()
    await ann.command("/undo")
    await ann.gone(card)
    assert await remembered(ann) == ["one"]


@scenario(Feature.DELETES, Feature.CHOICES, chat__after_restore="delete", time_travel__on_restore="discard")
async def question_before_a_restore_goes_where_that_is_set(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command("/replay list")
    await ann.press("Turn 1, step 1", await ann.seen("Steps of this chat"))
    await ann.press("Restore", await ann.seen("Asked: one"))
    question = await ann.seen("1 later turn will be deleted for good.")
    await ann.press("Delete 1 later turn", question)
    await ann.seen("1 turn deleted.")
    await ann.gone(question)
    (back,) = await ann.answers()
    assert back.text.startswith("Back at turn 1, step 1")


@scenario(Feature.MAILBOX)
async def command_that_comes_late_is_asked_about_first(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.stop()
    await ann.command("/undo")
    ann.pass_time(minutes=11)
    await ann.start()
    await ann.press("Leave it", await ann.seen("“/undo” was sent 11 min ago, and only comes in now. Do it?"))
    await ann.seen("Nothing was done.")
    await ann.stop()
    await ann.command("/undo")
    ann.pass_time(minutes=11)
    await ann.start()
    await ann.press("Do it", await ann.seen("only comes in now. Do it?"))
    await ann.seen("Took 1 turn back")
    assert await remembered(ann) == ["one"]


@scenario(Feature.EDITS)
async def command_that_is_changed_later_does_nothing_again(ann: Driver) -> None:
    await talk(ann, "one", "two", "three")
    await ann.command("/undo")
    await ann.seen("Took 1 turn back")
    await ann.edit("/undo 2")
    await nothing_was_said(ann)
    assert await remembered(ann) == ["one", "two"]
