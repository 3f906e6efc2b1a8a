"""Places and the threads that they talk into, and where a message was written."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hall import Hall

from turnback.bots.origins import Origin, find_origin
from turnback.core.models import Actor, Surface


async def test_open_from_several_at_once_begins_one_thread(house: Hall) -> None:
    account = await house.service.people.ensure_account("ann")
    ann, place = Actor(account=account.id, surface=Surface.TELEGRAM), house.walker().place
    opened = await asyncio.gather(*(house.dispatch.places.open(ann, place) for _ in range(5)))
    assert len(set(opened)) == 1


@given(st.sampled_from(Surface), st.text(min_size=1), st.text(min_size=1).filter(lambda text: "#" not in text))
def test_origin_survives_as_text(surface: Surface, place: str, message: str) -> None:
    assert find_origin(str(Origin(surface, place, message))) == Origin(surface, place, message)


@pytest.mark.parametrize("text", [None, "", "web", "telegram:1", "telegram:#2", "telegram:1#", "matrix:1#2"])
def test_origin_that_is_none_of_ours_is_none(text: str | None) -> None:
    assert find_origin(text) is None
