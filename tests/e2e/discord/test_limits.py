"""Discord's limits: long answers, code blocks, files, many messages; with its rate limits on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from platforms.discord.people import User
from platforms.discord.server import DiscordServer, pointing
from support.discord_acts import step_of, talk
from support.discord_bot import Bot, discord_bot
from support.idling import idle
from support.world import Scripted

from turnback.bots.discord.pacing import Pacer
from turnback.bots.platform import Said
from turnback.core.agents.protocol import Context
from turnback.core.models import State


async def test_code_block_over_several_messages_is_closed_and_opened_again(
    bot: Bot, discord: DiscordServer, ann: User
) -> None:
    await talk(ann, ann.private, "one")
    lines = "\n".join(f'  "key {number}": "a value of some length",' for number in range(130))
    text = f"The answer:\n```json\n{{\n{lines}\n}}\n```\nThat is all."
    mark = ann.private.mark()
    await bot.adapter.outlet.send(ann.private.id, Said(text=text, markdown=True))
    parts = await ann.private.replies(3, since=mark)
    assert all(len(part.text) <= 2000 and part.text.count("```") % 2 == 0 for part in parts)
    assert all(part.text.startswith("```json") for part in parts[1:])
    shown = "\n".join(part.text for part in parts)
    places = [shown.index(f'"key {number}"') for number in range(130)]
    assert places == sorted(places)


async def test_list_of_many_turns_with_odd_titles_shows_them_all(bot: Bot, ann: User) -> None:
    titles = [f"turn ``` number {number} *bold* <@1>" for number in range(12)]
    for number, title in enumerate(titles):
        await ann.say(title)
        await ann.private.seen(f"number {number} ")
    await idle(bot)
    shown = [(await (await ann.slash("/replay list", page=1)).seen("Steps of this chat")).text]
    for page in range(2, 10):
        text = (await (await ann.slash("/replay list", page=page)).seen("Steps of this chat")).text
        if text == shown[-1]:
            break
        shown.append(text)
    assert all(len(text) <= 2000 for text in shown)
    assert all(any(f"Turn {number}: " in text for text in shown) for number in range(1, 13))
    assert all("\\`\\`\\`" in text and "\\<@1" in text for text in shown)


async def test_answer_of_more_than_five_messages_comes_as_a_file(bot: Bot, ann: User) -> None:
    await ann.say("big 30000")
    await ann.private.seen("got 30000 bytes")
    mark = ann.private.mark()
    text = "\n\n".join(f"Paragraph {number}: " + "word " * 90 for number in range(40))
    await bot.adapter.outlet.send(ann.private.id, Said(text=text, markdown=True))
    shown = await ann.private.seen("Paragraph 0", since=mark)
    assert shown.files == {"answer.md": text.encode()}


async def test_comparison_that_is_long_arrives_whole(bot: Bot, ann: User) -> None:
    long = "x" * 1800
    await talk(ann, ann.private, "one", f"1{long}", f"2{long}")
    asked = await ann.slash("/replay compare", a=await step_of(ann, ann.private, 1))
    shown = await asked.replies()
    assert all(len(message.text) <= 2000 for message in shown)
    assert sum("x" in message.text for message in shown) >= 1


async def test_growing_answer_keeps_the_limits_and_its_end_arrives(tmp_path: Path) -> None:
    async with DiscordServer() as discord:
        ann = discord.user("ann")
        with pointing(discord):
            async with discord_bot(tmp_path, discord, agent=Chatty(), pacer=Pacer()):
                await ann.say("talk")
                shown = await ann.private.seen("the end", seconds=20)
                assert shown.edits, "it grew by edits"
                assert ann.private.typed >= 1
        assert discord.violations == []


async def test_ten_answers_in_a_row_keep_the_limits_of_a_channel(tmp_path: Path) -> None:
    async with DiscordServer() as discord:
        ann = discord.user("ann")
        with pointing(discord):
            async with discord_bot(tmp_path, discord, pacer=Pacer()):
                for number in range(7):
                    await ann.say(f"number {number}")
                await ann.private.seen("You said: number 6", seconds=30)
        assert discord.violations == []


async def test_file_comes_into_the_inbox(bot: Bot, ann: User) -> None:
    await ann.send_document("notes.txt", b"buy milk", caption="hello")
    await ann.private.seen("[file: inbox/notes.txt]")
    await ann.say("read inbox/notes.txt")
    await ann.private.seen("buy milk")


async def test_file_that_cannot_be_fetched_is_said_in_a_line(bot: Bot, discord: DiscordServer, ann: User) -> None:
    discord.fail_next("download", 404)
    await ann.send_document("notes.txt", b"x", caption="hello")
    await ann.private.seen("notes.txt")


async def test_commands_are_registered_once_and_only_what_differs_is_written(
    discord: DiscordServer, tmp_path: Path
) -> None:
    async with discord_bot(tmp_path, discord):
        await discord.registered("Fork from here")
    written = len(discord.calls_to("PUT /applications/*")) + len(discord.calls_to("POST /applications/*"))
    assert written == 1
    undo = next(command for command in discord.commands if command["name"] == "undo")
    undo["description"] = "of an older version"
    discord.commands.append({**undo, "id": "77", "name": "somebody-elses"})
    async with discord_bot(tmp_path, discord):
        await discord.arrived("POST /applications/*/commands")
    assert [call.params["name"] for call in discord.calls_to("POST /applications/*")] == ["undo"]
    assert "somebody-elses" in {command["name"] for command in discord.commands}


class Chatty(Scripted):
    """Talks for some seconds."""

    async def run(self, state: State, text: str, context: Context) -> AsyncIterator[Mapping[str, Any]]:
        state = {**state, "messages": [*state.get("messages", []), {"role": "user", "content": text}]}
        said = ""
        for number in range(12):
            said += f"word {number} "
            yield {"type": "delta", "text": f"word {number} "}
            await asyncio.sleep(0.25)
        said += "the end"
        state["messages"].append({"role": "assistant", "content": said})
        yield {"type": "step", "state": state}
        yield {"type": "done", "state": state, "text": said}
