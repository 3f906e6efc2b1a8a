"""Every message once, over copies, changes and restarts; and what still works afterwards."""

from __future__ import annotations

from contract.scenarios.driver import Driver, Feature, scenario
from contract.scenarios.phrases import nothing_was_said, remembered, restart, step, steps, talk


@scenario(Feature.MAILBOX)
async def message_that_waited_for_the_service_is_answered(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.stop()
    await ann.say("two")
    await ann.start()
    await ann.seen("You said: two")
    await ann.rest()
    assert await remembered(ann) == ["one", "two"]


@scenario(Feature.LIVE_COPIES)
async def copy_of_a_message_does_nothing(ann: Driver) -> None:
    await talk(ann, "one", "two", "three")
    await ann.redeliver()
    await nothing_was_said(ann)
    await ann.command("/undo")
    await ann.seen("Took 1 turn back")
    await ann.redeliver()
    await nothing_was_said(ann)
    assert await remembered(ann) == ["one", "two"]


@scenario(Feature.MAILBOX)
async def copy_of_a_message_does_nothing_after_a_restart(ann: Driver) -> None:
    await talk(ann, "one", "two", "three")
    await ann.command("/undo")
    await ann.seen("Took 1 turn back")
    await ann.stop()
    await ann.redeliver()
    await ann.start()
    await nothing_was_said(ann)
    assert await remembered(ann) == ["one", "two"]


@scenario(Feature.MAILBOX)
async def copy_of_a_press_does_nothing_after_a_restart(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command("/replay clear")
    await ann.press("Delete 1 step", await ann.seen("Delete the 1 step"))
    await ann.seen("Deleted 1 step")
    await ann.stop()
    await ann.redeliver()
    await ann.start()
    await nothing_was_said(ann)
    await talk(ann, "two")
    assert len(await steps(ann)) == 1


@scenario(Feature.EDITS)
async def message_that_is_changed_later_starts_nothing(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.edit("one, or rather two")
    await nothing_was_said(ann)
    assert await remembered(ann) == ["one"]


@scenario()
async def buttons_work_after_a_restart(ann: Driver) -> None:
    await talk(ann, "one", "two")
    await ann.command(f"/replay {await step(ann, 1)}")
    back = await ann.seen("Back at turn 1")
    await restart(ann)
    await ann.press("Bring back", back)
    await ann.seen("Brought back. Now at turn 2, step 1")
    assert await remembered(ann) == ["one", "two"]


@scenario()
async def conversation_goes_on_after_a_restart(ann: Driver) -> None:
    await talk(ann, "one")
    await restart(ann)
    await talk(ann, "two")
    assert await remembered(ann) == ["one", "two"]


@scenario()
async def conversation_goes_on_after_a_turn_that_a_restart_ended(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.say("slow 30")
    await ann.busy()
    await restart(ann)
    await talk(ann, "two")
    assert (await remembered(ann))[-1:] == ["two"]


@scenario(Feature.MAILBOX)
async def turn_that_a_restart_ended_is_told_of(ann: Driver) -> None:
    await ann.say("slow 30")
    await ann.busy()
    await restart(ann)
    await ann.seen("Interrupted by a restart.")


@scenario()
async def stop_after_a_restart_is_answered_once(ann: Driver) -> None:
    await ann.say("shell echo hi")
    await ann.seen("run_command")
    await restart(ann)
    await ann.busy()
    await ann.command("/stop")
    await ann.seen("Stopped.")
    await ann.rest()
    assert [shown.text for shown in await ann.answers() if "Stopped" in shown.text] == ["Stopped."]
