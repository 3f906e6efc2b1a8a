"""A bot of the real library that repeats what it is told, and has one of everything."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any, Self

import discord
from discord import app_commands
from platforms.discord.server import DiscordServer

STEPS = ("turn 1, step 1", "turn 1, step 2", "turn 2, step 1")


class NextPage(discord.ui.DynamicItem[discord.ui.Button[Any]], template=r"page:(?P<page>\d+)"):
    """A button that works without a view that is kept."""

    def __init__(self, page: int) -> None:
        super().__init__(discord.ui.Button(label=f"Page {page}", custom_id=f"page:{page}"))
        self.page = page

    @classmethod
    async def from_custom_id(cls, _: discord.Interaction, item: Any, found: re.Match[str]) -> Self:
        return cls(int(found["page"]))

    async def callback(self, asked: discord.Interaction) -> None:
        view: discord.ui.View = discord.ui.View(timeout=None)
        view.add_item(NextPage(self.page + 1))
        await asked.response.edit_message(content=f"page {self.page}", view=view)


class StepSelect(discord.ui.Select[discord.ui.View]):
    def __init__(self) -> None:
        options = [discord.SelectOption(label=step, value=str(n)) for n, step in enumerate(STEPS)]
        super().__init__(custom_id="step", placeholder="Which step?", options=options)

    async def callback(self, asked: discord.Interaction) -> None:
        await asked.response.defer()
        await asked.followup.send(f"chose {self.values[0]}", ephemeral=True)


class LabelForm(discord.ui.Modal, title="A label"):
    label: discord.ui.TextInput[Any] = discord.ui.TextInput(label="Label", max_length=20)

    async def on_submit(self, asked: discord.Interaction) -> None:
        await asked.response.send_message(f"labelled {self.label.value}", ephemeral=True)


class EchoBot(discord.Client):
    """Repeats what it is told, and has one of everything."""

    def __init__(self, *, intents: discord.Intents | None = None, **more: Any) -> None:
        super().__init__(
            intents=intents or all_messages(),
            allowed_mentions=discord.AllowedMentions.none(),
            guild_ready_timeout=0.1,
            **more,
        )
        self.tree = app_commands.CommandTree(self)
        self.heard: list[str] = []
        self.resumes = 0
        add_commands(self.tree)

    async def setup_hook(self) -> None:
        self.add_dynamic_items(NextPage)
        await self.tree.sync()

    async def on_message(self, message: discord.Message) -> None:
        if message.author == self.user:
            return
        self.heard.append(message.content)
        if message.type in (discord.MessageType.default, discord.MessageType.reply):
            files = "".join([f" [{a.filename}: {(await a.read()).decode()}]" for a in message.attachments])
            await message.channel.send(f"{message.author.name}: {message.content}{files}")

    async def on_message_edit(self, _: discord.Message, after: discord.Message) -> None:
        if after.author != self.user and after.edited_at:
            await after.channel.send(f"edited: {after.content}")

    async def on_resumed(self) -> None:
        self.resumes += 1


def all_messages() -> discord.Intents:
    intents = discord.Intents.default()
    intents.message_content = True
    return intents


def add_commands(tree: app_commands.CommandTree[Any]) -> None:
    group = app_commands.Group(name="replay", description="Time travel")

    @group.command(name="list", description="The steps")
    async def show(asked: discord.Interaction, page: int = 1) -> None:
        view: discord.ui.View = discord.ui.View(timeout=None)
        view.add_item(NextPage(page + 1))
        view.add_item(StepSelect())
        await asked.response.send_message(f"page {page}", view=view)

    @group.command(name="restore", description="Go back")
    async def restore(asked: discord.Interaction, step: str, note: str = "") -> None:
        await asked.response.defer(ephemeral=True, thinking=True)
        await asked.edit_original_response(content=f"restored {step} {note}".strip())
        await asked.followup.send("and more", ephemeral=True)

    @restore.autocomplete("step")
    async def complete(asked: discord.Interaction, current: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=step, value=step) for step in STEPS if current in step]

    @group.command(name="name", description="Give a label")
    async def name(asked: discord.Interaction) -> None:
        await asked.response.send_modal(LabelForm())

    @tree.context_menu(name="Rewind to here")
    async def rewind(asked: discord.Interaction, message: discord.Message) -> None:
        await asked.response.send_message(f"to {message.content!r}", ephemeral=True)

    tree.add_command(group)


@contextlib.asynccontextmanager
async def connected(bot: EchoBot, server: DiscordServer) -> AsyncIterator[EchoBot]:
    running = asyncio.create_task(bot.start(server.token))
    running.add_done_callback(lambda _: server.signal.touch())
    try:
        await server.signal.until(lambda: running.done() or server.gateway.connected, lambda: "the bot runs", 10)
        if running.done():
            running.result()
        yield bot
    finally:
        await bot.close()
        await asyncio.gather(running, return_exceptions=True)
