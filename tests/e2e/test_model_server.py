"""The built-in agent against a server that speaks OpenAI's protocol and refuses what the real one refuses."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from platforms.openai_server import Answer, ModelServer, model_server
from support.listening import Surroundings, Told, listen, until_gate

from turnback.core.agents import models
from turnback.core.agents.builtin import PydanticAgent
from turnback.core.agents.failures import AgentFailed
from turnback.core.agents.options import AgentOptions, PermissionMode
from turnback.core.agents.pictures import UNSEEN
from turnback.core.state.finish import finish

Make = Callable[..., PydanticAgent]

Call = tuple[str, dict[str, Any]]

LIST: Call = ("list_files", {})
PLAN: Call = ("plan", {"items": [{"title": "look", "status": "pending"}]})
WRITE: Call = ("write_file", {"path": "a.txt", "text": "A"})


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as running:
        yield running


@pytest.fixture
def context(tmp_path: Path) -> Surroundings:
    return Surroundings(workspace=tmp_path)


@pytest.fixture
async def make(server: ModelServer) -> AsyncIterator[Make]:
    """Agents on the server, closed in the end."""
    made: list[PydanticAgent] = []

    def make(**options: Any) -> PydanticAgent:
        settings: dict[str, Any] = {"model": "tiny:1b", "base_url": server.base_url, "api_key": "sk-secret"}
        made.append(models.build(AgentOptions(**{**settings, **options})))
        return made[-1]

    yield make
    for agent in made:
        await agent.aclose()


async def ask(agent: PydanticAgent, state: dict[str, Any], text: str, context: Surroundings) -> Told:
    return await listen(agent.run(state, text, context), context)


def roles(server: ModelServer) -> list[str]:
    return [message["role"] for message in server.requests[-1]["messages"]]


async def test_answer_streams_in_pieces(server: ModelServer, make: Make, context: Surroundings) -> None:
    server.script.append(Answer("The answer is forty-two."))

    told = await ask(make(), {}, "what?", context)

    assert told.text == "The answer is forty-two."
    assert "".join(told.deltas) == told.text
    assert len(told.deltas) > 2


async def test_model_name_and_key_go_to_the_server(server: ModelServer, make: Make, context: Surroundings) -> None:
    server.script.append(Answer("hi"))

    told = await ask(make(), {}, "hi", context)

    assert server.requests[0]["model"] == "tiny:1b"
    assert server.keys == ["Bearer sk-secret"]
    assert told.steps[0]["model"] == "tiny:1b"
    assert told.state["routing"] == {"model": "tiny:1b"}


async def test_parallel_calls_make_one_step(server: ModelServer, make: Make, context: Surroundings) -> None:
    server.script.extend([Answer("Let me look.", [LIST, PLAN]), Answer("Nothing there.")])

    told = await ask(make(), {}, "look around", context)

    assert told.tools == [["list_files", "plan"], []]
    assert told.text == "Let me look.\n\nNothing there."
    assert "".join(told.deltas) == told.text
    assert told.state["plan"] == [{"title": "look", "status": "pending"}]


async def test_usage_of_all_requests_is_counted(server: ModelServer, make: Make, context: Surroundings) -> None:
    server.script.extend([Answer(calls=[LIST]), Answer("done"), Answer("again")])
    agent = make()

    first = await ask(agent, {}, "one", context)
    second = await ask(agent, first.state, "two", context)

    assert second.state["cost"]["input_tokens"] == 300
    assert second.state["cost"]["output_tokens"] == 21
    assert second.state["cost"]["requests"] == 3


async def test_every_restored_step_is_accepted(server: ModelServer, make: Make, context: Surroundings) -> None:
    server.script.extend([Answer("", [LIST, PLAN]), Answer("Now this.", [LIST]), Answer("done")])
    agent = make()
    told = await ask(agent, {}, "work", context)

    for step in told.steps:
        server.script.append(Answer("went on"))
        again = await ask(agent, json.loads(json.dumps(finish(step["state"]))), "go on", context)
        assert again.text == "went on"

    assert server.refusals == []


async def test_state_that_waited_at_a_gate_is_accepted_when_finished(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    agent = make(permission_mode=PermissionMode.CONFIRM_ALL)
    server.script.extend([Answer("", [LIST, WRITE]), Answer("went on")])
    (gate,) = await until_gate(agent.run({}, "write", context))

    told = await ask(agent, finish(gate["state"]), "go on", context)

    assert told.text == "went on"
    assert server.refusals == []
    assert roles(server) == ["system", "user", "assistant", "tool", "tool", "user"]


async def test_state_that_waited_at_a_gate_is_accepted_as_it_is(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    agent = make(permission_mode=PermissionMode.CONFIRM_ALL)
    server.script.extend([Answer("", [WRITE, LIST]), Answer("went on")])
    (gate,) = await until_gate(agent.run({}, "write", context))

    told = await ask(agent, gate["state"], "go on", context)

    assert told.text == "went on"
    assert server.refusals == []


@pytest.mark.parametrize(("answer", "result"), [(True, "wrote a.txt"), (False, "denied: write_file")])
async def test_turn_goes_on_after_a_restart(
    server: ModelServer, make: Make, context: Surroundings, answer: bool, result: str
) -> None:
    options = {"permission_mode": PermissionMode.CONFIRM_ALL}
    server.script.extend([Answer("I will write.", [LIST, WRITE]), Answer("All done.")])
    (gate,) = await until_gate(make(**options).run({}, "write", context))

    saved = json.loads(json.dumps(gate["state"]))
    told = await listen(make(**options).resume(saved, {gate["id"]: answer}, context), context)

    assert server.refusals == []
    assert told.tools == [["list_files", "write_file"], []]
    assert told.text == "I will write.\n\nAll done."
    assert server.requests[-1]["messages"][-1]["content"].startswith(result)
    assert (context.workspace / "a.txt").exists() is answer


async def test_two_gates_of_one_response_are_answered_together(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    server.script.extend([Answer("", [WRITE, ("write_file", {"path": "b.txt", "text": "B"})]), Answer("done")])

    told = await ask(make(permission_mode=PermissionMode.CONFIRM_ALL), {}, "write both", context)

    assert [gate["args"]["path"] for gate in told.gates] == ["a.txt", "b.txt"]
    assert told.tools == [["write_file", "write_file"], []]
    assert sorted(path.name for path in context.workspace.iterdir()) == ["a.txt", "b.txt"]


async def test_wrong_arguments_are_corrected_by_the_model(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    server.script.extend([Answer("", [("read_file", {"pfad": "x"})]), Answer("", [LIST]), Answer("done")])

    told = await ask(make(), {}, "read", context)

    assert told.tools == [["read_file"], ["list_files"], []]
    assert server.refusals == []


async def test_unknown_tool_is_told_to_the_model(server: ModelServer, make: Make, context: Surroundings) -> None:
    server.script.extend([Answer("", [("run_command", {"command": "ls"})]), Answer("no shell then")])

    told = await ask(make(), {}, "shell", context)

    assert told.text == "no shell then"
    assert server.refusals == []


@pytest.mark.parametrize(
    ("status", "words"), [(401, "refused the API key"), (404, "not known"), (400, "HTTP 400"), (429, "too many")]
)
async def test_refused_request_is_one_plain_line(
    server: ModelServer, make: Make, context: Surroundings, status: int, words: str
) -> None:
    server.script.extend([status] * 5)

    with pytest.raises(AgentFailed) as caught:
        await ask(make(), {}, "hi", context)

    assert words in caught.value.user_message
    assert "\n" not in caught.value.user_message
    assert "sk-secret" not in caught.value.user_message


async def test_chat_of_a_model_that_is_gone_is_answered_by_the_one_that_is_set(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    server.script.extend([Answer("", [LIST, PLAN]), Answer("hello from before"), Answer("hello from now")])
    before = await ask(make(model="old:7b"), {}, "hi", context)

    told = await ask(make(), finish(before.state), "and now?", context)

    assert [request["model"] for request in server.requests] == ["old:7b", "old:7b", "tiny:1b"]
    assert (told.text, told.steps[0]["model"]) == ("hello from now", "tiny:1b")
    assert told.state["routing"] == {"model": "tiny:1b"}
    assert server.refusals == []


async def test_model_that_the_server_does_not_know_is_named(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    server.script.append(404)

    with pytest.raises(AgentFailed, match="tiny:1b"):
        await ask(make(), {}, "hi", context)


async def test_short_trouble_of_the_provider_is_retried(server: ModelServer, make: Make, context: Surroundings) -> None:
    server.script.extend([500, Answer("here I am")])

    told = await ask(make(), {}, "hi", context)

    assert told.text == "here I am"


async def test_no_server_is_one_plain_line(make: Make, context: Surroundings) -> None:
    agent = make(base_url="http://127.0.0.1:9/v1")

    with pytest.raises(AgentFailed, match="no connection"):
        await ask(agent, {}, "hi", context)


async def test_answer_that_breaks_off_is_one_plain_line(server: ModelServer, make: Make, context: Surroundings) -> None:
    server.script.append(Answer("The answer is forty-two.", cut=True))

    with pytest.raises(AgentFailed, match="no connection") as caught:
        await ask(make(), {}, "what?", context)

    assert "\n" not in caught.value.user_message


async def test_arguments_that_are_no_json_make_no_gate(server: ModelServer, make: Make, context: Surroundings) -> None:
    agent = make(permission_mode=PermissionMode.CONFIRM_ALL)
    server.script.extend([Answer("", [("write_file", '{"path": "a.t')]), Answer("sorry")])

    told = await ask(agent, {}, "write", context)

    assert told.gates == []
    assert told.text == "sorry"
    assert server.refusals == []


async def test_model_that_never_gets_it_right_ends_the_turn(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    server.script.extend([Answer("", [("read_file", {"pfad": "x"})])] * 10)

    with pytest.raises(AgentFailed, match="did not give anything that can be used"):
        await ask(make(), {}, "read", context)

    assert len(server.requests) < 10


async def test_long_conversation_is_summarised_by_the_model(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    agent = make(max_context_tokens=600)
    state: dict[str, Any] = {}
    for i in range(3):
        server.script.append(Answer(f"answer {i} " + "long " * 200))
        state = (await ask(agent, state, f"question {i}", context)).state
    server.script.extend([Answer("They talked about three questions."), Answer("short")])

    told = await ask(agent, state, "and now?", context)

    sent = server.requests[-1]["messages"]
    assert "They talked about three questions." in sent[0]["content"]
    assert [message["role"] for message in sent].count("system") == 1
    assert "question 0" not in json.dumps(sent)
    assert told.text == "short"
    assert "answer 0" in json.dumps(state)


async def test_summary_that_fails_is_made_by_code(server: ModelServer, make: Make, context: Surroundings) -> None:
    agent = make(max_context_tokens=200)
    server.script.append(Answer("long " * 400))
    state = (await ask(agent, {}, "my name is Ann", context)).state
    server.script.extend([400, Answer("short")])

    told = await ask(agent, state, "who am I?", context)

    assert told.text == "short"
    assert "Ann" in server.requests[-1]["messages"][0]["content"]


async def test_notes_are_told_once(server: ModelServer, make: Make, context: Surroundings) -> None:
    server.script.extend([Answer("ok"), Answer("ok")])
    agent = make()
    context.notes = ["Do not use the hammer."]

    first = await ask(agent, {}, "go", context)
    with_note = server.requests[-1]["messages"]
    context.notes = ()
    await ask(agent, first.state, "go", context)
    without = server.requests[-1]["messages"]

    assert "Do not use the hammer." in with_note[0]["content"]
    assert with_note[-1] == {"role": "user", "content": "go"}
    assert "hammer" not in json.dumps(without)


async def test_history_of_another_dialect_is_told_as_text(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    foreign = [
        {"role": "system", "content": "Be a pirate."},
        {"role": "user", "content": "weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "x", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "x", "content": "sunny"},
        {"role": "assistant", "content": "It is sunny."},
    ]
    server.script.append(Answer("Arr."))

    told = await ask(make(), {"messages": foreign}, "and now?", context)

    sent = json.dumps(server.requests[-1]["messages"])
    assert server.refusals == []
    assert all(words in sent for words in ("Be a pirate.", "weather?", "sunny", "It is sunny."))
    assert told.state["messages"][:5] == foreign


async def test_lone_surrogates_in_history_and_text_reach_no_server(
    server: ModelServer, make: Make, context: Surroundings
) -> None:
    server.script.extend([Answer("one"), Answer("two")])
    agent = make()
    state = (await ask(agent, {}, "bad \udc88 text", context)).state
    state["messages"][0]["parts"][0]["content"] = "worse \ud83d text"

    told = await ask(agent, state, "again", context)

    assert told.text == "two"
    assert "worse \ufffd text" in [message["content"] for message in server.requests[-1]["messages"]]


PNG = b"\x89PNG\r\n\x1a\n" + b"picture" * 50


@pytest.fixture
def looking(context: Surroundings) -> Surroundings:
    """A message with a picture."""
    (context.workspace / "a.png").write_bytes(PNG)
    context.files = ["a.png"]
    return context


async def test_picture_is_sent_with_the_words_and_not_kept(
    server: ModelServer, make: Make, looking: Surroundings
) -> None:
    server.script.append(Answer("A picture."))

    told = await ask(make(), {}, "look\n[file: a.png]", looking)

    words, picture = server.requests[0]["messages"][-1]["content"]
    assert words == {"type": "text", "text": "look\n[file: a.png]"}
    assert base64.b64decode(picture["image_url"]["url"].removeprefix("data:image/png;base64,")) == PNG
    assert told.state["messages"][0]["parts"][0]["content"] == "look\n[file: a.png]"


async def test_picture_that_the_server_refuses_is_left_out(
    server: ModelServer, make: Make, looking: Surroundings
) -> None:
    server.script.extend([400, Answer("I cannot see it.")])

    told = await ask(make(), {}, "look\n[file: a.png]", looking)

    assert told.text == "I cannot see it."
    assert server.requests[1]["messages"][-1]["content"] == "look\n[file: a.png]"
    assert UNSEEN in server.requests[1]["messages"][0]["content"]
