"""What a chat can ask of the time machine, as values; and what else a line of text can be.

`grammar.parse` makes them of what people type, adapters make them of what people press or choose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# What can be asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Something that a chat asks of the time machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnStep(Command):
    """A command about a step: a lower-case prefix of its id, or "@label". None: see the command."""

    step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview(OnStep):
    """How much is saved here; with a step (a reply to a message): that step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSteps(Command):
    """A page of the path's steps; None: the page with the head."""

    page: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Show(OnStep):
    """Open a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore(OnStep):
    """Go back to a step."""

    confirm_files: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(OnStep):
    """What differs between a step and another, or now."""

    other: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree(Command):
    """All steps, also what is set aside."""

    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(OnStep):
    """Give a step a label; None takes it off."""

    label: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clear(Command):
    """Delete this chat's steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkStep(OnStep):
    """Branch a step (None: the newest) into a chat of my own; `here` also continues it here."""

    here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(Command):
    """Go back to before the last `n` turns."""

    n: int = 1
    confirm_files: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redo(Command):
    """Reverse the last undo, restore or reset; with `only`, just that one ("Bring back")."""

    only: str | None = None
    confirm_files: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TellLesson(Command):
    """Tell the agent what was tried on the branch that the move `move` left (a button under its reply)."""

    move: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset(Command):
    """Start again before the first turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(Command):
    """Stop the turn that runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chats(Command):
    """My chats."""

    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(Command):
    """Talk into another of my chats from here; `thread` is its id or a beginning of it."""

    thread: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryList(Command):
    """What the agent remembers here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryForget(Command):
    """Delete a fact."""

    fact: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySwitch(Command):
    """Whether the agent may remember here."""

    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Command):
    """Delete this chat and all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Web(Command):
    """A link that signs me in on the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Help(Command):
    """What can be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention(Command):
    """See or change how long and how much is kept."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Command):
    """A press on a button under a question; `token` names the question."""

    token: str
    yes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide(Command):
    """A press on a button of an approval's card; `gate` is the approval's id."""

    gate: str
    approve: bool


# What else a line can be


@dataclass(frozen=True, slots=True)
class NotACommand:
    """Ordinary text, for the agent."""


@dataclass(frozen=True, slots=True)
class NotForUs:
    """A command for another bot: no answer at all."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A word that is no command of ours. `nearest` is a whole command such as "/replay list"."""

    word: str
    nearest: str | None
    usage: str


@dataclass(frozen=True, slots=True)
class Misused:
    """One of our commands with arguments that do not fit; `reason` is a sentence."""

    reason: str
    usage: str


Parsed = Command | NotACommand | NotForUs | Unknown | Misused


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """A line of the help: how a command is typed, and what it does."""

    usage: str
    does: str
    admin: bool = False

    @property
    def word(self) -> str:
        return self.usage.split()[0].removeprefix("/")

    @property
    def sub(self) -> str | None:
        """The second word, where it is a fixed one."""
        rest = self.usage.split()[1:]
        return rest[0] if rest and rest[0].isalpha() and rest[0].islower() else None


CATALOGUE = (
    Usage(usage="/replay", does="how much is saved here"),
    Usage(usage="/replay list [PAGE]", does="the steps saved here, turn by turn"),
    Usage(usage="/replay show STEP", does="look at a step"),
    Usage(usage="/replay restore STEP", does="go back to that step (/replay STEP does the same)"),
    Usage(usage="/replay compare A [B]", does="what differs between two steps, or a step and now"),
    Usage(usage="/replay tree", does="all steps, also those set aside"),
    Usage(usage="/replay name STEP LABEL", does="give a step a name, then use @LABEL (- takes it off)"),
    Usage(usage="/replay clear", does="delete this chat's steps (asks first)"),
    Usage(usage="/fork [STEP] [here]", does="branch a step into a new chat of your own"),
    Usage(usage="/undo [N]", does="go back before the last turns"),
    Usage(usage="/redo", does="take the last undo or restore back"),
    Usage(usage="/reset", does="start again; the steps stay"),
    Usage(usage="/stop", does="stop what is running"),
    Usage(usage="/chats", does="your chats"),
    Usage(usage="/switch CHAT", does="talk into another of your chats from here"),
    Usage(usage="/memory list", does="what is remembered here"),
    Usage(usage="/memory forget ID", does="forget one of it"),
    Usage(usage="/memory on", does="remember again"),
    Usage(usage="/memory off", does="forget all of it, and stop remembering (asks first)"),
    Usage(usage="/delete", does="delete this chat for good (asks first)"),
    Usage(usage="/web", does="a link to your chats on the web page"),
    Usage(usage="/help", does="this list"),
    Usage(usage="/retention [KEY VALUE]", does="how long and how much is kept", admin=True),
)
"""Every command that people see, in the order of the help."""

STEP = "a step is 4 or more characters of its id (see /replay list) or @LABEL"


def with_replied_step(command: Command, step: str) -> Command:
    """The same command, sent as a reply to the message that `step` ended with."""
    if isinstance(command, Overview | Show | Restore | ForkStep | Name) and command.step is None:
        return replace(command, step=step)
    return command


def asked_for(command: str) -> str:
    """What a form asks for, whose answer is the last word of a command."""
    last = usage_of(*command.removeprefix("/").split()[:2]).rpartition(" ")[2]
    return {"LABEL": "A name for this step, in one word"}.get(last, "One word more")


def usage_of(word: str, sub: str | None = None) -> str:
    """How a command is typed; all forms of it where there are several."""
    fitting = [u.usage for u in CATALOGUE if u.word == word and (sub is None or u.sub == sub)]
    if len(fitting) < 2:
        return "".join(fitting) or "/help"
    return f"/{word} " + " | ".join(rest for u in fitting if (rest := u.removeprefix(f"/{word}").strip()))
