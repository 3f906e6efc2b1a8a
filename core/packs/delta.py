"""What two versions of a long text have in common: few long stretches, found fast.

Not the smallest difference. It follows both texts side by side, and where they part it looks for a
later sample of the new one in the old, near where it would be expected. An edit in a 2 MB text is
found at the speed of comparing memory.
"""

from __future__ import annotations

Match = tuple[int, int, int]
"""Where in the old, where in the new, how many bytes."""

_SAMPLE = 32
"""Bytes that are looked for."""

_REACH = 128 * 1024
"""How much farther in the old than expected a sample is looked for; the last one is looked for everywhere."""

_ROUNDS = 64
"""Places where the texts may part before the rest counts as new; bounds the work."""

_BLOCK = 64 * 1024


def matches(old: bytes, new: bytes, least: int) -> list[Match]:
    """Stretches of `new`, ascending, that also stand in `old`; of at least `least` bytes each."""
    most = min(len(old), len(new))
    head = _common(old, 0, new, 0, most)
    tail = _common_end(old, len(old), new, len(new), most - head)
    found = _between(old, len(old) - tail, new, len(new) - tail, head, least)
    if tail >= least:
        found.append((len(old) - tail, len(new) - tail, tail))
    return found


def _between(old: bytes, old_end: int, new: bytes, new_end: int, head: int, least: int) -> list[Match]:
    found: list[Match] = []
    if head >= least:
        found.append((0, 0, head))
    i = j = head
    for _ in range(_ROUNDS):
        again = _again(old, j, old_end, new, i, new_end, max(1, least // 2))
        if again is None:
            break
        j, i = again
        size = _common(old, j, new, i, min(old_end - j, new_end - i))
        if size >= least:
            found.append((j, i, size))
        i += size
        j += size
    return found


def _again(old: bytes, j: int, old_end: int, new: bytes, i: int, new_end: int, ahead: int) -> tuple[int, int] | None:
    """Where old and new go on alike, after parting at `j` and `i`."""
    while i + ahead + _SAMPLE <= new_end:
        last = i + ahead * 2 + _SAMPLE > new_end
        reach = old_end if last else min(old_end, j + ahead + _REACH)
        at = old.find(new[i + ahead : i + ahead + _SAMPLE], j, reach)
        if at >= 0:
            back = _common_end(old, at, new, i + ahead, min(ahead, at - j))
            return at - back, i + ahead - back
        ahead *= 2
    return None


def _common(a: bytes, i: int, b: bytes, j: int, limit: int) -> int:
    """How many bytes are the same from a[i] and b[j] on, at most `limit`."""
    done, step = 0, 256
    while done < limit:
        size = min(step, limit - done)
        if a.startswith(b[j + done : j + done + size], i + done):
            done += size
            step = min(step * 4, _BLOCK)
            continue
        while size > 1:
            half = size // 2
            if a.startswith(b[j + done : j + done + half], i + done):
                done += half
                size -= half
            else:
                size = half
        return done
    return limit


def _common_end(a: bytes, i: int, b: bytes, j: int, limit: int) -> int:
    """How many bytes are the same before a[i] and b[j], at most `limit`."""
    done, step = 0, 256
    while done < limit:
        size = min(step, limit - done)
        if a.startswith(b[j - done - size : j - done], i - done - size):
            done += size
            step = min(step * 4, _BLOCK)
            continue
        while size > 1:
            half = size // 2
            if a.startswith(b[j - done - half : j - done], i - done - half):
                done += half
                size -= half
            else:
                size = half
        return done
    return limit
