"""What a chat answers: the words of each command, over a real service."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from turnback.bots.capabilities import Capabilities
from turnback.bots.dispatch import answer_command
from turnback.bots.places import Place
from turnback.bots.replies import Reply
from turnback.core.errors import InvalidRequest, NotFound
from turnback.core.models import Surface, ThreadId
from turnback.core.threads.store import LISTED

Chat = Any


def lines(reply: Reply) -> list[str]:
    return reply.text.splitlines()


# looking


async def test_replay_says_how_much_is_saved_and_changes_nothing(chat: Chat) -> None:
    await chat.say("one", "two tool")
    before = await chat.ids()
    reply = await chat.ask("/replay")
    assert lines(reply)[0] == "3 steps saved here in 2 turns."
    assert before[-1][:8] in reply.text
    assert f"http://page/replay?thread={chat.thread}" in [b.url for b in reply.buttons]
    assert await chat.ids() == before
    assert await chat.said() == ["one", "two tool"]


async def test_replay_in_an_empty_chat_says_that_nothing_is_saved(chat: Chat) -> None:
    assert "No steps are saved here yet" in (await chat.ask("/replay")).text


@pytest.mark.parametrize("command", ["/replay", "/replay list"])
async def test_where_all_steps_are_set_aside_none_is_said_to_be_on_the_path(chat: Chat, command: str) -> None:
    await chat.say("one")
    await chat.ask("/undo")
    text = (await chat.ask(command)).text
    assert text.startswith("No steps are saved on this path.\n1 step set aside: /replay tree\n")
    assert (await chat.ask("/fork")).text == "No step is saved where this chat stands, so there is nothing to fork."


@pytest.mark.parametrize("command", ["/replay", "/replay list", "/replay tree"])
async def test_where_no_step_is_saved_yet_a_turn_that_runs_is_named(chat: Chat, command: str) -> None:
    await chat.say("ask")
    text = (await chat.ask(command)).text
    assert "A turn is running. Its steps appear here as they are saved" in text
    assert "No steps" not in text


async def test_list_shows_turns_oldest_first_with_their_steps(chat: Chat) -> None:
    await chat.say("first", "second tool")
    chat.clock.forward(hours=3)
    ids = await chat.ids()
    text = (await chat.ask("/replay list")).text
    assert re.search(
        rf"Turn 1: first\nturn 1, step 1 · {ids[0][:8]} · answered · 3 h · parrot\n\n"
        rf"Turn 2: second tool\nturn 2, step 1 · {ids[1][:8]} · tool · 3 h · parrot\n"
        rf"→ turn 2, step 2 · {ids[2][:8]} · answered · 3 h · parrot\n",
        text,
    ), text
    assert "Steps exist since 1 Mar 2026, 12:01 UTC." in text
    assert "Budget of this chat: 3 of 50 steps" in text


async def test_list_marks_branches_labels_and_counts_what_is_set_aside(chat: Chat) -> None:
    await chat.say("first", "second")
    first, second = await chat.ids()
    await chat.ask(f"/replay {first}")
    await chat.say("other")
    await chat.ask(f"/replay name {first} Start")
    text = (await chat.ask("/replay list")).text
    assert re.search(r"turn 1, step 1 .* ⎇ · ★ Start", text), text
    assert "1 step set aside: /replay tree" in text
    assert second[:8] not in text
    assert re.search(rf"↯ turn 2, step 1 · {second[:8]}", (await chat.ask("/replay tree")).text)


async def test_list_has_at_most_20_steps_a_page_and_buttons_to_all(chat: Chat) -> None:
    await chat.say(*[f"message {n}" for n in range(25)])
    ids = await chat.ids()
    newest = await chat.ask("/replay list")
    oldest = await chat.press(newest, "‹ Page 1")
    assert [i[:8] in oldest.text for i in ids] == [True] * 20 + [False] * 5
    assert [i[:8] in newest.text for i in ids] == [False] * 20 + [True] * 5
    assert "page 2 of 2" in newest.text
    assert (await chat.ask("/replay list 99")).text == newest.text
    assert newest.select is not None
    assert newest.select.options[0].command == f"/replay show {ids[20]}"


async def test_list_makes_markup_and_turned_text_harmless(chat: Chat) -> None:
    await chat.say("x\u202e\x1b[31mred <b>bold</b>")
    text = (await chat.ask("/replay list")).text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "<b>bold</b>" in text


async def test_show_opens_a_step_with_what_can_be_done(chat: Chat) -> None:
    await chat.say("hello tool")
    first, _ = await chat.ids()
    reply = await chat.ask(f"/replay show {first.upper()[:6]}")
    assert "user: hello tool" in reply.text
    assert 'assistant called tool {"n":0}' in reply.text
    assert [b.label for b in reply.buttons] == ["Restore", "Fork", "Compare with now", "Label"]


async def test_compare_with_now_names_what_differs(chat: Chat) -> None:
    await chat.say("one", "two")
    first, second = await chat.ids()
    text = (await chat.ask(f"/replay compare {first}")).text
    assert "2 messages in common." in text
    assert "user: two" in text
    assert f"Turn 1, step 1 ({first[:8]}) and now" in text
    assert "are the same" in (await chat.ask(f"/replay compare {second}")).text
    assert second[:8] in (await chat.ask(f"/replay compare {first} {second}")).text


# going back


async def test_restore_names_where_what_was_set_aside_and_what_stays(chat: Chat) -> None:
    await chat.say("one", "two tool look tool", "three")
    first = (await chat.ids())[0]
    reply = await chat.ask(f"/replay {first[:8]}")
    assert lines(reply)[0] == f"Back at turn 1, step 1 ({first[:8]}): one"
    assert "2 turns set aside." in reply.text
    assert '- turn 2, step 3: tool {"n":2}\n- turn 2, step 1: tool {"n":0}' in reply.text
    assert "look" not in reply.text
    assert reply.stands_at == first
    assert await chat.said() == ["one"]


async def test_restore_twice_says_already_there(chat: Chat) -> None:
    await chat.say("one", "two")
    first = (await chat.ids())[0]
    await chat.ask(f"/replay {first}")
    reply = await chat.ask(f"/replay {first}")
    assert reply.text.startswith("Already there: turn 1, step 1")
    assert reply.error is None
    assert reply.buttons == ()


async def test_bring_back_undoes_the_restore_once(chat: Chat) -> None:
    await chat.say("one", "two")
    restored = await chat.ask(f"/replay {(await chat.ids())[0]}")
    back = await chat.press(restored, "Bring back")
    assert "1 turn brought back." in back.text
    assert await chat.said() == ["one", "two"]
    again = await chat.press(restored, "Bring back")
    assert again.error == "nothing_to_redo"
    assert "Nothing was changed" in again.text
    assert await chat.said() == ["one", "two"]


async def test_bring_back_under_a_newer_message_changes_nothing(chat: Chat) -> None:
    await chat.say("one", "two")
    restored = await chat.ask(f"/replay {(await chat.ids())[0]}")
    await chat.say("three")
    assert (await chat.press(restored, "Bring back")).error == "nothing_to_redo"
    assert await chat.said() == ["one", "three"]


async def test_undo_beyond_the_start_says_how_many(chat: Chat) -> None:
    await chat.say("one", "two")
    reply = await chat.ask("/undo 9")
    assert lines(reply)[0] == "Took 2 turns back, as many as there were. Now at the beginning"
    assert (await chat.ask("/undo")).error == "nothing_to_undo"


async def test_redo_takes_the_undo_back(chat: Chat) -> None:
    await chat.say("one", "two")
    await chat.ask("/undo")
    assert (await chat.ask("/redo")).text.startswith("Brought back. Now at turn 2, step 1")
    assert (await chat.ask("/redo")).error == "nothing_to_redo"


async def test_reset_can_be_brought_back(chat: Chat) -> None:
    await chat.say("one")
    await chat.press(await chat.ask("/reset"), "Bring back")
    assert await chat.said() == ["one"]


async def test_restore_that_discards_asks_first(chat: Chat) -> None:
    chat.set_policy(on_restore="discard")
    await chat.say("one", "two")
    question = await chat.ask(f"/replay {(await chat.ids())[0]}")
    assert "1 later turn will be deleted for good." in question.text
    assert await chat.said() == ["one", "two"]
    done = await chat.press(question, "Delete")
    assert "1 turn deleted." in done.text
    assert done.buttons == ()
    assert len(await chat.ids()) == 1


async def test_restore_that_discards_what_was_set_aside_asks_first(chat: Chat) -> None:
    await chat.say("one", "two", "three")
    first, second, _ = await chat.ids()
    await chat.ask("/undo 2")
    chat.set_policy(on_restore="discard")
    question = await chat.ask(f"/replay {second}")
    assert "All that does not lead there will be deleted for good." in question.text
    await chat.press(question, "Delete the rest")
    assert await chat.ids() == [first, second]


async def test_restore_that_discards_where_the_chat_stands_asks_nothing(chat: Chat) -> None:
    chat.set_policy(on_restore="discard")
    await chat.say("one")
    assert (await chat.ask(f"/replay {(await chat.ids())[0]}")).text.startswith("Already there")


# forks and other chats


async def test_fork_gives_a_link_and_a_way_to_continue(chat: Chat) -> None:
    await chat.say("one")
    reply = await chat.ask("/fork")
    assert reply.text.startswith("Forked turn 1, step 1 into a new chat of your own")
    url, here = reply.buttons
    fork = str(here.command).split()[1]
    assert (url.url, here.label) == (f"http://page/chats/{fork}", "Continue here")
    switched = await chat.press(reply, "Continue here")
    assert switched.switch_to == fork
    assert [b.label for b in switched.buttons] == ["Open", "Back to origin"]
    assert (await chat.ask("/fork")).text.startswith("That fork of turn 1, step 1 was made just now already.")


async def test_fork_here_where_no_second_place_fits_says_so(chat: Chat) -> None:
    await chat.say("one")
    assert "cannot hold a second chat" in (await chat.ask("/fork here")).text


async def test_switch_makes_a_bound_place_talk_into_another_thread(chat: Chat) -> None:
    await chat.say("one")
    place = Place(surface=Surface.TELEGRAM, key="42", can=Capabilities())
    found = await chat.dispatch.places.open(chat.actor, place)
    reply = await chat.ask(f"/switch {chat.thread[:6]}", place=place)
    assert reply.text == "Now talking into “Talk”."
    assert await chat.dispatch.places.find(place) == chat.thread
    assert [b.command for b in reply.buttons] == [f"/switch {found}"]


async def test_switch_to_a_foreign_chat_is_not_found(chat: Chat) -> None:
    other = await chat.another("bob")
    assert (
        await chat.ask(f"/switch {chat.thread}", actor=other, place=Place(surface=Surface.API))
    ).error == "not_found"


async def test_switch_finds_a_chat_that_is_older_than_those_that_are_listed(chat: Chat) -> None:
    for number in range(LISTED + 1):
        thread_id = ThreadId(f"{number:032x}")
        later = chat.clock() + timedelta(hours=1)
        await chat.app.threads.create_thread(thread_id, "newer", Surface.WEB, chat.actor.account, later)
    assert chat.thread not in {thread.id for thread in await chat.app.rewind.threads(chat.actor)}
    place = Place(surface=Surface.TELEGRAM, key="42", can=Capabilities())
    found = await chat.dispatch.places.open(chat.actor, place)
    for named in (chat.thread, chat.thread[:8]):
        reply = await chat.ask(f"/switch {named}", place=place)
        assert "“Talk”" in reply.text, reply.text
    back = await chat.ask(f"/switch {found}", place=place)
    assert [b.command for b in back.buttons] == [f"/switch {chat.thread}"]


async def test_switch_by_a_beginning_that_several_have_asks_for_more(chat: Chat) -> None:
    for thread_id in ("ab" * 16, "ab" * 15 + "cd"):
        await chat.app.threads.create_thread(ThreadId(thread_id), "t", Surface.WEB, chat.actor.account, chat.clock())
    place = Place(surface=Surface.TELEGRAM, key="42", can=Capabilities())
    several = await chat.ask("/switch abab", place=place)
    assert (several.error, "Several of your chats" in several.text) == ("invalid_request", True)
    for nothing in ("aba", "ab%", "zzzz"):
        assert (await chat.ask(f"/switch {nothing}", place=place)).error == "not_found"
    assert (await chat.ask(f"/switch {'ab' * 16}", place=place)).error is None


async def test_chats_lists_mine_with_a_mark_where_i_am(chat: Chat) -> None:
    reply = await chat.ask("/chats")
    assert f"→ {chat.thread[:8]} · Talk · just now" in reply.text


async def test_a_command_at_a_place_without_a_conversation_starts_none(chat: Chat) -> None:
    place = Place(surface=Surface.TELEGRAM, key="7", can=Capabilities())
    assert (await chat.ask("/replay", place=place)).error == "not_found"
    assert await chat.dispatch.places.find(place) is None


# what cannot be undone


async def test_clear_asks_first_and_deletes_when_confirmed(chat: Chat) -> None:
    await chat.say("one", "two")
    question = await chat.ask("/replay clear")
    assert "Delete the 2 steps saved here" in question.text
    assert len(await chat.ids()) == 2
    assert (await chat.press(question, "Delete")).text == "Deleted 2 steps. The conversation stays."
    assert await chat.ids() == []
    assert await chat.said() == ["one", "two"]
    assert (await chat.press(question, "Delete")).error == "not_found"


async def test_clear_declined_does_nothing_and_closes_the_question(chat: Chat) -> None:
    await chat.say("one")
    question = await chat.ask("/replay clear")
    assert (await chat.press(question, "Cancel")).text == "Nothing was done."
    assert (await chat.press(question, "Delete")).error == "not_found"
    assert len(await chat.ids()) == 1


async def test_only_who_was_asked_may_answer(chat: Chat) -> None:
    await chat.say("one")
    question = await chat.ask("/replay clear")
    admin = await chat.another("root", admin=True)
    refused = await chat.press(question, "Delete", actor=admin)
    assert (refused.error, refused.text) == ("forbidden", "Only ana may answer that.")
    assert (await chat.press(question, "Delete")).error is None


async def test_a_question_closes_after_10_minutes(chat: Chat) -> None:
    await chat.say("one")
    question = await chat.ask("/replay clear")
    chat.clock.forward(minutes=10)
    assert (await chat.press(question, "Delete")).error == "not_found"
    assert len(await chat.ids()) == 1


async def test_delete_names_what_goes_and_deletes_it(chat: Chat) -> None:
    await chat.say("one", "remember tea")
    question = await chat.ask("/delete")
    assert "“Talk” for good: 2 turns, 2 steps, 1 remembered fact?" in question.text
    assert (await chat.press(question, "Delete")).error is None
    with pytest.raises(NotFound):
        await chat.app.rewind.thread(chat.actor, chat.thread)


async def test_memory_is_listed_and_forgotten(chat: Chat) -> None:
    await chat.say("one", "remember tea")
    listed = (await chat.ask("/memory")).text
    fact = re.search(r"^(\S+) · turn 2 · tea$", listed, re.MULTILINE)
    assert fact, listed
    reply = await chat.ask(f"/memory forget {fact[1]}")
    assert "steps saved from turn 2 on" in reply.text
    assert "stays in the conversation" in reply.text
    assert (await chat.ask("/memory list")).text == "Nothing is remembered here."
    assert len(await chat.ids()) == 1
    assert (await chat.ask("/memory forget nope")).error == "not_found"


async def test_memory_off_asks_first(chat: Chat) -> None:
    await chat.say("remember tea")
    question = await chat.ask("/memory off")
    assert "deletes the 1 remembered fact of this chat and its 1 step" in question.text
    await chat.press(question, "Turn memory off")
    assert await chat.ids() == []
    assert "off" in (await chat.ask("/memory")).text
    assert (await chat.ask("/memory on")).text == "Memory is on."


async def test_memory_off_where_nothing_is_remembered_deletes_the_steps_too(chat: Chat) -> None:
    await chat.say("one")
    reply = await chat.press(await chat.ask("/memory off"), "Turn memory off")
    assert reply.error is None
    assert await chat.ids() == []


# the rest


async def test_retention_is_for_admins(chat: Chat) -> None:
    assert (await chat.ask("/retention")).error == "forbidden"


async def test_lower_retention_says_what_would_go_and_asks(chat: Chat) -> None:
    await chat.say("one", "two")
    chat.clock.forward(days=10)
    admin = await chat.another("root", admin=True)
    assert "retention_days = 30" in (await chat.ask("/retention", actor=admin)).text
    question = await chat.ask("/retention retention_days 7", actor=admin)
    assert "deletes 2 steps of 1 chat, for good" in question.text
    assert chat.settings.days == 30
    await chat.press(question, "Keep", actor=admin)
    assert chat.settings.days == 7


async def test_higher_retention_is_set_at_once(chat: Chat) -> None:
    admin = await chat.another("root", admin=True)
    assert (await chat.ask("/retention time_travel.retention_days 60", actor=admin)).text == "Set: retention_days = 60"
    assert (await chat.ask("/retention web.port 1", actor=admin)).error == "invalid_request"


async def test_web_gives_a_link_that_works_once_to_the_asker_only(chat: Chat) -> None:
    reply = await chat.ask("/web")
    assert reply.private
    secret = str(reply.buttons[0].url).removeprefix("http://page/login?token=")
    assert secret not in reply.text
    assert await chat.app.people.use_link(secret)
    assert await chat.app.people.use_link(secret) is None


async def test_help_shows_every_command_but_the_admins_to_others(chat: Chat) -> None:
    text = (await chat.ask("/help")).text
    assert "/replay compare A [B]" in text
    assert "/retention" not in text


@pytest.mark.parametrize("text", ["/replay 3", '/replay ""', "/replay %", "/replay _fa9c1d2", "/replay list2", "/diff"])
async def test_what_is_not_understood_gets_one_line_with_the_usage(chat: Chat, text: str) -> None:
    await chat.say("one", "two")
    reply = await chat.ask(text)
    assert reply.error == "invalid_request"
    assert len(lines(reply)) == 1
    assert "Usage: /" in reply.text
    assert await chat.said() == ["one", "two"]


async def test_an_unknown_step_is_not_found(chat: Chat) -> None:
    await chat.say("one")
    reply = await chat.ask("/replay 0000aaaa1111")
    assert (reply.error, len(lines(reply))) == ("not_found", 1)


async def test_an_ambiguous_step_lists_candidates_and_restores_nothing(chat: Chat) -> None:
    chat.new_id.prefix = "3fa9c1d2"
    await chat.say("m0", "m1")
    chat.new_id.prefix = ""
    await chat.say("m2")
    twins = (await chat.ids())[:2]
    reply = await chat.ask("/replay 3FA9C1D2")
    assert reply.error == "ambiguous_step"
    shown = re.findall(r"^([0-9a-f]{9,}) · turn ([12]), step 1 · (m[01])$", reply.text, re.MULTILINE)
    assert [(turn, summary) for _, turn, summary in shown] == [("1", "m0"), ("2", "m1")]
    assert all(i.startswith(s) for i, (s, _, _) in zip(twins, shown, strict=True))
    assert [b.command for b in reply.buttons] == [f"/replay show {i}" for i in twins]
    assert len(await chat.said()) == 3
    assert (await chat.ask(f"/replay {twins[0].upper()}")).error is None


async def test_a_waiting_approval_is_named_with_what_to_do(chat: Chat) -> None:
    await chat.say("one")
    first = (await chat.ids())[0]
    await chat.say("ask")
    reply = await chat.ask(f"/replay {first}")
    assert reply.error == "approval_pending"
    assert "An approval is waiting." in reply.text
    assert "/stop" in reply.text
    assert "launch" in reply.text
    assert (await chat.ask("/stop")).text == "Stopped."
    assert (await chat.ask("/stop")).text == "Nothing is running."


async def test_labels_beyond_ten_say_how_to_take_one_off(chat: Chat) -> None:
    await chat.say(*[f"m{n}" for n in range(11)])
    ids = await chat.ids()
    for n in range(10):
        assert (await chat.ask(f"/replay name {ids[n]} l{n}")).error is None
    refused = await chat.ask(f"/replay name {ids[10]} l10")
    assert refused.error == "too_many_labels"
    assert "/replay name STEP -" in refused.text
    await chat.ask(f"/replay name {ids[0]} -")
    assert (await chat.ask(f"/replay name {ids[10]} l10")).error is None
    assert (await chat.ask("/replay @L10")).text.startswith("Already there")


async def test_a_bug_is_one_plain_line_and_no_traceback(chat: Chat) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    chat.app.rewind.list_steps = broken
    reply = await chat.ask("/replay list")
    assert reply.error == "failed"
    assert "secret detail" not in reply.text


async def test_answer_command_gives_the_json_of_a_reply(chat: Chat) -> None:
    await chat.say("one")
    answer = answer_command(chat.app, chat.dispatch)
    told = await answer(chat.actor, chat.thread, "/fork")
    assert sorted(told) == ["buttons", "error", "text"]
    assert told["error"] is None
    assert [sorted(b) for b in told["buttons"]] == [["label", "url"], ["command", "label"]]


async def test_answer_command_takes_an_exclamation_mark_for_the_slash(chat: Chat) -> None:
    await chat.say("one")
    told = await answer_command(chat.app, chat.dispatch)(chat.actor, chat.thread, "!replay list")
    assert "turn 1, step 1" in told["text"]


async def test_answer_command_refuses_ordinary_text_and_foreign_threads(chat: Chat) -> None:
    answer = answer_command(chat.app, chat.dispatch)
    with pytest.raises(InvalidRequest, match="not a command"):
        await answer(chat.actor, chat.thread, "hello")
    with pytest.raises(NotFound):
        await answer(await chat.another("bob"), ThreadId(chat.thread), "/replay list")


# groups


async def in_group(chat: Chat) -> tuple[Place, Any]:
    """The chat becomes a group's, with bob in it."""
    thread = await chat.app.rewind.create_thread(chat.actor, "Group", group=True)
    bob = await chat.another("bob")
    await chat.app.threads.add_participant(thread.id, bob.account, Surface.TELEGRAM, "-100")
    chat.thread = thread.id
    await chat.say("one", "two")
    return Place(surface=Surface.TELEGRAM, thread_id=thread.id, group=True), bob


