"""The grammar: a line of text -> a Command.

One place for every surface. `parse` never raises and never takes ordinary text for a command: only a
slash (or, where an adapter says so, an exclamation mark or a mention) before one of our words makes
one. What is not understood comes back as a value, too, with the nearest command and how it is used.
In a group, an `Unknown` that does not name us may well be meant for another bot: adapters keep quiet.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Sequence

from turnback.bots.commands import (
    STEP,
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
    TellLesson,
    Tree,
    Undo,
    Unknown,
    Web,
    usage_of,
)
from turnback.bots.words import plain, printable, words
from turnback.core.models import ID

_HEX = re.compile(r"[0-9a-f]{4,32}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LABEL = re.compile(r"[\w-]{1,32}")
_FIRST = re.compile(r"(?P<mark>[/!]?)(?P<word>[a-z][a-z0-9_]*)(?:@(?P<name>[\w.-]+))?")
_ASKED_FOR_HELP = {"help", "-h", "--help", "-help"}
_BEYOND_ANY = 10**9


class _Misuse(Exception):
    """Arguments that do not fit; becomes a `Misused`."""


def parse(text: str, *, names: Collection[str] = (), bang: bool = False, bare: bool = False) -> Parsed:
    """Read a line.

    `names` are our own names on the platform, for `/replay@name`. `bang` also takes `!replay`, where
    slash commands cannot be typed. `bare` takes the words without a mark, after a mention; then only
    what is well formed is a command, the rest is talk.
    """
    line = words(text)
    first = _FIRST.fullmatch(plain(line[0])) if line else None
    if first is None or not _is_marked(first["mark"], first["word"], bang=bang, bare=bare):
        return NotACommand()
    if first["name"] and first["name"] not in {plain(name.removeprefix("@")) for name in names}:
        return NotForUs()
    args = line[1:] if "name" in map(plain, line[1:2]) else [word for word in line[1:] if word != "-"]
    parsed = _parse_word(first["word"], args)
    if first["mark"] or (isinstance(parsed, Command) and not (args and first["word"] in _TALKATIVE)):
        return parsed
    near_miss = first["word"] == "replay" and isinstance(parsed, Unknown) and parsed.nearest is not None
    return parsed if near_miss else NotACommand()


def read_step(word: str) -> str | None:
    """A reference to a step in the form that the service takes; None if it cannot be one."""
    if word.startswith("@"):
        return word if _LABEL.fullmatch(word[1:]) else None
    ref = plain(word)
    ref = ref.replace("-", "") if _UUID.fullmatch(ref) else ref
    return ref if _HEX.fullmatch(ref) else None


def _is_marked(mark: str, word: str, *, bang: bool, bare: bool) -> bool:
    if mark == "/":
        return True
    return word in _OURS and word not in _INTERNAL and (bang if mark else bare)


def _parse_word(word: str, args: list[str]) -> Parsed:
    reader = _OURS.get(word)
    if reader is None:
        nearest = _nearest_word(word)
        usage = usage_of(*(nearest or "help").split())
        return Unknown(f"/{printable(word, 40)}", f"/{nearest}" if nearest else None, usage)
    if word not in _INTERNAL and args and plain(args[0]) in _ASKED_FOR_HELP:
        return Help()
    try:
        return reader(args)
    except _Misuse as error:
        sub = plain(args[0]) if args and plain(args[0]) in _SUBS.get(word, {}) else None
        return Misused(str(error), usage_of(word, sub))


def _nearest_word(word: str) -> str | None:
    if word in _SUBS["replay"]:
        return f"replay {word}"
    close = difflib.get_close_matches(word, [w for w in _OURS if w not in _INTERNAL], n=1, cutoff=0.6)
    return close[0] if close else None


# Reading arguments: each raises _Misuse with a sentence


def _step(args: Sequence[str]) -> str | None:
    """The only argument, a step; None if there is none."""
    if len(args) > 1:
        raise _Misuse(f"One step at a time, please: {_quoted(args[1])} is one word too many.")
    return _ref(args[0]) if args else None


def _ref(word: str) -> str:
    ref = read_step(word)
    if ref is not None:
        return ref
    if plain(word) and not plain(word).strip("0123456789abcdef"):
        size = "too short" if len(word) < 4 else "too long"
        raise _Misuse(f"{_quoted(word)} is {size} for a step: {STEP}.")
    raise _Misuse(f"{_quoted(word)} is no step: {STEP}.")


def _number(args: Sequence[str], what: str) -> int | None:
    if not args:
        return None
    digits = plain(args[0])
    if len(args) > 1 or not digits.isdecimal() or not digits.strip("0"):
        raise _Misuse(f"{_quoted(' '.join(args))} is no {what}: give a number from 1 on.")
    return int(digits) if len(digits) < len(str(_BEYOND_ANY)) else _BEYOND_ANY


def _nothing(args: Sequence[str], what: str) -> None:
    if args:
        raise _Misuse(f"{what} takes nothing after it: {_quoted(' '.join(args))} was not understood.")


def _quoted(text: str) -> str:
    return f"“{printable(text, 40)}”"


def _replay(args: list[str]) -> Parsed:
    if not args:
        return Overview()
    sub = _SUBS["replay"].get(plain(args[0]))
    if sub is not None:
        return sub(args[1:])
    looks_like_a_step = args[0].startswith("@") or not plain(args[0]).strip("0123456789abcdef-%_*")
    if looks_like_a_step:
        return Restore(step=_step(args) if len(args) > 1 else _ref(args[0]))
    close = difflib.get_close_matches(plain(args[0]), list(_SUBS["replay"]), n=1, cutoff=0.6)
    return Unknown(printable(args[0], 40), f"/replay {close[0]}" if close else None, usage_of("replay"))


def _compare(args: list[str]) -> Command:
    if not args or len(args) > 2:
        raise _Misuse("Compare takes one step, or two.")
    return Compare(step=_ref(args[0]), other=_ref(args[1]) if len(args) > 1 else None)


def _name(args: list[str]) -> Command:
    if not args:
        raise _Misuse("Which step, and which name?")
    *steps, label = args
    if len(steps) > 1 or not _LABEL.fullmatch(label.removeprefix("@")):
        raise _Misuse("A label is one word of letters, digits, - and _, at most 32.")
    return Name(step=_step(steps), label=None if label == "-" else label.removeprefix("@"))


def _fork(args: list[str]) -> Command:
    steps = [word for word in args if plain(word) != "here"]
    return ForkStep(step=_step(steps), here=len(steps) < len(args))


def _memory(args: list[str]) -> Parsed:
    if not args:
        return MemoryList()
    sub = _SUBS["memory"].get(plain(args[0]))
    if sub is not None:
        return sub(args[1:])
    close = difflib.get_close_matches(plain(args[0]), list(_SUBS["memory"]), n=1, cutoff=0.5)
    return Unknown(printable(args[0], 40), f"/memory {close[0]}" if close else None, usage_of("memory"))


def _one_word(args: Sequence[str], what: str) -> str:
    if len(args) != 1 or not args[0]:
        raise _Misuse(f"{what} is one word.")
    return args[0]


def _gate(args: Sequence[str]) -> str:
    gate = plain(_one_word(args, "That"))
    if not ID.fullmatch(gate):
        raise _Misuse("That is no approval.")
    return gate


def _retention(args: list[str]) -> Command:
    if len(args) > 2:
        raise _Misuse("One key and one value.")
    return Retention(key=plain(args[0]) if args else None, value=args[1] if len(args) > 1 else None)


def _simple(command: Command, what: str) -> Callable[[list[str]], Command]:
    def read(args: list[str]) -> Command:
        _nothing(args, what)
        return command

    return read


_Reader = Callable[[list[str]], Parsed]

_SUBS: dict[str, dict[str, _Reader]] = {
    "replay": {
        "list": lambda args: ListSteps(page=_number(args, "page")),
        "show": lambda args: Show(step=_step(args)),
        "restore": lambda args: Restore(step=_step(args)),
        "compare": _compare,
        "tree": lambda args: Tree(page=_number(args, "page") or 1),
        "name": _name,
        "clear": _simple(Clear(), "/replay clear"),
    },
    "memory": {
        "list": _simple(MemoryList(), "/memory list"),
        "forget": lambda args: MemoryForget(fact=_one_word(args, "The fact's ID (see /memory list)")),
        "on": _simple(MemorySwitch(on=True), "/memory on"),
        "off": _simple(MemorySwitch(on=False), "/memory off"),
    },
}

_INTERNAL: dict[str, _Reader] = {
    "confirm": lambda args: Answer(token=_one_word(args, "That"), yes=True),
    "decline": lambda args: Answer(token=_one_word(args, "That"), yes=False),
    "bringback": lambda args: Redo(only=_one_word(args, "That")),
    "approve": lambda args: Decide(gate=_gate(args), approve=True),
    "deny": lambda args: Decide(gate=_gate(args), approve=False),
    "lesson": lambda args: TellLesson(move=_one_word(args, "That")),
}
"""Words that only our buttons send."""

_TALKATIVE = frozenset({"help", "stop"})
"""Words that take anything after them, and so begin talk, too, after a mention: "help me with this"."""

_OURS: dict[str, _Reader] = {
    "replay": _replay,
    "fork": _fork,
    "undo": lambda args: Undo(n=_number(args, "number of turns") or 1),
    "redo": _simple(Redo(), "/redo"),
    "reset": _simple(Reset(), "/reset"),
    "stop": lambda _args: Stop(),
    "chats": lambda args: Chats(page=_number(args, "page") or 1),
    "switch": lambda args: Switch(thread=plain(_one_word(args, "The chat's ID (see /chats)"))),
    "memory": _memory,
    "delete": _simple(Delete(), "/delete"),
    "web": _simple(Web(), "/web"),
    "help": lambda _args: Help(),
    "retention": _retention,
    **_INTERNAL,
}
