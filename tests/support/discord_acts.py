"""What people do on Discord in several tests."""

from __future__ import annotations

import re

from platforms.discord.channels import Channel
from platforms.discord.messages import Message
from platforms.discord.people import User


async def step_of(person: User, channel: Channel, turn: int, number: int = 1) -> str:
    """The id of a step, as the list shows it."""
    shown = await (await person.slash("/replay list", channel)).seen("Steps of this chat")
    return str(re.findall(rf"turn {turn}, step {number} · ([0-9a-f]{{8}})", shown.text)[0])


async def talk(person: User, channel: Channel, *texts: str) -> Message:
    """Say things, each when the one before is answered; in a guild to the bot. The last answer."""
    mention = "" if channel.recipient else f"{channel.scene.bot.mention} "
    for text in texts:
        await person.say(mention + text, channel)
        answer = await channel.seen(f"You said: {text}")
    return answer


async def opened(person: User, channel: Channel) -> Message:
    """The first step, opened from the list."""
    shown = await (await person.slash("/replay list", channel)).seen("Steps of this chat")
    return await (await person.select("Turn 1, step 1", shown)).seen("Asked:")
