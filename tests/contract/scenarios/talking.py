"""Talk with the agent: what people say, and what comes back."""

from __future__ import annotations

from contract.scenarios.driver import Driver, Feature, scenario
from contract.scenarios.phrases import remembered, steps, talk


@scenario()
async def message_is_answered(ann: Driver) -> None:
    await ann.say("hello there")
    await ann.seen("You said: hello there")


@scenario()
async def each_step_of_an_answer_is_saved(ann: Driver) -> None:
    await talk(ann, "steps 2")
    await ann.command("/replay")
    await ann.seen("3 steps saved here in 1 turn")


@scenario()
async def command_is_no_turn_and_never_reaches_the_agent(ann: Driver) -> None:
    await talk(ann, "one")
    for command in ("/replay", "/replay list", "/help"):
        await ann.command(command)
        await ann.answers()
    assert await remembered(ann) == ["one"]
    assert len(await steps(ann)) == 2


@scenario()
async def markup_that_people_write_is_shown_as_they_wrote_it(ann: Driver) -> None:
    text = "a*b* _c_ <b>&amp;</b> [x](https://y.example) `z` ~q~ ||s||"
    await ann.say(text)
    await ann.seen("You said: a")
    await ann.rest()
    await ann.command("/replay list")
    await ann.seen(f"Turn 1: {text}")


@scenario()
async def signs_in_an_answer_that_are_no_markup_stay(ann: Driver) -> None:
    await ann.say("is 1 < 2 & 3 > 2? some_snake_name, 5 * 6 = 30! #1 + {a} = b.")
    await ann.seen("You said: is 1 < 2 & 3 > 2? some_snake_name, 5 * 6 = 30! #1 + {a} = b.")


@scenario()
async def long_answer_arrives_whole(ann: Driver) -> None:
    words = [f"word{number}" for number in range(1, 1200)]
    for part in (words[start : start + 200] for start in range(0, len(words), 200)):
        await ann.say(" ".join(part))
        await ann.seen(part[-1])
        await ann.rest()
    await ann.say("history")
    await ann.seen("word1199")
    await ann.rest()
    text = " ".join(shown.text for shown in await ann.answers())
    assert [word for word in text.split() if word.startswith("word")] == words


@scenario(Feature.LIMITS)
async def very_long_answer_comes_as_a_file(ann: Driver) -> None:
    await ann.say("shell seq 1 8000")
    await ann.press("Approve", await ann.seen("run_command"))
    shown = await ann.seen("8000\n")
    assert shown.text.split() == [str(number) for number in range(1, 8001)]
