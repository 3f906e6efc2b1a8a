"""Ropes and manifests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnback.core.packs.manifest import BIG, FIELDS, Manifest, Rope, Value, cut, decode, encode, join, length, union

spans = st.tuples(st.integers(0, 2**35), st.integers(1, 2**20)).map(lambda pair: (pair[0], pair[0] + pair[1]))
ropes = st.lists(spans, max_size=6).map(tuple)
values = st.builds(Value, st.sampled_from([FIELDS, BIG]), ropes)
manifests = st.builds(
    Manifest,
    bytes=st.integers(0, 2**40),
    finished=st.booleans(),
    suspect=st.booleans(),
    listed=st.booleans(),
    digest=st.integers(0, 2**64 - 1),
    messages=ropes,
    head=values,
    own=st.lists(values, max_size=5).map(tuple),
)


@given(manifests)
def test_encoded_manifest_comes_back(manifest: Manifest) -> None:
    assert decode(encode(manifest)) == manifest


@given(ropes, st.integers(0, 3_000_000), st.integers(0, 3_000_000))
def test_cut_has_the_wanted_bytes(rope: Rope, a: int, b: int) -> None:
    start, stop = sorted((min(a, length(rope)), min(b, length(rope))))
    assert length(join(cut(rope, start, stop))) == stop - start


def test_cut_takes_from_each_range_its_part() -> None:
    assert cut(((10, 20), (100, 105), (50, 60)), 5, 17) == [(15, 20), (100, 105), (50, 52)]


def test_join_makes_one_of_ranges_that_touch() -> None:
    assert join([(0, 5), (5, 9), (9, 9), (20, 25)]) == ((0, 9), (20, 25))


def test_union_makes_one_of_ranges_that_overlap() -> None:
    assert union([(5, 9), (0, 6), (20, 21), (9, 12)]) == [(0, 12), (20, 21)]
