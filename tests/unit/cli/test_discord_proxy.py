"""Which proxy leads to Discord."""

from __future__ import annotations

from turnback.cli.platforms import discord_proxy
from turnback.config.sections import Discord, Settings


def test_setting_comes_before_the_environment_and_both_may_be_missing() -> None:
    bare, named = Settings(), Settings(discord=Discord(proxy="http://mine:1"))
    environment = {"HTTPS_PROXY": "http://theirs:2"}
    assert discord_proxy(named, environment) == "http://mine:1"
    assert discord_proxy(bare, environment) == "http://theirs:2"
    assert discord_proxy(bare, {"https_proxy": "http://lower:3"}) == "http://lower:3"
    assert discord_proxy(bare, {}) is None
