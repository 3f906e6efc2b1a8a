"""Commands packed into the payloads of buttons."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnback.bots.payloads import fits, pack, unpack

ID, OTHER = "3fa9c1d2" * 4, "0123456789abcdef" * 2

ids = st.text("0123456789abcdef", min_size=32, max_size=32)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(st.lists(st.one_of(ids, words), max_size=5).map(" ".join))
def test_pack_any_command_comes_back_or_does_not_fit(command: str) -> None:
    assert unpack(pack(command)) == command or not fits(command, 10_000)


@given(ids, ids)
def test_pack_two_ids_fit_into_64_bytes(one: str, other: str) -> None:
    command = f"/replay compare {one} {other}"
    assert fits(command, 64)
    assert unpack(pack(command)) == command


def test_pack_id_takes_23_characters() -> None:
    assert len(pack(ID)) == 23


@pytest.mark.parametrize(
    "text", ["/replay list 2", "/confirm 0123456789abcdef", f"/replay show x{ID}", f"{ID.upper()}"]
)
def test_pack_text_without_whole_ids_stays(text: str) -> None:
    assert pack(text) == text


@pytest.mark.parametrize("payload", ["~", "~abc", "~" + "A" * 21 + "B", "/replay show ~" + "!" * 22])
def test_unpack_what_nobody_packed_stays(payload: str) -> None:
    assert unpack(payload) == payload


def test_fits_counts_bytes_of_utf8() -> None:
    assert fits("/name ααα", 12)
    assert not fits("/name ααα", 11)


def test_fits_nothing_does_not() -> None:
    assert not fits("", 64)
