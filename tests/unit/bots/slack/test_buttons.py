"""Buttons and choices as Block Kit, and what a press on one stands for."""

from __future__ import annotations

from turnback.bots.platform import Said
from turnback.bots.replies import Button, Option, Select
from turnback.bots.slack.buttons import asks, controls, pressed

ID = "0123456789abcdef" * 2


def elements(said: Said) -> list[dict[str, object]]:
    return [element for block in controls(said) for element in block["elements"]]


def test_press_gives_the_command_back() -> None:
    (button,) = elements(Said(text="", buttons=(Button(label="Go", command=f"/replay restore {ID}"),)))
    assert pressed(button) == f"/replay restore {ID}"
    assert not asks(button)


def test_choice_gives_the_command_back() -> None:
    select = Select(placeholder="Pick", options=(Option(label="One", detail="", command=f"/replay show {ID}"),))
    (menu,) = elements(Said(text="", select=select))
    assert pressed({**menu, "selected_option": menu["options"][0]}) == f"/replay show {ID}"  # type: ignore[index]


def test_link_is_opened_and_sends_nothing() -> None:
    (button,) = elements(Said(text="", buttons=(Button(label="Open", url="https://host/x"),)))
    assert button["url"] == "https://host/x"
    assert pressed(button) is None


def test_button_that_lacks_a_word_says_so() -> None:
    (button,) = elements(Said(text="", buttons=(Button(label="Label", command="/replay name", asks="Which?"),)))
    assert asks(button)
    assert pressed(button) == "/replay name"


def test_button_of_another_app_is_not_ours() -> None:
    assert pressed({"action_id": "page:2", "value": "/undo"}) is None


def test_what_slack_would_refuse_is_left_out() -> None:
    long = Button(label="x", command="/undo " + "1" * 2000)
    select = Select(placeholder="Pick", options=(Option(label="One", detail="", command="/undo " + "1" * 200),))
    assert controls(Said(text="", buttons=(long,), select=select)) == []
