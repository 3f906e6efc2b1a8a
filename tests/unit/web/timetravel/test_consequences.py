"""What a restore would mean, in words."""

from __future__ import annotations

from typing import Any

import pytest
from support.listings import THREAD, listing, step, step_id, straight

from turnback.core.answers import Listing, Preview, Rewound
from turnback.core.errors import ApprovalPending, Forbidden, Refusal, SnapshotTruncated, TurnRunning
from turnback.core.models import BEGINNING, Effect, Position, StepView
from turnback.web.timetravel.consequences import Would, foresee


def view_of(shown: Listing, pos: int) -> StepView:
    return next(view for view in shown.steps if view.step.id == step_id(pos))


def would(shown: Listing, pos: int, *, refusal: Refusal | None = None, discard: bool = False, **counts: Any) -> Would:
    rewound = Rewound(
        thread_id=THREAD,
        head=view_of(shown, pos),
        turn_index=1,
        summary="",
        turns_set_aside=counts.pop("aside", 0),
        turns_brought_back=counts.pop("back", 0),
        **counts,
    )
    preview = Preview(rewound=rewound, refusal=refusal)
    return foresee(shown, view_of(shown, pos), preview, discard=discard, chat_url="/chats/t")


def effect(tool: str, number: int = 1, **args: Any) -> Effect:
    return Effect(tool=tool, args=args, turn_index=2, number=number, at=BEGINNING)


def test_turns_that_go_are_named() -> None:
    told = would(straight(3), 1, aside=2)
    (line,) = told.lines
    assert (line.number, line.what) == (2, "turns set aside")
    assert line.detail == "Turn 2, “ask 2” and turn 3, “ask 3”. Kept; Bring back returns them."
    assert told.move == "the chat goes from turn 3, step 1 back to this step"
    assert told.button == "Restore here"


def test_more_turns_than_can_be_named_are_counted() -> None:
    (line,) = would(straight(9), 1, aside=8).lines
    assert "and 5 more." in line.detail


def test_the_rest_of_a_turn_is_counted_in_steps() -> None:
    (line,) = would(straight(1, 4), 2).lines
    assert (line.number, line.what, line.detail) == (2, "steps set aside", "The rest of turn 1.")


def test_turns_that_come_back_are_named() -> None:
    steps = [step(0, 1, 1), step(0, 2, 2), step(1, 3, 3)]
    shown = listing(steps, Position(1, 3), [Position(0, 1)])
    told = would(shown, 2, aside=1, back=1)
    assert [line.what for line in told.lines] == ["turn set aside", "turn brought back"]
    assert told.lines[1].detail == "Turn 2, “ask 2”."
    assert told.move.endswith("over to this step")


def test_effects_stay_and_are_told_by_tool() -> None:
    effects = (
        effect("run_command", command="sh a.sh"),
        effect("run_command", command="sh b.sh"),
        effect("post", to="#ops"),
    )
    lines = [line for line in would(straight(2), 1, effects=effects, effects_total=5).lines if line.stays]
    assert [(line.number, line.what, line.calls) for line in lines] == [
        (2, "commands stay done", ("sh a.sh", "sh b.sh")),
        (1, "post stays done", ("#ops",)),
        (2, "earlier calls stay done", ()),
    ]


def test_what_is_deleted_for_good_says_so_and_so_does_the_button() -> None:
    told = would(straight(3), 1, aside=2, discard=True)
    assert told.lines[0].what == "turns deleted for good"
    assert "Kept" not in told.lines[0].detail
    assert told.button == "Restore and delete 2 turns"


@pytest.mark.parametrize(
    ("refusal", "text", "link"),
    [
        (TurnRunning(), "Not now: a turn is running. Stop it or wait.", "Open chat"),
        (ApprovalPending([]), "Not now: an approval is waiting.", "Show it"),
        (SnapshotTruncated(), "Too big to be kept whole: read or compare it, not restore.", ""),
        (Forbidden("Only its owner may do that."), "Only its owner may do that.", ""),
    ],
)
def test_what_is_in_the_way_is_said_with_a_way_on(refusal: Refusal, text: str, link: str) -> None:
    note = would(straight(2), 1, refusal=refusal).note
    assert note is not None
    assert (note.text, note.link) == (text, link)
    assert bool(note.url) == bool(link)


def test_a_step_where_the_chat_stands_is_told_so() -> None:
    assert would(straight(2), 2, unchanged=True).here


def test_summaries_cannot_turn_the_line_around() -> None:
    steps = [step(0, 1, 1), step(0, 2, 2, summary="a\u202eb\nc")]
    (line,) = would(listing(steps, Position(0, 2)), 1, aside=1).lines
    assert "ab c" in line.detail
