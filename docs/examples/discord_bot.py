"""A bot of your own that gains `/replay`, `/fork`, `/undo` and `/redo`: run it with TOKEN in the environment."""

import asyncio
import os
from contextlib import AsyncExitStack

import discord
from discord.ext import commands

from turnback.bots.discord import record, recorded
from turnback.core import open_service


class Bot(commands.Bot):
    async def setup_hook(self) -> None:
        self.one_by_one = asyncio.Lock()
        self.opened = AsyncExitStack()
        self.turnback = await self.opened.enter_async_context(open_service("data"))
        await self.load_extension("turnback.bots.discord")  # takes the service from `self.turnback`
        await self.tree.sync()  # only when your commands have changed

    async def close(self) -> None:
        await super().close()
        await self.opened.aclose()

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot or (message.guild and self.user not in message.mentions):
            return
        async with self.one_by_one:  # each from where the one before left the conversation
            await self.answer(message)

    async def answer(self, message: discord.Message) -> None:
        state = await recorded(self.turnback, message) or {"messages": []}  # where this conversation stands
        state["messages"].append({"role": "user", "content": message.content})
        answer = f"{(len(state['messages']) + 1) // 2}. {message.content}"
        state["messages"].append({"role": "assistant", "content": answer})
        sent = await message.channel.send(answer)
        await record(self.turnback, message, state, answer=sent)  # from now on people can come back here


nobody = discord.AllowedMentions.none()
bot = Bot(
    command_prefix=commands.when_mentioned,
    intents=discord.Intents(guilds=True, guild_messages=True, dm_messages=True),
    allowed_mentions=nobody,
    proxy=os.getenv("HTTPS_PROXY"),  # discord.py does not read it
)


@bot.tree.command(description="what this bot does")
async def about(interaction: discord.Interaction) -> None:
    await interaction.response.send_message("Say something, and I count it.", ephemeral=True)


if __name__ == "__main__":
    bot.run(os.environ["TOKEN"])
