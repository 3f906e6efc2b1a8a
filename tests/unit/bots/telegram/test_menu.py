"""The menus of commands."""

from __future__ import annotations

from platforms.telegram.rules import check_commands

from turnback.bots.telegram.menu import menus


def test_menus_are_within_the_limits_of_telegram() -> None:
    for _, commands in menus():
        assert check_commands([command.to_dict() for command in commands])


def test_menus_offer_to_admins_what_is_not_for_all() -> None:
    names = {scope.type: {command.command for command in commands} for scope, commands in menus()}
    assert "reset" not in names["all_group_chats"]
    assert "reset" in names["all_chat_administrators"]
    assert {"replay", "fork", "undo", "web"} <= names["all_group_chats"]


def test_menus_leave_out_what_is_for_admins_of_the_service() -> None:
    assert all(command.command != "retention" for _, commands in menus() for command in commands)
