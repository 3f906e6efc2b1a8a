"""Turns: one user message at a time in each thread, from its first event to its end."""

from turnback.core.turns.service import Turns
from turnback.core.turns.values import RewindControl, Sent, TurnResult

__all__ = ["RewindControl", "Sent", "TurnResult", "Turns"]
