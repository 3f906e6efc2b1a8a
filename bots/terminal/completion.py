"""What Tab offers: commands, then whatever fits after them (steps, labels, chats)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from turnback.bots.commands import CATALOGUE
from turnback.bots.terminal.client import Json
from turnback.bots.words import printable

_TAKES_A_STEP = {
    ("/replay",),
    ("/replay", "show"),
    ("/replay", "restore"),
    ("/replay", "compare"),
    ("/replay", "name"),
    ("/fork",),
}


class Words(Completer):
    """Completes commands, step ids and labels, and chats for `/switch`."""

    def __init__(self, steps: Callable[[], Sequence[Json]], chats: Callable[[], Sequence[Json]]) -> None:
        self._steps = steps
        self._chats = chats

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The words that fit at the cursor; none in ordinary text."""
        del complete_event
        line = document.text_before_cursor
        if not line.startswith("/"):
            return
        *before, begun = line.casefold().split(" ")
        for word, meta in self._fitting(tuple(before)):
            if word.casefold().startswith(begun):
                yield Completion(word, start_position=-len(begun), display_meta=meta)

    def _fitting(self, before: tuple[str, ...]) -> Iterable[tuple[str, str]]:
        if not before:
            yield from {f"/{u.word}": "" if u.sub else u.does for u in reversed(CATALOGUE)}.items()
            yield "/quit", "leave"
            return
        if len(before) == 1:
            yield from ((u.sub, u.does) for u in CATALOGUE if u.sub and f"/{u.word}" == before[0])
        if before == ("/switch",):
            yield from ((str(c["thread_id"])[:8], printable(str(c["title"]), 40)) for c in self._chats())
        if before in _TAKES_A_STEP or before[:2] == ("/replay", "compare"):
            yield from self._step_words()

    def _step_words(self) -> Iterable[tuple[str, str]]:
        for step in reversed(self._steps()):
            meta = f"turn {step['turn_index']}, step {step['number']} · {printable(str(step['summary']), 40)}"
            yield str(step["id"])[:8], meta
            if step["label"]:
                yield f"@{step['label']}", meta
