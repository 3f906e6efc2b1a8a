"""Whatever happens in a thread, in whatever order: it is as a model says that only keeps copies.

The model has no branches and no positions of its own: at every position that the store answered it
keeps a copy of how all looked then.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.threads import NOW, Talk, fork_of

from turnback.core.models import BEGINNING, FactId, Position, ThreadId, Turn, TurnStatus
from turnback.core.state.codec import encode
from turnback.core.threads.sqlite import SqliteThreadStore

T = TypeVar("T")
State = dict[str, Any]


@dataclass(frozen=True)
class Copy:
    """How a thread looked at a position."""

    state: State = field(default_factory=dict)
    rows: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    turn_index: int = 0
    before: tuple[tuple[Position, Copy], ...] = ()
    """Where each of its turns began."""
    places: frozenset[Position] = frozenset({BEGINNING})
    """The positions that led here."""


class AnyHistory(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.store = self.run(self._open())
        self.talk = self.run(Talk(self.store).start())
        self.now = Copy()
        self.at = self.root = BEGINNING
        self.copies: dict[Position, Copy] = {BEGINNING: self.now}
        self.back: list[Position] = []
        self.row_places: dict[str, Position] = {}
        self.turn: Turn | None = None
        self.learned: tuple[str, ...] = ()
        self.count = 0

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()
        self.folder.cleanup()

    async def _open(self) -> SqliteThreadStore:
        return await SqliteThreadStore.open(Path(self.folder.name) / "turnback.db")

    def run(self, awaitable: Awaitable[T]) -> T:
        async def wait() -> T:
            return await awaitable

        return self.runner.run(wait())

    def word(self, kind: str) -> str:
        self.count += 1
        return f"{kind} {self.count}"

    def stand(self, at: Position, now: Copy) -> None:
        self.at, self.now = at, replace(now, places=now.places | {at})
        self.copies[at] = self.now

    def idle(self) -> bool:
        return self.turn is None

    # turns

    @precondition(idle)
    @rule()
    def begin(self) -> None:
        text = self.word("ask")
        self.turn = self.run(self.talk.begin(text))
        assert self.turn.base == self.at
        assert self.turn.turn_index == self.now.turn_index + 1
        self.row_places[text] = self.turn.start
        before = (*self.now.before, (self.at, self.now))
        rows = (*self.now.rows, text)
        self.stand(self.turn.start, replace(self.now, rows=rows, before=before, turn_index=self.turn.turn_index))
        self.back = []

    @precondition(lambda self: self.turn is not None)
    @rule()
    def learn(self) -> None:
        assert self.turn is not None
        fact = self.word("fact")
        self.run(self.store.add_fact(self.talk.id, FactId(fact), fact, NOW))
        self.learned += (fact,)

    @precondition(lambda self: self.turn is not None)
    @rule(grow=st.booleans(), size=st.sampled_from([0, 10, 3000, 40_000]))
    def step(self, grow: bool, size: int) -> None:
        assert self.turn is not None
        said = self.now.state.get("messages", []) if grow else []
        message = {"role": "assistant", "content": self.word("say") + "x" * size}
        state = {"messages": [*said, message], "plan": [self.count], f"key {self.count % 3}": "y" * (size // 2)}
        at = self.run(self.talk.commit(self.turn, state))
        assert at > self.at or at.branch != self.at.branch
        self.stand(at, replace(self.now, state=state, facts=self.now.facts + self.learned))
        self.learned = ()

    @precondition(lambda self: self.turn is not None)
    @rule(status=st.sampled_from([TurnStatus.DONE, TurnStatus.STOPPED, TurnStatus.INTERRUPTED]))
    def end(self, status: TurnStatus) -> None:
        assert self.turn is not None
        answer = self.word("answer")
        self.run(self.talk.end(self.turn, answer, status))
        stepless = self.at == self.turn.start
        at = self.run(self.talk.head()) if stepless else self.at
        facts = self.now.facts + (self.learned if stepless else ())
        self.row_places[answer] = at
        self.stand(at, replace(self.now, rows=(*self.now.rows, answer), facts=facts))
        self.turn, self.learned = None, ()

    # going back and on

    @precondition(lambda self: self.idle() and self.now.before)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        n = data.draw(st.integers(1, len(self.now.before)))
        self.run(self.talk.undo(n))
        self.back.append(self.at)
        self.at, self.now = self.now.before[-n]

    @precondition(lambda self: self.idle() and self.back)
    @rule()
    def redo(self) -> None:
        self.run(self.talk.redo())
        self.at = self.back.pop()
        self.now = self.copies[self.at]

    @precondition(idle)
    @rule()
    def reset(self) -> None:
        self.run(self.talk.move(self.root))
        self.back.append(self.at)
        self.at, self.now = self.root, self.copies[self.root]

    @precondition(idle)
    @rule(data=st.data(), discard=st.booleans())
    def restore(self, data: st.DataObject, discard: bool) -> None:
        to = data.draw(st.sampled_from(sorted(self.copies)))
        self.run(self.talk.move(to, state=self.copies[to].state, discard=discard))
        self.back = [] if discard else [*self.back, self.at]
        self.at, self.now = to, self.copies[to]
        if discard:
            self.forget(self.now.places)

    @rule(data=st.data())
    def sweep(self, data: st.DataObject) -> None:
        steps = data.draw(st.sets(st.sampled_from(sorted(self.copies)), max_size=4))
        reached: frozenset[Position] = frozenset()
        for end in {self.at, self.root, *self.back, *steps}:
            reached |= self.copies[end].places
        gone = sum(place not in reached for place in self.row_places.values())
        assert self.run(self.store.sweep(self.talk.id, [*steps, self.root])) == gone
        self.forget(reached)

    def forget(self, kept: frozenset[Position]) -> None:
        self.copies = {at: copy for at, copy in self.copies.items() if at in kept or at == self.root}
        self.row_places = {row: at for row, at in self.row_places.items() if at in kept}

    @rule(data=st.data(), go_on=st.booleans())
    def fork(self, data: st.DataObject, go_on: bool) -> None:
        at = data.draw(st.sampled_from(sorted(self.copies)))
        copy, thread_id = self.copies[at], ThreadId(self.word("fork"))
        new = replace(fork_of(self.talk.id, at, thread_id), content=encode(copy.state), turn_index=copy.turn_index)
        self.run(self.store.fork_thread(new))
        fork = Talk(self.store, thread_id)
        assert self.run(fork.texts()) == list(copy.rows)
        assert tuple(f.text for f in self.run(self.store.facts(thread_id))) == copy.facts
        assert self.run(fork.state()) == copy.state
        if go_on and self.idle():
            self.talk, self.back = fork, []
            self.at = self.root = Position(0, at.pos)
            self.row_places = {row: Position(0, self.row_places[row].pos) for row in copy.rows}
            places = frozenset({Position(0, p.pos) for p in copy.places})
            self.now = replace(copy, before=(), places=places)
            self.copies = {self.root: self.now}

    @rule()
    def restart(self) -> None:
        self.run(self.store.close())
        self.store = self.run(self._open())
        self.talk.store = self.store

    # what always holds

    @invariant()
    def is_as_the_model_says(self) -> None:
        view = self.run(self.talk.view())
        assert view.thread.head == self.at
        assert [r.to for r in view.returns] == self.back
        path = view.lineage.path(view.thread.head)
        assert {at for at in self.copies if path.covers(at)} == self.now.places & self.copies.keys()
        assert [t.base for t in view.turns if path.covers(t.start)] == [at for at, _ in self.now.before]
        assert self.run(self.talk.texts()) == list(self.now.rows)
        assert {r.text for r, _ in self.run(self.store.transcript(self.talk.id, everything=True))} == set(
            self.row_places
        )
        facts = [f.text for f in self.run(self.store.facts(self.talk.id))]
        assert facts == [*self.now.facts, *self.learned]

    @invariant()
    def keeps_the_states_it_needs(self) -> None:
        needed = {self.at: self.now, **{at: self.copies[at] for at in self.back}, **dict(self.now.before)}
        for at, copy in needed.items():
            assert self.run(self.store.checkpoint(self.talk.id, at)) == copy.state


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
