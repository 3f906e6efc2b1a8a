"""While a turn runs: refusals, approvals, stopping, messages that wait."""

from __future__ import annotations

import re

from contract.scenarios.driver import Driver, Feature, scenario
from contract.scenarios.phrases import remembered, restart, step, talk


@scenario()
async def going_back_is_refused_while_a_turn_runs(ann: Driver) -> None:
    await talk(ann, "one", "two")
    first = await step(ann, 1)
    await ann.say("slow 30")
    await ann.busy()
    for command in (f"/replay {first}", "/undo", "/redo", "/reset"):
        await ann.command(command)
        await ann.seen("A turn is running")
    await ann.command("/stop")
    await ann.seen("Stopped")
    await ann.rest()
    await ann.command(f"/replay {first}")
    await ann.seen("Back at turn 1")


@scenario()
async def looking_and_forking_need_not_wait_for_a_turn(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.say("slow 30")
    await ann.busy()
    await ann.command("/replay list")
    await ann.seen("Turn 1: one")
    await ann.command("/fork")
    await ann.seen("Forked turn 1, step 1")
    await ann.command("/stop")
    await ann.seen("Stopped")


@scenario()
async def stop_where_nothing_runs_says_so(ann: Driver) -> None:
    await talk(ann, "one")
    await ann.command("/stop")
    await ann.seen("Nothing is running.")


@scenario()
async def going_back_is_refused_while_an_approval_waits(ann: Driver) -> None:
    await talk(ann, "one")
    first = await step(ann, 1)
    await ann.say("shell echo hi")
    card = await ann.seen("run_command")
    for command in (f"/replay {first}", "/undo"):
        await ann.command(command)
        await ann.seen(re.compile("An approval is waiting.*run_command", re.DOTALL))
    await ann.press("Deny", card)
    await ann.seen("denied")


@scenario()
async def approved_call_runs(ann: Driver) -> None:
    await ann.say("shell echo four-''two")
    await ann.press("Approve", await ann.seen("run_command"))
    await ann.seen(re.compile("^four-two"))


@scenario()
async def denied_call_does_not_run(ann: Driver) -> None:
    await ann.say("shell echo four-''two")
    await ann.press("Deny", await ann.seen("run_command"))
    await ann.seen("denied")
    await ann.rest()
    assert not any("four-two" in shown.text for shown in await ann.answers())


@scenario(agent__approval_timeout=1.0)
async def approval_that_nobody_gives_counts_as_denied(ann: Driver) -> None:
    await ann.say("shell echo four-''two")
    await ann.seen("run_command")
    await ann.seen(re.compile("denied|nobody", re.IGNORECASE))
    await ann.rest()
    assert not any(shown.text.startswith("four-two") for shown in await ann.answers())


@scenario(Feature.OLD_BUTTONS)
async def approval_is_decided_once(ann: Driver) -> None:
    await ann.say("shell echo hi")
    card = await ann.seen("run_command")
    await ann.press("Approve", card)
    await ann.seen(re.compile("^hi"))
    await ann.rest()
    assert card.text.startswith("Approved by Ann: run_command")
    assert not card.buttons


@scenario()
async def approval_waits_on_through_a_restart(ann: Driver) -> None:
    await ann.say("shell echo four-''two")
    card = await ann.seen("run_command")
    await restart(ann)
    await ann.press("Approve", card)
    await ann.seen(re.compile("^four-two"))


@scenario(Feature.NOTICES)
async def message_that_waits_is_noted_and_answered_next(ann: Driver) -> None:
    await ann.say("slow 30")
    await ann.busy()
    await ann.say("two")
    await ann.seen("A turn is running; yours comes next.")
    await ann.command("/stop")
    await ann.seen("You said: two")
    await ann.rest()
    assert (await remembered(ann))[-1:] == ["two"]


@scenario(Feature.NOTICES)
async def message_that_waits_when_its_chat_goes_is_given_back(ann: Driver) -> None:
    await ann.say("slow 30")
    await ann.busy()
    await ann.say("two")
    await ann.seen("yours comes next")
    await ann.command("/delete")
    await ann.press("Delete this chat", await ann.seen("for good"))
    await ann.seen("This message did not run")
    assert await remembered(ann) == []
