"""What is shown at places of what happens in their threads: answers that grow, approvals, news."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.hall import Hall, hall
from support.outlet import Screen, Walker
from support.turning import Stage, Time, until

from turnback.bots import cards, showing, stage
from turnback.bots.platform import Down, Said, down_kind
from turnback.core.agents.protocol import Context
from turnback.core.models import Actor, State, Surface
from turnback.core.threads.store import NewTurn


def group(house: Hall, name: str, key: str) -> Walker:
    return house.walker(name, key, place="-100", group=True)


async def on_the_web(house: Hall, walker: Walker) -> Actor:
    return replace(await house.actor(walker), surface=Surface.WEB)


async def rounds(count: int = 50) -> None:
    """Let everything run that can."""
    for _ in range(count):
        await asyncio.sleep(0)


# answers


async def test_answer_that_is_there_at_once_is_sent_once_and_never_edited(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "hello")
    assert house.screen.calls == [f"send {ann.key}"]
    assert ann.last.said.markdown
    assert house.screen.typed == []


async def test_answer_that_takes_a_while_shows_typing_and_then_grows(house: Hall) -> None:
    ann = house.walker()
    await ann.say("grow a b c")
    await house.agent.reached("a")
    house.time.advance(showing.FIRST_AFTER)
    await house.screen.until(lambda: house.screen.typed == [ann.key])
    house.agent.go("a")
    await ann.reads("a")
    house.agent.go("b")
    await house.agent.reached("c")
    await rounds()
    assert ann.texts == ["a"]
    house.time.advance(house.screen.edit_every)
    await ann.reads("a b")
    house.agent.go("c")
    await ann.reads("a b c")
    assert [said.text for said in ann.last.versions] == ["a", "a b", "a b c"]


async def test_pieces_that_come_while_the_platform_is_busy_go_out_together(house: Hall) -> None:
    ann = house.walker()
    await ann.say("grow a b c d")
    await house.agent.reached("a")
    house.time.advance(showing.FIRST_AFTER)
    await house.screen.until(lambda: bool(house.screen.typed))
    free = house.screen.hold(ann.key)
    for word in "abcd":
        house.agent.go(word)
    free.set()
    await ann.reads("a b c d")
    await house.presenter.settle(10)
    assert len(ann.last.versions) <= 2


async def test_long_answer_grows_to_a_limit_and_is_whole_at_the_end(house: Hall) -> None:
    ann = house.walker()
    long = "x" * 1500
    await ann.say(f"grow {long} {long}1 {long}2 end")
    house.time.advance(showing.FIRST_AFTER)
    for word in (long, f"{long}1", f"{long}2"):
        house.agent.go(word)
    await house.agent.reached("end")
    house.time.advance(showing.FIRST_AFTER)
    await house.screen.until(lambda: ann.texts != [] and ann.last.text.endswith(" …"))
    assert len(ann.last.text) <= showing.STREAMED
    house.agent.go("end")
    await ann.reads(f"{long} {long}1 {long}2 end")


async def test_group_is_answered_under_the_question(house: Hall) -> None:
    ann = group(house, "Ann", "1")
    asked = await ann.say("hello", addressed=True)
    await ann.reads("said hello")
    assert ann.last.said.reply_to == asked


async def test_one_slow_place_holds_up_no_other(house: Hall) -> None:
    ann, bob = house.walker(), house.walker("Bob", "2")
    free = house.screen.hold(ann.key)
    await ann.say("one")
    await bob.say("two")
    await bob.reads("said two")
    free.set()
    await ann.reads("said one")


async def test_answers_of_one_place_come_in_order(house: Hall) -> None:
    ann = house.walker()
    free = house.screen.hold(ann.key)
    await ann.say("one")
    await ann.say("two")
    await ann.say("three")
    free.set()
    await house.screen.until(lambda: len([t for t in ann.texts if t.startswith("said")]) == 3)
    assert [t for t in ann.texts if t.startswith("said")] == ["said one", "said two", "said three"]


async def test_turn_is_shown_after_the_one_before_it_however_long_that_takes(
    house: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = house.walker()
    await house.tell(ann, "zero")
    begin, free, begun = showing.Showing._begin, asyncio.Event(), []

    async def first_waits(shown: showing.Showing) -> None:
        begun.append(shown)
        if len(begun) == 1:
            await free.wait()
        await begin(shown)

    monkeypatch.setattr(showing.Showing, "_begin", first_waits)
    actor, thread = await house.actor(ann), await house.thread(ann)
    origin = f"telegram:{ann.key}#u1"
    await house.service.turns.wait(await house.service.turns.send(actor, thread, "one", origin=origin))
    await house.service.turns.wait(await house.service.turns.send(actor, thread, "two", origin=origin))
    await rounds()
    assert ann.texts == ["said zero"]
    free.set()
    await ann.reads("said one", "said two")


async def test_what_is_said_at_one_place_waits_for_what_was_said_before(house: Hall) -> None:
    free = house.screen.hold("7")
    first = asyncio.create_task(house.presenter.say(Surface.TELEGRAM, "7", Said(text="one")))
    second = asyncio.create_task(house.presenter.say(Surface.TELEGRAM, "7", Said(text="two")))
    await rounds()
    assert house.screen.calls == ["send 7"]
    free.set()
    await asyncio.gather(first, second)
    assert house.screen.texts("7") == ["one", "two"]


async def test_place_that_cannot_be_reached_does_not_stop_the_turn(house: Hall) -> None:
    ann = house.walker()
    house.screen.unreachable.add(ann.key)
    await ann.say("one")
    await house.presenter.settle(10)
    assert await house.asked(ann) == ["one"]
    house.screen.unreachable.clear()
    await house.tell(ann, "two")


async def test_answer_whose_edit_fails_is_sent_anew(house: Hall) -> None:
    ann = house.walker()
    await ann.say("grow a b")
    await house.agent.reached("a")
    house.time.advance(showing.FIRST_AFTER)
    house.agent.go("a")
    await ann.reads("a")

    async def fails(*_: object) -> None:
        raise ValueError("a bug of the adapter")

    house.screen.edit = fails  # type: ignore[assignment,method-assign]
    house.agent.go("b")
    await ann.reads("a", "a b")
    assert ann.last.said.markdown


async def test_answer_waits_for_a_platform_that_is_away(house: Hall) -> None:
    ann = house.walker()
    house.presenter.remove(house.screen)
    await ann.say("one")
    await rounds()
    assert ann.texts == []
    house.presenter.add(house.screen)
    await ann.reads("said one")


async def test_answer_is_tried_again_while_the_platform_is_down(house: Hall) -> None:
    ann = house.walker()
    house.screen.broken = Down("502")
    await ann.say("one")
    await house.screen_called(1)
    house.screen.broken = None
    house.time.advance(stage.AGAIN_AFTER)
    await ann.reads("said one")


async def test_answer_under_way_when_the_connection_ends_goes_out_by_the_next(house: Hall) -> None:
    ann = house.walker()
    free = house.screen.hold(ann.key)
    await ann.say("one")
    await house.screen_called(1)
    house.presenter.remove(house.screen)
    house.screen.broken = RuntimeError("the client is closed")
    free.set()
    await rounds()
    again = Screen()
    house.presenter.add(again)
    house.time.advance(stage.AGAIN_AFTER)
    await again.reads(ann.key, "said one")
    assert again.at(ann.key)[-1].said.markdown


async def test_failed_turn_says_one_line(house: Hall) -> None:
    async def breaks(stage: Stage, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        yield {"type": "delta", "text": ""}
        raise ValueError("secret words")

    house.agent.scripts["break"] = breaks
    ann = house.walker()
    await ann.say("break")
    await house.screen.until(lambda: bool(ann.texts))
    assert ann.texts[0].startswith("That did not work: the agent failed.")
    assert "secret" not in ann.texts[0]


async def test_stopped_answer_keeps_what_there_was_of_it(house: Hall) -> None:
    ann = house.walker()
    await ann.say("grow a b")
    await house.agent.reached("a")
    house.time.advance(showing.FIRST_AFTER)
    house.agent.go("a")
    await ann.reads("a")
    await house.service.turns.stop(await house.actor(ann), await house.thread(ann))
    await ann.reads("a", "Stopped.")


async def test_turn_of_the_web_page_is_not_shown_in_the_chat(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    await house.service.turns.ask(await on_the_web(house, ann), await house.thread(ann), "two")
    await house.presenter.settle(10)
    assert ann.texts == ["said one"]


async def test_place_with_a_new_key_gets_what_was_on_its_way(house: Hall) -> None:
    ann = house.walker()
    await ann.say("slow")
    await house.agent.reached("start")
    house.presenter.move(Surface.TELEGRAM, ann.key, "-1009")
    house.agent.go("start")
    house.agent.go("middle")
    await house.screen.reads("-1009", "slept")
    await house.presenter.settle(10)
    thread = await house.thread(ann)
    assert [p.message for p in await house.service.threads.posts(thread, Surface.TELEGRAM, "-1009")] == ["m1"]


# approvals


async def test_approval_shows_what_would_run_and_becomes_what_was_decided(house: Hall) -> None:
    ann = house.walker()
    await ann.say("mail bob")
    await house.screen.until(lambda: bool(ann.texts))
    card = ann.last
    assert card.text.splitlines()[:2] == ["Approval needed: mail", "to: bob"]
    assert card.text.endswith("Without an answer within 10 minutes it counts as denied.")
    await ann.press(card, "Deny")
    await ann.reads("answered [('bob', False)]")
    await house.screen.until(lambda: card.text == "Denied by Ann: mail\nto: bob")
    assert card.said.buttons == ()
    assert len(ann.texts) == 2


async def test_answer_after_an_approval_comes_below_it(house: Hall) -> None:
    async def ask(stage: Stage, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        yield {"type": "delta", "text": "Let me look."}
        await stage.halt("asks")
        yield {"type": "gate", "tool": "mail", "args": None, "state": state}
        await context.approvals()
        yield {"type": "delta", "text": " All is well."}
        yield {"type": "done", "state": {"messages": []}, "text": "All is well."}

    house.agent.scripts["ask"] = ask
    ann = house.walker()
    await ann.say("ask")
    await house.agent.reached("asks")
    house.time.advance(showing.FIRST_AFTER)
    await ann.reads("Let me look.")
    house.agent.go("asks")
    await house.screen.until(lambda: len(ann.texts) == 2)
    card = ann.last
    await ann.press(card, "Approve")
    await house.screen.until(lambda: len(ann.texts) == 3)
    await house.screen.until(lambda: ann.texts == ["Let me look.", "Approved by Ann: mail", "All is well."])


async def test_card_that_cannot_be_shown_counts_as_denied(house: Hall) -> None:
    ann = house.walker()
    house.screen.broken = ValueError("BUTTON_DATA_INVALID")
    await ann.say("mail bob")
    await house.screen_called(1)
    house.screen.broken = None
    await ann.reads(cards.UNSHOWN, "answered [('bob', False)]")


async def test_card_at_a_place_that_blocks_us_does_not_hold_the_turn(house: Hall) -> None:
    ann = house.walker()
    house.screen.unreachable.add(ann.key)
    await ann.say("mail bob")
    await house.screen_called(1)
    thread = await house.thread(ann)
    await until(lambda: not house.service.turns.running(thread))
    rows = await house.service.rewind.transcript(await house.actor(ann), await house.thread(ann))
    assert rows[-1][0].text == "answered [('bob', False)]"


async def test_card_of_a_stopped_turn_waits_no_longer(house: Hall) -> None:
    ann = house.walker()
    await ann.say("mail bob")
    await house.screen.until(lambda: bool(ann.texts))
    card = ann.last
    await ann.say("/stop")
    await house.screen.until(lambda: card.text == "No longer waiting: mail\nto: bob")


async def test_pressed_card_that_waits_no_longer_says_so(house: Hall) -> None:
    ann = house.walker()
    await ann.say("mail bob")
    await house.screen.until(lambda: bool(ann.texts))
    asked = replace(ann.last)
    await ann.press(asked, "Approve")
    await ann.reads("answered [('bob', True)]")
    await ann.press(asked, "Approve")
    assert ann.last.text == "That approval is no longer waiting."


# after a restart


async def test_card_from_before_a_restart_works_and_is_not_shown_again(tmp_path: Path) -> None:
    screen, time = Screen(), Time()
    async with hall(tmp_path, screen, time) as house:
        ann = house.walker()
        await ann.say("mail bob")
        await screen.until(lambda: bool(ann.texts))
        await posted(house, ann, 1)
    async with hall(tmp_path, screen, time) as house:
        ann = house.walker()
        await house.presenter.settle(10)
        await rounds()
        assert len(ann.texts) == 1
        card = ann.last
        await ann.press(card, "Approve")
        await ann.reads("resumed [('bob', True)]")
        await screen.until(lambda: card.text.startswith("Approved by Ann"))


async def test_card_that_was_never_shown_is_shown_after_the_restart(tmp_path: Path) -> None:
    time = Time()
    async with hall(tmp_path, Screen(), time) as house:
        ann = house.walker()
        house.presenter.remove(house.screen)
        await ann.say("mail bob")
        thread = await house.thread(ann)

        async def waits() -> bool:
            view = await house.service.threads.view(thread)
            return view is not None and bool(view.gates)

        await until(waits)
        await rounds()  # the turn itself has yet to hear that it waits
    async with hall(tmp_path, Screen(), time) as house:
        ann = house.walker()
        await house.screen.until(lambda: bool(ann.texts))
        await ann.press(ann.last, "Approve")
        await ann.reads("resumed [('bob', True)]")


async def test_waiting_message_is_answered_after_a_restart_where_it_was_written(tmp_path: Path) -> None:
    screen, time = Screen(), Time()
    async with hall(tmp_path, screen, time) as house:
        ann = house.walker()
        await ann.say("mail bob")
        await ann.say("next")
        await screen.until(lambda: len(ann.texts) == 2)
        await posted(house, ann, 1)
    async with hall(tmp_path, screen, time) as house:
        ann = house.walker()
        await ann.press(screen.at(ann.key)[0] if screen.at(ann.key)[0].said.buttons else screen.at(ann.key)[1], "Deny")
        await ann.reads("resumed [('bob', False)]", "said next")


async def test_turn_that_a_kill_cut_off_is_told_where_it_was_asked(tmp_path: Path) -> None:
    screen, time = Screen(), Time()
    async with hall(tmp_path, screen, time) as house:
        ann = house.walker()
        await house.tell(ann, "one")
        actor, thread = await house.actor(ann), await house.thread(ann)
        left = NewTurn(text="two", summary="two", actor=actor.account, at=time(), origin=f"telegram:{ann.key}#u9")
        await house.service.threads.begin_turn(thread, left)
    async with hall(tmp_path, screen, time):
        await screen.reads(ann.key, "Interrupted by a restart. What was finished is kept.")


# news


async def test_restore_from_elsewhere_is_one_line_at_every_bound_place(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one", "two")
    other = house.walker(place="1/2")
    thread = await house.service.threads.find_thread(await house.thread(ann))
    assert thread is not None
    await house.dispatch.places.bind(await house.actor(ann), other.place, thread)
    first = (await house.steps(ann))[0]
    await house.service.rewind.restore(await on_the_web(house, ann), thread.id, first)
    line = "Ann restored turn 1, step 1 from the web page."
    await ann.reads("said two", line)
    await other.reads(line)


async def test_restore_is_no_news_where_it_was_asked_for(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one", "two")
    other = house.walker(place="1/2")
    thread = await house.service.threads.find_thread(await house.thread(ann))
    assert thread is not None
    await house.dispatch.places.bind(await house.actor(ann), other.place, thread)
    await ann.say("/undo")
    await other.reads("Ann went back to turn 1, step 1 from Telegram.")
    await rounds()
    assert [text.splitlines()[0] for text in ann.texts[2:]] == [
        next(text.splitlines()[0] for text in ann.texts if text.startswith("Took 1 turn back."))
    ]


async def test_later_messages_of_ours_go_after_a_restore_where_that_is_set(house: Hall) -> None:
    house.after_restore = "delete"
    ann = house.walker()
    await house.tell(ann, "one", "two", "three")
    await ann.say(f"/replay {(await house.steps(ann))[0]}")
    await house.screen.until(lambda: [t for t in ann.texts if t.startswith("said")] == ["said one"])
    assert ann.last.text.startswith("Back at turn 1")


async def test_replies_between_turns_that_are_set_aside_go_where_that_is_set(house: Hall) -> None:
    house.after_restore = "delete"
    ann = house.walker()
    await house.tell(ann, "one")
    await ann.say("/replay list")
    kept = ann.last.text
    await house.tell(ann, "two")
    for command in ("/replay list", "/repaly", "/help"):
        await ann.say(command)
    await ann.say("/undo")
    await house.screen.until(lambda: len(ann.texts) == 3)
    assert ann.texts[:2] == ["said one", kept]
    assert ann.last.text.startswith("Took 1 turn back.")


async def test_reply_that_a_move_overtook_goes_where_that_is_set(house: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    house.after_restore = "delete"
    ann = house.walker()
    await house.tell(ann, "one", "two")
    begun, go_on = asyncio.Event(), asyncio.Event()
    show, shown = house.screen.back, list[str]()

    async def slowly(place: str, said: Said, *, private: bool) -> Sequence[str]:
        begun.set()
        await go_on.wait()
        messages = await show(place, said, private=private)
        shown.extend(messages)
        return messages

    monkeypatch.setattr(house.screen, "back", slowly)
    listing = asyncio.create_task(ann.say("/replay list"))
    await begun.wait()
    await house.service.rewind.undo(await on_the_web(house, ann), await house.thread(ann), 1)
    await ann.reads("said one", "Ann went back to turn 1, step 1 from the web page.")
    go_on.set()
    await listing
    assert len(shown) == 1
    await ann.reads("said one", "Ann went back to turn 1, step 1 from the web page.")


async def test_news_of_a_move_goes_with_the_turns_that_are_set_aside(house: Hall) -> None:
    house.after_restore = "delete"
    ann = house.walker()
    await house.tell(ann, "one", "two", "three")
    first, thread, actor = (await house.steps(ann))[0], await house.thread(ann), await on_the_web(house, ann)
    await house.service.rewind.undo(actor, thread, 1)
    await ann.reads("said one", "said two", "Ann went back to turn 2, step 1 from the web page.")
    await posted(house, ann, 3)
    await house.service.rewind.restore(actor, thread, first)
    await ann.reads("said one", "Ann restored turn 1, step 1 from the web page.")


async def test_reply_in_place_of_an_older_one_belongs_to_where_the_chat_stands(house: Hall) -> None:
    house.after_restore = "delete"
    ann = house.walker()
    await house.tell(ann, "one", "two")
    await ann.say("/reset", at=house.time() - timedelta(minutes=11))
    await ann.press(ann.last, "Do it")
    await house.screen.until(lambda: len(ann.texts) == 1)
    assert ann.last.text.startswith("Started again.")


async def test_later_messages_of_ours_stay_otherwise(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one", "two")
    await ann.say("/undo")
    await house.presenter.settle(10)
    await rounds()
    assert ann.texts[:2] == ["said one", "said two"]


async def test_alert_is_told_to_the_admins_once_and_when_it_is_well_again(house: Hall) -> None:
    house.admins = ["telegram:1"]
    ann, bob = house.walker(), house.walker("Bob", "2")
    await house.tell(ann, "hello")
    await house.tell(bob, "hello")
    house.screen.directs = {"1": "1", "2": "2"}
    house.service.alerts.sound("disk", "The disk is full.")
    house.service.alerts.sound("disk", "The disk is full.")
    await ann.reads("said hello", "Alert: The disk is full.")
    house.service.alerts.settle("disk")
    await ann.reads("Alert: The disk is full.", "Well again: The disk is full.")
    assert bob.texts == ["said hello"]


async def test_alert_that_stands_is_told_when_a_platform_comes(house: Hall) -> None:
    house.admins = ["telegram:1"]
    ann = house.walker()
    await house.tell(ann, "hello")
    house.screen.directs = {"1": "1"}
    house.presenter.remove(house.screen)
    house.service.alerts.sound("disk", "The disk is full.")
    await rounds()
    house.presenter.add(house.screen)
    await ann.reads("Alert: The disk is full.")


async def test_alert_that_a_platform_is_down_is_not_told_there(house: Hall) -> None:
    house.admins = ["telegram:1"]
    ann = house.walker()
    await house.tell(ann, "hello")
    house.screen.directs = {"1": "1"}
    house.presenter.remove(house.screen)
    house.service.alerts.sound(down_kind("telegram"), "It is down.")
    house.service.alerts.sound("disk", "The disk is full.")
    await rounds()
    house.presenter.add(house.screen)
    await ann.reads("said hello", "Alert: The disk is full.")


async def test_agent_that_cannot_undo_says_so_below_its_answer(house: Hall) -> None:
    async def wish(stage: Stage, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        context.redo()
        yield {"type": "done", "state": {"messages": []}, "text": "I try"}

    house.agent.scripts["wish"] = wish
    ann = house.walker()
    await ann.say("wish")
    await ann.reads("I try", "There is nothing to redo.")


async def posted(house: Hall, walker: Walker, count: int) -> None:
    """Wait until so many of our messages at a place are written down."""
    thread = await house.thread(walker)

    async def are_kept() -> bool:
        return len(await house.service.threads.posts(thread, Surface.TELEGRAM, walker.key)) >= count

    await until(are_kept)
