"""The grammar: what people type, and what it is taken for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnback.bots.commands import (
    CATALOGUE,
    Answer,
    Chats,
    Clear,
    Command,
    Compare,
    Decide,
    Delete,
    ForkStep,
    Help,
    ListSteps,
    MemoryForget,
    MemoryList,
    MemorySwitch,
    Misused,
    Name,
    NotACommand,
    NotForUs,
    Overview,
    Parsed,
    Redo,
    Reset,
    Restore,
    Retention,
    Show,
    Stop,
    Switch,
    Tree,
    Undo,
    Unknown,
    Web,
    with_replied_step,
)
from turnback.bots.grammar import parse

A, B = "3fa9c1d2", "77b0aa01"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/replay", Overview()),
        ("/replay list", ListSteps()),
        ("/replay list 2", ListSteps(page=2)),
        (f"/replay show {A}", Show(step=A)),
        ("/replay show", Show()),
        (f"/replay {A}", Restore(step=A)),
        (f"/replay restore {A}", Restore(step=A)),
        ("/replay restore", Restore()),
        ("/replay @Before-It", Restore(step="@Before-It")),
        (f"/replay compare {A}", Compare(step=A)),
        (f"/replay compare {A} {B}", Compare(step=A, other=B)),
        ("/replay tree", Tree()),
        (f"/replay name {A} good-one", Name(step=A, label="good-one")),
        ("/replay name good-one", Name(label="good-one")),
        (f"/replay name {A} -", Name(step=A, label=None)),
        ("/replay clear", Clear()),
        ("/fork", ForkStep()),
        (f"/fork {A}", ForkStep(step=A)),
        (f"/fork {A} here", ForkStep(step=A, here=True)),
        ("/fork here", ForkStep(here=True)),
        ("/undo", Undo()),
        ("/undo 3", Undo(n=3)),
        ("/undo ٣", Undo(n=3)),
        ("/undo " + "9" * 5000, Undo(n=10**9)),
        ("/redo", Redo()),
        ("/bringback r1", Redo(only="r1")),
        ("/reset", Reset()),
        ("/stop", Stop()),
        ("/stop it please", Stop()),
        ("/chats", Chats()),
        ("/switch 0a1b2c3d", Switch(thread="0a1b2c3d")),
        ("/memory", MemoryList()),
        ("/memory list", MemoryList()),
        ("/memory forget f1", MemoryForget(fact="f1")),
        ("/memory on", MemorySwitch(on=True)),
        ("/memory off", MemorySwitch(on=False)),
        ("/delete", Delete()),
        ("/web", Web()),
        ("/help", Help()),
        ("/replay help", Help()),
        ("/retention", Retention()),
        ("/retention retention_days 7", Retention(key="retention_days", value="7")),
        ("/confirm t0k", Answer(token="t0k", yes=True)),
        ("/decline t0k", Answer(token="t0k", yes=False)),
        (f"/approve {'a' * 32}", Decide(gate="a" * 32, approve=True)),
        (f"/deny {'a' * 32}", Decide(gate="a" * 32, approve=False)),
    ],
)
def test_parse_reads_each_command(text: str, command: Command) -> None:
    assert parse(text) == command


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (f"/REPLAY {A.upper()}", Restore(step=A)),
        ("\ufeff/replay\u00a0list", ListSteps()),
        ("/replay\u202flist\u30002", ListSteps(page=2)),
        (f"/replay {A}\u200b", Restore(step=A)),
        (f"/replay \u2066{A}\u2069", Restore(step=A)),
        ("/replay 3fa9\u200dc1d2", Restore(step=A)),
        (f"/replay “{A}”", Restore(step=A)),
        (f"/replay '{A}'", Restore(step=A)),
        (f"/replay `{A}`.", Restore(step=A)),
        (f"/replay {A}…", Restore(step=A)),
        (f"/replay {A}!", Restore(step=A)),
        (f"/fork <{A}>", ForkStep(step=A)),
        (f"/replay compare {A} —— {B}", Compare(step=A, other=B)),
        (f"/replay compare {A}, {B}.", Compare(step=A, other=B)),
        ("/replay —help", Help()),
        ("/replay –help", Help()),
        ("/redo.", Redo()),
        ("／ｒｅｐｌａｙ　ｌｉｓｔ", ListSteps()),
        (f"/replay <http://{A}|{A}>", Restore(step=A)),
        (f"/replay compare <http://x.example/?a=b|{A}> {B}", Compare(step=A, other=B)),
        (f"/replay {A}-1234-4abc-8abc-0123456789ab", Restore(step=f"{A}12344abc8abc0123456789ab")),
        (f"/replay name {A} my–label", Name(step=A, label="my-label")),
    ],
)
def test_parse_reads_words_as_phones_and_pages_make_them(text: str, command: Command) -> None:
    assert parse(text) == command


@pytest.mark.parametrize(
    "text",
    [
        "/replay 3",
        "/replay 0",
        '/replay ""',
        "/replay %",
        "/replay _fa9c1d2",
        "/replay 3fa9%",
        "/replay " + "a" * 33,
        f"/replay {A} {B}",
        "/replay list two",
        "/replay list 0",
        "/replay compare",
        f"/replay compare {A} {B} {A}",
        "/replay compare <http://3fa9c1d2.py|3fa9c1d2.py>",
        f"/replay name {A} two words",
        "/replay name",
        "/replay clear everything",
        "/undo -2",
        "/undo two",
        "/undo ²½",
        "/switch",
        "/memory forget",
        "/delete this",
    ],
)
def test_parse_of_arguments_that_do_not_fit_says_how_it_is_used(text: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed, Misused), parsed
    assert parsed.reason.endswith(".") or parsed.reason.endswith("?")
    assert parsed.usage.startswith("/")


@pytest.mark.parametrize(
    ("text", "word", "nearest"),
    [
        ("/replay list2", "list2", "/replay list"),
        ("/replay lst", "lst", "/replay list"),
        ("/replay frobnicate", "frobnicate", None),
        ("/reply", "/reply", "/replay"),
        ("/frok 3fa9c1d2", "/frok", "/fork"),
        ("/memory forgt x", "forgt", "/memory forget"),
        ("/diff", "/diff", None),
        ("/list", "/list", "/replay list"),
        ("/restore 3fa9c1d2", "/restore", "/replay restore"),
    ],
)
def test_parse_of_an_unknown_word_names_it_and_the_nearest(text: str, word: str, nearest: str | None) -> None:
    parsed = parse(text)
    assert isinstance(parsed, Unknown)
    assert (parsed.word, parsed.nearest) == (word, nearest)


@pytest.mark.parametrize("text", ["/replay@TMBot list", "/replay@tmbot list", "/REPLAY@TMBot list"])
def test_parse_with_our_name_in_any_case_is_for_us(text: str) -> None:
    assert parse(text, names=["@TMBot"]) == ListSteps()


@pytest.mark.parametrize("names", [["TMBot"], []])
def test_parse_with_another_name_is_not_for_us(names: list[str]) -> None:
    assert parse("/replay@OtherBot clear", names=names) == NotForUs()


@pytest.mark.parametrize(
    "text",
    ["", " ", "/", "//", "hello", "replay list", "/etc/hosts is odd", "see /replay list", "!nice work", "!replay list",
     "/3fa9c1d2", "- /replay", "`/replay list`", "@bot replay list"],
)  # fmt: skip
def test_parse_takes_ordinary_text_for_no_command(text: str) -> None:
    assert parse(text) == NotACommand()


def test_parse_with_bang_takes_only_our_words() -> None:
    assert parse("!replay list", bang=True) == ListSteps()
    assert parse("!nice work", bang=True) == NotACommand()
    assert isinstance(parse("!replay list2", bang=True), Unknown)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("replay list", ListSteps()),
        (f"fork {A}", ForkStep(step=A)),
        ("undo 2", Undo(n=2)),
        ("undo the last commit please", NotACommand()),
        ("replay the video", NotACommand()),
        ("web scraping", NotACommand()),
        ("help me with this", NotACommand()),
        ("help", Help()),
        ("stop that noise", NotACommand()),
        ("confirm it", NotACommand()),
        ("approve this", NotACommand()),
        ("/replay list", ListSteps()),
    ],
)
def test_parse_of_bare_words_takes_only_what_is_well_formed(text: str, parsed: Parsed) -> None:
    assert parse(text, bare=True) == parsed


def test_parse_of_bare_words_still_helps_with_a_near_miss() -> None:
    assert isinstance(parse("replay lst", bare=True), Unknown)


def test_replied_step_fills_in_only_what_was_left_out() -> None:
    assert with_replied_step(Restore(), A) == Restore(step=A)
    assert with_replied_step(Overview(), A) == Overview(step=A)
    assert with_replied_step(Name(label="x"), A) == Name(step=A, label="x")
    assert with_replied_step(Restore(step=B), A) == Restore(step=B)
    assert with_replied_step(Clear(), A) == Clear()


@pytest.mark.parametrize("usage", CATALOGUE, ids=lambda u: u.usage)
def test_every_usage_of_the_catalogue_is_understood(usage: object) -> None:
    text = usage.usage  # type: ignore[attr-defined]
    for word, value in {"STEP": A, "[STEP]": A, "[here]": "here", "LABEL": "good", "[PAGE]": "1", "[B]": B, "[N]": "1",
                        "CHAT": "abcd", "ID": "abcd", "[KEY": "retention_days", "VALUE]": "7"}.items():  # fmt: skip
        text = text.replace(word, value)
    assert isinstance(parse(text.replace(" A", f" {A}")), Command)


@given(st.text())
def test_parse_never_raises(text: str) -> None:
    for line in (text, f"/{text}", f"/replay {text}", f"/memory {text}", f"/undo {text}", f"/fork@{text}"):
        parse(line, bang=True)
        parse(line, bare=True, names=["x"])


@given(st.text().filter(lambda t: not t.strip().startswith(("/", "／"))))
def test_text_without_a_slash_is_never_a_command(text: str) -> None:
    if "/" not in text and "／" not in text:
        assert parse(text) == NotACommand()


@given(st.text(alphabet="/!.,'\"“—- \u200b\u00a0abcdef0123456789%_@<>|", max_size=30))
def test_a_step_read_from_anything_is_one_that_was_typed(text: str) -> None:
    parsed = parse(f"/replay {text}")
    if isinstance(parsed, Restore) and parsed.step and not parsed.step.startswith("@"):
        assert parsed.step in text.replace("\u200b", "").replace("-", "")