async def test_in_a_group_a_refusal_names_who_may_and_a_result_who_did_it(chat: Chat) -> None:
    place, bob = await in_group(chat)
    refused = await chat.ask("/undo", actor=bob, place=place)
    assert (refused.error, "who started this chat" in refused.text) == ("forbidden", True)
    assert lines(await chat.ask("/undo", place=place))[0].endswith("(by ana)")


async def test_in_a_group_a_fork_is_not_continued_in_front_of_all(chat: Chat) -> None:
    place, bob = await in_group(chat)
    reply = await chat.ask("/fork", actor=bob, place=place)
    assert [b.label for b in reply.buttons] == ["Open"]
    fork = (await chat.app.rewind.threads(bob))[0]
    refused = await chat.ask(f"/switch {fork.id}", actor=bob, place=place)
    assert refused.error in ("forbidden", "invalid_request")


async def test_in_a_group_clear_by_who_may_not_asks_nothing(chat: Chat) -> None:
    place, bob = await in_group(chat)
    reply = await chat.ask("/replay clear", actor=bob, place=place)
    assert (reply.error, reply.buttons) == ("forbidden", ())


async def test_rights_are_checked_anew_at_each_answer(chat: Chat) -> None:
    place, bob = await in_group(chat)
    moderator = replace(bob, platform_admin=True)
    question = await chat.ask("/replay clear", actor=moderator, place=place)
    assert (await chat.press(question, "Delete", actor=bob)).error == "forbidden"
    assert len(await chat.ids()) == 2
