"""The rules, as pure functions on values: budgets, thinning, who may.

Nothing here reads a clock, a store or the environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from turnback.core.models import Actor, Thread

UNDO_TURNS = 50
"""How many newest turns keep a checkpoint, so that undo works without steps."""

MAX_LABELS = 10
"""Labels a thread may have."""

THINNING_KEEPS = 20
"""Of a turn, the steps numbered up to this are kept, then each tenth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """How much is kept; counts of steps, sizes in bytes."""

    max_snapshots: int = 50
    max_global_snapshots: int = 2000
    max_snapshot_bytes: int = 2_097_152
    max_thread_bytes: int = 33_554_432
    max_total_bytes: int = 536_870_912
    max_per_turn: int = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeTravel:
    """What an admin may set about time travel (`time_travel.*`); read anew at each use."""

    enabled: bool = True
    budgets: Budgets = Budgets()
    auto_maintain: bool = True
    retention_days: int = 30
    on_restore: Literal["keep", "discard"] = "keep"
    lessons: Literal["offer", "auto", "off"] = "offer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may do what in a group (`access.*`)."""

    group_policy: Literal["admins", "starter", "anyone"] = "admins"
    approvers: Literal["owner", "admins", "anyone"] = "owner"


class Right(StrEnum):
    """What an act needs. A participant may read; only some may rewind; owners manage."""

    READ = "read"
    WRITE = "write"
    REWIND = "rewind"
    APPROVE = "approve"


def is_thinned(number: int) -> bool:
    """Whether thinning drops a step with this number once it is not its turn's newest."""
    return number > THINNING_KEEPS and number % 10 != 0


def surplus_of_turn(numbers: Sequence[int], max_per_turn: int) -> list[int]:
    """Which of a turn's step numbers go, given those that are there, oldest first, newest just saved.

    Off the grid of `is_thinned` all but the newest go. Of what is then over `max_per_turn` the first
    and the newest `max_per_turn - 1` stay (with 1: the newest).
    """
    gone = [n for n in numbers[:-1] if is_thinned(n)]
    kept = [n for n in numbers if n not in set(gone)]
    over = len(kept) - max_per_turn
    if over > 0:
        first = 0 if max_per_turn == 1 else 1
        gone += kept[first : first + over]
    return gone


def may(actor: Actor, thread: Thread, participant: bool, right: Right, access: Access) -> bool:
    """Whether `actor` may; `participant` is whether they are present in the group and wrote there."""
    if actor.admin or actor.account == thread.owner:
        return True
    if not thread.group or not participant:
        return False
    if right in (Right.READ, Right.WRITE):
        return True
    if right is Right.APPROVE:
        return access.approvers == "anyone" or (access.approvers == "admins" and actor.platform_admin)
    return access.group_policy == "anyone" or (access.group_policy == "admins" and actor.platform_admin)


def who_may(right: Right, access: Access) -> str:
    """Who may, in words for a refusal."""
    if right is Right.APPROVE:
        return {"owner": "the owner of this chat", "admins": "the admins of this chat"}.get(
            access.approvers, "anyone here"
        )
    return {"admins": "who started this chat and its admins", "starter": "who started this chat"}.get(
        access.group_policy, "anyone here"
    )
