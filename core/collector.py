"""Garbage collection that does not hold the event loop.

A full collection looks at every object there is, some 100 ms for the modules of an agent library alone,
and nothing else runs meanwhile. For a process that serves, not for one that merely uses the service.
"""

from __future__ import annotations

import gc

FULL_EVERY = 1000
"""Collections of the middle generation between two full ones; Python's own 10 means one every few seconds."""


def settle_collector() -> None:
    """Call once when all is loaded: what is there now is never looked at again, and full collections are rare."""
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, FULL_EVERY)
