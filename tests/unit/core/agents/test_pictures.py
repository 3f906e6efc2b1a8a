"""Pictures that came with a message: the model is shown them, the state keeps their names alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.profiles import ModelProfile
from support.listening import Surroundings, listen, until_gate

from turnback.core.agents import pictures
from turnback.core.agents.builtin import PydanticAgent
from turnback.core.agents.failures import AgentFailed
from turnback.core.agents.options import AgentOptions, PermissionMode
from turnback.core.agents.pictures import MAX_BYTES, UNSEEN, find_pictures

PNG = b"\x89PNG\r\n\x1a\n" + b"picture" * 50
JPEG = b"\xff\xd8\xff\xe0" + b"photo" * 50
WORDS = "what is this?\n[file: inbox/a.png]"


class Looking:
    """A model that writes down what it is shown, and answers as the test says."""

    def __init__(self, *answers: str | dict[int, DeltaToolCall] | Exception, sees: bool = True) -> None:
        self.answers = list(answers) or ["I see."]
        self.shown: list[list[bytes]] = []
        self.told: list[str] = []
        profile = ModelProfile(supports_image_input=sees)
        self.agent = PydanticAgent(
            FunctionModel(stream_function=self._answer, profile=profile),
            AgentOptions(permission_mode=PermissionMode.CONFIRM_ALL),
        )

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.shown.append(_pictures_in(messages))
        self.told.append(info.instructions or "")
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        yield answer


def _pictures_in(messages: list[ModelMessage]) -> list[bytes]:
    prompts = [p for m in messages if isinstance(m, ModelRequest) for p in m.parts if isinstance(p, UserPromptPart)]
    items = [item for prompt in prompts if not isinstance(prompt.content, str) for item in prompt.content]
    return [item.data for item in items if isinstance(item, BinaryContent)]


def call(tool: str, **args: Any) -> dict[int, DeltaToolCall]:
    return {0: DeltaToolCall(name=tool, json_args=json.dumps(args))}


@pytest.fixture
def context(context: Surroundings) -> Surroundings:
    """With a picture in the workspace that came with the message."""
    put(context.workspace, "inbox/a.png", PNG)
    context.files = ["inbox/a.png"]
    return context


def put(workspace: Path, path: str, data: bytes) -> None:
    (workspace / path).parent.mkdir(exist_ok=True)
    (workspace / path).write_bytes(data)


# what is a picture


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", None),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_picture_goes_by_how_it_begins(tmp_path: Path, data: bytes, kind: str | None) -> None:
    put(tmp_path, "inbox/a.png", data)
    assert [found.media_type for found in find_pictures(tmp_path, ["inbox/a.png"])] == ([kind] if kind else [])


def test_picture_that_is_too_big_is_not_shown(tmp_path: Path) -> None:
    put(tmp_path, "inbox/fits.png", PNG.ljust(MAX_BYTES, b"."))
    put(tmp_path, "inbox/over.png", PNG.ljust(MAX_BYTES + 1, b"."))
    assert [len(found.data) for found in find_pictures(tmp_path, ["inbox/over.png", "inbox/fits.png"])] == [MAX_BYTES]


@pytest.mark.parametrize("path", ["inbox/gone.png", "../outside.png", "inbox/link.png", "inbox", "/etc/passwd", ""])
def test_nothing_else_than_a_file_of_the_workspace_is_shown(tmp_path: Path, path: str) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "inbox").mkdir(parents=True)
    (tmp_path / "outside.png").write_bytes(PNG)
    (workspace / "inbox" / "link.png").symlink_to(tmp_path / "outside.png")
    assert find_pictures(workspace, [path]) == ()


# what the model is shown


async def test_model_is_shown_a_picture_that_the_state_does_not_keep(context: Surroundings) -> None:
    model = Looking()
    told = await listen(model.agent.run({}, WORDS, context), context)
    assert model.shown == [[PNG]]
    assert told.text == "I see."
    assert [part["content"] for part in told.state["messages"][0]["parts"]] == [WORDS]


async def test_model_is_shown_it_in_every_request_of_the_turn_and_in_no_later_one(context: Surroundings) -> None:
    model = Looking(call("list_files"), "A file.", "Nothing new.")
    told = await listen(model.agent.run({}, WORDS, context), context)
    context.files = []
    await listen(model.agent.run(told.state, "and now?", context), context)
    assert model.shown == [[PNG], [PNG], []]


async def test_model_is_shown_it_after_an_approval(context: Surroundings) -> None:
    model = Looking(call("write_file", path="b.txt", text="B"), "Written.")
    told = await listen(model.agent.run({}, WORDS, context), context)
    assert len(told.gates) == 1
    assert model.shown == [[PNG], [PNG]]
    assert all("binary" not in json.dumps(state) for state, _ in told.copies)


async def test_file_that_is_no_picture_is_only_named(context: Surroundings) -> None:
    put(context.workspace, "inbox/a.png", b"just text")
    model = Looking()
    await listen(model.agent.run({}, WORDS, context), context)
    assert model.shown == [[]]
    assert UNSEEN not in model.told[0]


async def test_model_that_does_not_see_is_told_so(context: Surroundings) -> None:
    model = Looking(sees=False)
    told = await listen(model.agent.run({}, WORDS, context), context)
    assert model.shown == [[]]
    assert UNSEEN in model.told[0]
    assert UNSEEN not in json.dumps(told.state)


async def test_demo_sees_the_line_that_names_the_file(agent: PydanticAgent, context: Surroundings) -> None:
    told = await listen(agent.run({}, WORDS, context), context)
    assert told.text == f"You said: {WORDS}"


# what a server refuses


async def test_picture_that_the_server_refuses_is_left_out(context: Surroundings) -> None:
    model = Looking(ModelHTTPError(400, "blind", {"message": "image_url is not supported"}), "I cannot see it.")
    told = await listen(model.agent.run({}, WORDS, context), context)
    assert model.shown == [[PNG], []]
    assert UNSEEN in model.told[1]
    assert told.text == "I cannot see it."
    assert [part["content"] for m in told.state["messages"] for part in m["parts"]] == [WORDS, "I cannot see it."]
    assert len(told.steps) == 1


async def test_other_troubles_fail_the_turn_at_once(context: Surroundings) -> None:
    model = Looking(ModelHTTPError(401, "blind", None), "never")
    with pytest.raises(AgentFailed):
        await listen(model.agent.run({}, WORDS, context), context)
    assert model.shown == [[PNG]]


async def test_refusal_after_an_answer_fails_the_turn_so_that_no_tool_runs_twice(context: Surroundings) -> None:
    model = Looking(call("list_files"), ModelHTTPError(400, "full", None), "never")
    with pytest.raises(AgentFailed):
        await listen(model.agent.run({}, WORDS, context), context)
    assert len(model.shown) == 2


async def test_refusal_of_a_turn_without_pictures_fails_it(context: Surroundings) -> None:
    context.files = []
    model = Looking(ModelHTTPError(400, "full", None), "never")
    with pytest.raises(AgentFailed):
        await listen(model.agent.run({}, "hi", context), context)
    assert model.shown == [[]]


async def test_turn_that_goes_on_after_a_restart_is_told_that_it_sees_no_more(context: Surroundings) -> None:
    model = Looking(call("write_file", path="b.txt", text="B"), "Written.")
    [gate] = await until_gate(model.agent.run({}, WORDS, context))
    told = await listen(model.agent.resume(gate["state"], {gate["id"]: True}, context), context)
    assert told.text == "Written."
    assert model.shown == [[PNG], []]
    assert UNSEEN in model.told[1]


def test_other_files_of_a_prompt_stay_as_they_are() -> None:
    mine, other = BinaryContent(PNG, media_type="image/png"), BinaryContent(JPEG, media_type="image/jpeg")
    message = ModelRequest(parts=[UserPromptPart(content=["look", mine, other])])
    kept = pictures.without_pictures(message, [mine])
    assert kept.parts[0].content == ["look", other]  # type: ignore[union-attr]
