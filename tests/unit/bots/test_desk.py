"""What the desk makes of what people write and press on a platform."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from support.hall import Hall
from support.outlet import Walker

from turnback.bots.platform import Attachment, Down
from turnback.core.models import Action, Surface
from turnback.core.policy import Access


def group(house: Hall, name: str, key: str) -> Walker:
    return house.walker(name, key, place="-100", group=True)


# talk


async def test_message_is_answered_where_it_was_written(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "hello")
    assert ann.texts == ["said hello"]
    assert await house.asked(ann) == ["hello"]


async def test_message_reaches_the_agent_as_it_was_written(house: Hall) -> None:
    ann = house.walker()
    await ann.say("“odd” — text\u200b ")
    await ann.reads("said “odd” — text\u200b ")


async def test_two_messages_at_once_begin_one_chat(house: Hall) -> None:
    ann = house.walker()
    await asyncio.gather(ann.say("one"), ann.say("two"))
    await house.screen.until(lambda: "said two" in ann.texts)
    assert await house.asked(ann) == ["one", "two"]
    assert len(await house.service.threads.list_threads(None)) == 1


async def test_message_during_a_turn_waits_and_is_told_so(house: Hall) -> None:
    ann = house.walker()
    await ann.say("slow")
    await ann.say("next")
    assert ann.texts == ["A turn is running; yours comes next."]
    house.agent.go("start")
    house.agent.go("middle")
    await ann.reads("slept", "said next")


async def test_people_whose_message_waits_are_not_told_of_each_further_one(house: Hall) -> None:
    ann = house.walker()
    for text in ("slow", "next", "and", "more"):
        await ann.say(text)
    assert ann.texts == ["A turn is running; yours comes next."]
    house.agent.go("start")
    house.agent.go("middle")
    await ann.reads("slept", "said next", "said and", "said more")


async def test_waiting_message_is_returned_when_the_chat_goes_back(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    await ann.say("slow")
    waiting = await ann.say("next")
    await house.agent.reached("start")
    await ann.say("/delete")
    await ann.press(ann.last, "Delete")
    await house.screen.until(lambda: any("did not run" in text for text in ann.texts))
    [told] = [shown for shown in house.screen.at(ann.key) if "did not run" in shown.text]
    assert told.said.reply_to == waiting


async def test_empty_message_is_answered_with_what_it_lacks(house: Hall) -> None:
    ann = house.walker()
    await ann.say("  ")
    assert ann.texts == ["A message needs some text."]


# who may come in


async def test_stranger_is_told_whom_to_name_to_the_admin(house: Hall) -> None:
    house.allow = []
    ann = house.walker()
    await ann.say("hello")
    assert ann.texts == ["You may not use this bot yet. Give its admin this name to let you in: telegram:1"]
    assert await house.service.threads.accounts() == []


async def test_stranger_in_a_group_is_answered_only_when_speaking_to_us(house: Hall) -> None:
    house.allow = []
    eve = group(house, "Eve", "6")
    await eve.say("/replay list")
    await eve.say("hello all")
    assert eve.texts == []
    await eve.say("hello bot", addressed=True)
    assert len(eve.texts) == 1


async def test_talk_among_people_and_commands_for_other_bots_are_left_alone(house: Hall) -> None:
    ann = group(house, "Ann", "1")
    for text in ("hello all", "/weather", "/replay@other list", "what about /replay?"):
        await ann.say(text)
    assert ann.texts == []
    await ann.say("/Replay@OurBot lst", names=("ourbot",))
    assert "Did you mean /replay list?" in ann.last.text


async def test_mention_makes_bare_words_a_command_but_not_every_sentence(house: Hall) -> None:
    ann = group(house, "Ann", "1")
    await ann.say("hello", addressed=True, mentioned=True)
    await ann.reads("said hello")
    await ann.say("replay list", addressed=True, mentioned=True)
    assert ann.last.text.startswith("Steps of this chat")
    await ann.say("help me with this", addressed=True, mentioned=True)
    await ann.reads("said help me with this")


# groups


async def test_group_shares_one_chat_and_who_types_a_command_takes_part(house: Hall) -> None:
    ann, bob, cyd = group(house, "Ann", "1"), group(house, "Bob", "2"), group(house, "Cyd", "3")
    await ann.say("hello", addressed=True)
    await ann.reads("said hello")
    await bob.say("hi", addressed=True)
    await bob.reads("said hi")
    await cyd.say("/replay list")
    assert "Turn 2: hi" in cyd.last.text


async def test_group_member_may_not_go_back_but_the_groups_admins_may(house: Hall) -> None:
    ann, bob = group(house, "Ann", "1"), group(house, "Bob", "2")
    await ann.say("one", addressed=True)
    await ann.reads("said one")
    await bob.say("two", addressed=True)
    await bob.reads("said two")
    await bob.say("/undo")
    assert bob.last.text == "Only who started this chat and its admins may do that."
    bob.admin = True
    await bob.say("/undo")
    assert bob.last.text.splitlines()[0].endswith("(by Bob)")
    assert await house.asked(ann) == ["one"]


async def test_button_is_checked_anew_for_whoever_presses_it(house: Hall) -> None:
    ann, bob = group(house, "Ann", "1"), group(house, "Bob", "2")
    await ann.say("one", addressed=True)
    await ann.reads("said one")
    await ann.say("/undo")
    undone = ann.last
    await bob.press(undone, "Bring back")
    assert "Only who started this chat" in bob.last.text
    await ann.press(undone, "Bring back")
    assert ann.last.text.startswith("Brought back.")


async def test_platform_that_does_not_say_who_is_an_admin_gives_no_right(
    house: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = group(house, "Ann", "1"), group(house, "Bob", "2")
    await ann.say("one", addressed=True)
    await ann.reads("said one")

    async def fails() -> bool:
        raise Down("away")

    monkeypatch.setattr(bob, "_is_admin", fails)
    await bob.say("/undo")
    assert "Only who started this chat" in bob.last.text


# replies to messages


async def test_command_in_reply_to_an_answer_means_its_step(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one", "two")
    first = house.screen.at(ann.key)[0]
    await ann.say("/replay restore", reply_to=first.id)
    assert ann.last.text.startswith("Back at turn 1, step 1")
    assert await house.asked(ann) == ["one"]


async def test_command_in_reply_to_what_ended_no_step_takes_no_other_step(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    await ann.say("/help")
    helped = ann.last
    await ann.say("/fork", reply_to=helped.id)
    assert ann.last.text.startswith("No step ended with that message.")
    await ann.say("/replay", reply_to=helped.id)
    assert ann.last.text.startswith("1 step saved here")


async def test_command_in_reply_to_a_message_whose_step_is_gone_takes_no_other_step(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one", "two")
    first = house.screen.at(ann.key)[0]
    await ann.say("/replay clear")
    await ann.press(ann.last, "Delete")
    await house.tell(ann, "three")
    await ann.say("/fork", reply_to=first.id)
    assert ann.last.text == "The step of that message is no longer kept. /replay list shows what is."


async def test_command_in_reply_to_an_answer_of_another_chat_takes_no_step_of_this_one(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    first = ann.last
    await ann.say("/fork")
    await ann.press(ann.last, "Continue here")
    await ann.say("/replay restore", reply_to=first.id)
    assert ann.last.text == "That message belongs to another chat. /chats shows yours, /switch goes there."


async def test_restore_is_answered_under_the_message_where_the_chat_stands(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one", "two")
    first = house.screen.at(ann.key)[0]
    await ann.say(f"/replay {(await house.steps(ann))[0]}")
    assert ann.last.said.reply_to == first.id


async def test_restore_into_the_middle_of_a_turn_is_answered_under_its_question(house: Hall) -> None:
    ann = house.walker()
    house.agent.go("start")
    house.agent.go("middle")
    asked = await ann.say("slow")
    await ann.reads("slept")
    await house.presenter.settle(10)
    await ann.say(f"/replay {(await house.steps(ann))[0]}")
    assert ann.last.said.reply_to == asked


# old commands


async def test_old_command_that_goes_back_asks_first(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    await ann.say("/undo", at=house.time() - timedelta(minutes=11))
    assert ann.last.text == "“/undo” was sent 11 min ago, and only comes in now. Do it?"
    assert await house.asked(ann) == ["one"]
    await ann.press(ann.last, "Do it")
    assert await house.asked(ann) == []


async def test_old_question_left_alone_does_nothing(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    await ann.say("/reset", at=house.time() - timedelta(hours=3))
    question = ann.last
    await ann.press(question, "Leave it")
    assert (question.text, await house.asked(ann)) == ("Nothing was done.", ["one"])


async def test_old_look_back_is_answered_at_once(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    await ann.say("/replay list", at=house.time() - timedelta(hours=3))
    assert ann.last.text.startswith("Steps of this chat")


async def test_old_restore_that_deletes_asks_what_it_deletes(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one", "two")
    first = (await house.steps(ann))[0]
    house.policy[0] = replace(house.policy[0], on_restore="discard")
    await ann.say(f"/replay {first}", at=house.time() - timedelta(hours=3))
    assert "1 later turn will be deleted for good" in ann.last.text
    question = ann.last
    await ann.press(question, "Delete")
    assert question.text == "Done."
    assert ann.last.text.startswith("Back at turn 1")


# what is shown in place


async def test_page_is_turned_in_place(house: Hall) -> None:
    ann = house.walker()
    ann.place = replace(ann.place, can=replace(ann.place.can, max_text=450))
    await house.tell(ann, "one", "two", "three", "four", "five", "six")
    await ann.say("/replay list")
    shown, before = ann.last, len(ann.texts)
    assert "page 2 of 2" in shown.text
    await ann.press(shown, "‹ Page 1")
    assert "page 1 of 2" in shown.text
    assert len(ann.texts) == before


async def test_pages_hold_all_steps_within_the_places_limit(house: Hall) -> None:
    ann = house.walker()
    ann.place = replace(ann.place, can=replace(ann.place.can, max_text=450))
    await house.tell(ann, *(f"{word} {'😀' * 30}" for word in ("one", "two", "three", "four")))
    ids = await house.steps(ann)
    pages = []
    for number in range(1, 10):
        await ann.say(f"/replay list {number}")
        if ann.last.text in pages:
            break
        pages.append(ann.last.text)
    assert all(len(page.encode("utf-16-le")) // 2 <= 450 for page in pages)
    assert all("".join(pages).count(step[:8]) == 1 for step in ids)


async def test_answered_question_is_replaced_by_what_came_of_it(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    await ann.say("/replay clear")
    question = ann.last
    await ann.press(question, "Delete 1 step")
    assert question.text == "Deleted 1 step. The conversation stays."
    assert question.said.buttons == ()


async def test_what_is_private_is_not_shown_in_a_groups_message(house: Hall) -> None:
    ann = group(house, "Ann", "1")
    await ann.say("one", addressed=True)
    await ann.reads("said one")
    await ann.say("/chat", addressed=True)
    asked = ann.last
    assert "Did you mean /chats?" in asked.text
    await ann.press(asked, "/chats")
    assert "Did you mean /chats?" in asked.text
    assert ann.last.private


async def test_question_is_answered_by_nobody_else_and_stays(house: Hall) -> None:
    ann, bob = group(house, "Ann", "1"), group(house, "Bob", "2")
    await ann.say("one", addressed=True)
    await ann.reads("said one")
    await ann.say("/delete")
    question = ann.last
    bob.admin = True
    await bob.press(question, "Delete")
    assert bob.last.text == "Only Ann may answer that."
    assert question.said.buttons
    assert await house.asked(ann) == ["one"]


# forks beside


async def test_fork_here_goes_on_in_a_place_beside(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one", "two")
    house.screen.beside = "1/7"
    await ann.say(f"/fork {(await house.steps(ann))[0]} here")
    assert "It goes on beside this one" in ann.last.text
    side = house.walker(place="1/7")
    assert side.texts == ["This goes on from turn 1, step 1. What you write here stays apart from the original."]
    await house.tell(side, "three")
    assert await house.asked(side) == ["one", "three"]
    assert await house.asked(ann) == ["one", "two"]


async def test_fork_here_where_no_place_can_be_opened_says_so(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    await ann.say("/fork here")
    assert "This place cannot hold a second chat beside this one" in ann.last.text
    assert len(await house.service.threads.list_threads(None)) == 2


async def test_fork_beside_in_a_group_stays_its_owners(house: Hall) -> None:
    ann, bob = group(house, "Ann", "1"), group(house, "Bob", "2")
    await ann.say("one", addressed=True)
    await ann.reads("said one")
    await bob.say("/replay")
    house.screen.beside = "-100/7"
    await bob.say("/fork here")
    theirs = house.walker("Ann", "1", place="-100/7", group=True)
    await theirs.say("what was that?", addressed=True)
    assert theirs.last.text == "The chat in this place is somebody's own. Only they can use it here."
    own = house.walker("Bob", "2", place="-100/7", group=True)
    await own.say("mine", addressed=True)
    await own.reads("said mine")


# stopping


async def test_stop_is_told_once(house: Hall) -> None:
    ann = house.walker()
    await ann.say("slow")
    await house.agent.reached("start")
    await ann.say("/stop")
    await house.tell(ann, "next")
    assert ann.texts == ["Stopped.", "said next"]


async def test_stop_waits_for_nothing(house: Hall) -> None:
    ann, free = house.walker(), asyncio.Event()

    async def fetch() -> bytes:
        await free.wait()
        return b"x"

    await ann.say("slow")
    await house.agent.reached("start")
    files = (Attachment(name="a.txt", mime="", size=1, fetch=fetch),)
    sending = asyncio.create_task(ann.say("look", files=files))
    await asyncio.sleep(0)
    await ann.say("/stop")
    assert ann.texts == ["Stopped."]
    free.set()
    await sending


async def test_stop_from_elsewhere_is_told_at_the_place(house: Hall) -> None:
    ann = house.walker()
    await ann.say("slow")
    await house.agent.reached("start")
    await house.service.turns.stop(await house.actor(ann), await house.thread(ann))
    await ann.reads("Stopped.")


# files


async def test_file_is_saved_in_the_inbox_and_named_to_the_agent(house: Hall) -> None:
    ann = house.walker()

    async def fetch() -> bytes:
        return b"a,b\n"

    files = (Attachment(name="../../data table.csv", mime="text/csv", size=4, fetch=fetch),)
    await ann.say("look", files=files)
    await ann.reads("said look\n[file: inbox/data table.csv]")
    workspace = house.service.turns.workspace(await house.thread(ann))
    assert (workspace / "inbox" / "data table.csv").read_bytes() == b"a,b\n"


async def test_file_that_cannot_be_read_is_said_in_one_line(house: Hall) -> None:
    ann = house.walker()

    async def fetch() -> bytes:
        raise OSError("gone")

    files = (
        Attachment(name="a.png", mime="image/png", size=0, fetch=fetch),
        Attachment(name="b.iso", mime="", size=10**9, fetch=fetch),
    )
    await ann.say("", files=files)
    assert ann.last.text.splitlines() == [
        "a.png could not be fetched, so the agent did not get it.",
        "b.iso is too big (953.7 MB, at most 20.0 MB), so the agent did not get it.",
    ]
    assert await house.asked(ann) == []


# trouble


async def test_place_that_cannot_be_reached_does_not_stop_what_was_asked_for(house: Hall) -> None:
    ann = house.walker()
    await house.tell(ann, "one")
    house.screen.unreachable.add(ann.key)
    await ann.say("/undo")
    assert await house.asked(ann) == []
    trail = await house.service.threads.audit_trail()
    assert [(entry.action, entry.surface) for entry in trail] == [(Action.UNDO, Surface.TELEGRAM)]


async def test_approvers_are_named_to_who_may_not_approve(house: Hall) -> None:
    house.access[0] = Access(approvers="owner")
    ann, bob = group(house, "Ann", "1"), group(house, "Bob", "2")
    await ann.say("mail bob", addressed=True)
    await house.screen.until(lambda: bool(ann.texts))
    card = ann.last
    bob.admin = True
    await bob.press(card, "Approve")
    assert bob.last.text == "Only the owner of this chat may do that."
    await ann.press(card, "Approve")
    await house.screen.until(lambda: card.text.startswith("Approved by Ann: mail"))
    await ann.reads("answered [('bob', True)]")
