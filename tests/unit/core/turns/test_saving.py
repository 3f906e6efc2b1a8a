"""What is saved of a turn's steps."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import Any

import pytest
from support.turning import ANN, THREAD, House, called, talked

from turnback.core.models import Action, AuditEntry, Spent
from turnback.core.policy import Budgets, TimeTravel
from turnback.core.state.codec import Encoded, NotEncodable, decode


def entry(house: House) -> AuditEntry:
    return AuditEntry(
        at=house.time(), account=ANN.account, actor=ANN.name, surface=ANN.surface, action=Action.CLEAR, thread_id=THREAD
    )


async def test_steps_carry_their_turn_place_and_tools(house: House) -> None:
    house.agent.go("start")
    house.agent.go("middle")
    await house.turns.ask(ANN, THREAD, "slow and steady")

    first, second = house.captured.drafts
    assert (first.turn_index, first.turn_no, first.iteration, second.iteration) == (1, 1, 0, 1)
    assert (first.summary, first.tools, second.tools) == ("slow and steady", ("mail",), ())
    assert first.message_count > 0
    assert first.at < second.at == (await house.thread()).head
    assert first.id != second.id


async def test_workspaces_are_for_the_owners_eyes_only(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "one")
    workspace = house._folder / "workspaces" / THREAD
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (workspace.parent, workspace)] == [0o700, 0o700]


async def test_summary_is_one_line_of_80_characters_cut_at_a_word(house: House) -> None:
    await house.turns.ask(ANN, THREAD, "first\nsecond  third " + "word " * 30)
    summary = house.captured.drafts[0].summary
    assert summary.startswith("first second third word")
    assert summary.endswith("word")
    assert len(summary) <= 80


async def test_tools_that_are_not_quiet_leave_effects(house: House) -> None:
    async def busy(stage: Any, state: Any, text: str, context: Any) -> Any:
        for tool in ("note", "mail", "post"):
            state = called(state, tool, n=1)
            yield {"type": "step", "state": state}
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["busy"] = busy
    await house.turns.ask(ANN, THREAD, "busy")
    await house.turns.ask(ANN, THREAD, "busy")

    effects = await house.threads.effects(THREAD)
    assert [(e.tool, e.turn_index, e.number) for e in effects] == [
        ("mail", 1, 2), ("post", 1, 3), ("mail", 2, 2), ("post", 2, 3),
    ]  # fmt: skip
    assert [e.at for e in effects[:2]] == [d.at for d in house.captured.drafts[1:3]]


async def test_effects_are_found_after_the_agent_compacted_its_messages(house: House) -> None:
    async def compacting(stage: Any, state: Any, text: str, context: Any) -> Any:
        for _ in range(6):
            state = talked(state, "assistant", "long talk")
        yield {"type": "step", "state": state}
        state = called({"messages": [{"role": "user", "content": "summary"}]}, "mail", to="x")
        yield {"type": "step", "state": state}
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["compact"] = compacting
    await house.turns.ask(ANN, THREAD, "compact")
    assert [e.args for e in await house.threads.effects(THREAD)] == [{"to": "x"}]


async def test_last_state_that_differs_from_the_last_step_becomes_the_head(house: House) -> None:
    async def more(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "step", "state": {"n": 1}}
        yield {"type": "done", "state": {"n": 2}, "text": "ok"}

    house.agent.scripts["more"] = more
    await house.turns.ask(ANN, THREAD, "more")
    assert await house.state() == {"n": 2}


async def test_last_state_that_is_the_last_steps_is_not_written_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[object] = []
    end_turn = house.threads.end_turn

    async def watched(*args: Any, **more: Any) -> Any:
        written.append(more["content"])
        return await end_turn(*args, **more)

    monkeypatch.setattr(house.threads, "end_turn", watched)
    await house.turns.ask(ANN, THREAD, "hello")
    assert written == [None]


class Unreadable(dict[str, Any]):
    """A value that no encoder gets anything out of."""

    def items(self) -> Any:
        raise OSError


async def test_state_that_cannot_be_encoded_keeps_the_last_good_one(house: House) -> None:
    async def odd(stage: Any, state: Any, text: str, context: Any) -> Any:
        state = called(state, "mail", n=1)
        yield {"type": "step", "state": state}
        state = {**state, "odd": Unreadable(a=1)}
        yield {"type": "step", "state": state, "tools": ["mail"]}
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["odd"] = odd
    result = await house.turns.ask(ANN, THREAD, "odd")
    assert (result.status, len(result.notes)) == ("done", 1)
    assert isinstance(house.captured.contents[1], NotEncodable)
    assert "odd" not in await house.state()
    assert (await house.state())["messages"][-1]["role"] == "tool"


async def test_effects_are_found_in_messages_that_are_objects(house: House) -> None:
    @dataclass
    class Message:
        role: str
        content: str
        tool_calls: list[Any]

    async def typed(stage: Any, state: Any, text: str, context: Any) -> Any:
        call = {"id": "1", "type": "function", "function": {"name": "mail", "arguments": {}}}
        state = {"messages": [Message("assistant", "", [call]), {"role": "tool", "tool_call_id": "1", "content": "ok"}]}
        yield {"type": "step", "state": state}
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["typed"] = typed
    await house.turns.ask(ANN, THREAD, "typed")
    assert [e.tool for e in await house.threads.effects(THREAD)] == ["mail"]


async def test_turn_that_only_ends_has_one_step(house: House) -> None:
    async def short(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "done", "state": {"n": 1}, "text": "ok"}

    house.agent.scripts["short"] = short
    await house.turns.ask(ANN, THREAD, "short")
    assert [d.iteration for d in house.captured.drafts] == [0]
    assert await house.state() == {"n": 1}


async def test_state_that_changes_while_it_is_saved_is_saved_as_it_was(house: House) -> None:
    async def hasty(stage: Any, state: Any, text: str, context: Any) -> Any:
        state = {"n": 1}
        yield {"type": "step", "state": state}
        state["n"] = 2
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["hasty"] = hasty
    await house.turns.ask(ANN, THREAD, "hasty")
    (content,) = house.captured.contents
    assert isinstance(content, Encoded)
    assert decode(content.messages, content.fields) == {"n": 1}


async def test_step_that_is_too_big_is_cut_but_the_thread_goes_on_whole(house: House) -> None:
    house.policy = TimeTravel(budgets=Budgets(max_snapshot_bytes=2000))

    async def big(stage: Any, state: Any, text: str, context: Any) -> Any:
        state = talked(state, "assistant", "x" * 10_000)
        yield {"type": "step", "state": state}
        await stage.halt("big")
        yield {"type": "done", "state": state, "text": "ok"}

    house.agent.scripts["big"] = big
    sent = await house.turns.send(ANN, THREAD, "big")
    await house.agent.reached("big")
    (content,) = house.captured.contents
    assert isinstance(content, Encoded)
    assert content.truncated
    assert content.bytes <= 2000
    assert (await house.state())["messages"][-1]["content"] == "x" * 10_000
    house.agent.go("big")
    assert (await house.turns.wait(sent)).notes == ()


async def test_iteration_that_began_before_a_clear_keeps_the_old_epoch(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "slow")
    await house.agent.reached("start")
    await house.threads.clear_thread(THREAD, entry(house))
    house.agent.go("start")
    house.agent.go("middle")
    await house.turns.wait(sent)

    cleared = (await house.thread()).epoch
    assert [d.epoch for d in house.captured.drafts] == [cleared - 1, cleared]


async def test_turn_of_a_deleted_thread_saves_nothing_more(house: House) -> None:
    sent = await house.turns.send(ANN, THREAD, "slow")
    house.agent.go("start")
    await house.agent.reached("middle")
    await house.threads.delete_thread(THREAD, entry(house))
    house.agent.go("middle")

    await house.turns.wait(sent)
    assert len(house.captured.drafts) == 1
    assert await house.threads.find_thread(THREAD) is None


@pytest.mark.parametrize("tokens", [10**400, 2**70, float("inf")], ids=["huge", "over a column", "infinite"])
async def test_senseless_cost_keeps_no_turn_from_ending(house: House, tokens: float) -> None:
    async def costly(stage: Any, state: Any, text: str, context: Any) -> Any:
        state = {**talked(state, "user", text), "cost": {"tokens": tokens, "usd": 1}}
        yield {"type": "step", "state": state}
        yield {"type": "done", "state": state, "text": "x"}

    house.agent.scripts["costly"] = costly
    assert (await house.turns.ask(ANN, THREAD, "costly")).status == "done"
    assert (await house.thread()).spent == Spent(tokens=0, usd=1.0)


async def test_names_with_lone_surrogates_can_be_stored(house: House) -> None:
    async def odd(stage: Any, state: Any, text: str, context: Any) -> Any:
        yield {"type": "step", "state": talked(state, "user", text), "model": "m\ud800", "tools": ["t\ud800"]}
        yield {"type": "done", "state": talked(state, "user", text), "text": "x"}

    house.agent.scripts["odd"] = odd
    await house.turns.ask(ANN, THREAD, "odd")
    (draft,) = house.captured.drafts
    assert (draft.model, draft.tools) == ("m\ufffd", ("t\ufffd",))
