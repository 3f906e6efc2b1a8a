"""When pieces are merged."""

from __future__ import annotations

from turnback.core.packs.plan import FAN, MERGE, PIECE, STAYS, Piece, merged, pieces, to_merge


def run_of(count: int, raw: int) -> list[Piece]:
    return [Piece(n * raw, raw, 1) for n in range(count)]


def test_little_is_one_piece_to_be_merged() -> None:
    assert pieces(100, 50) == [Piece(100, 50, 1)]


def test_much_is_cut_into_pieces_that_stay() -> None:
    cut = pieces(7, 5 * PIECE + 3)
    assert [piece.level for piece in cut] == [STAYS] * len(cut)
    assert [piece.start for piece in cut] == [7, *(piece.stop for piece in cut[:-1])]
    assert cut[-1].stop == 7 + 5 * PIECE + 3


def test_few_pieces_wait() -> None:
    assert to_merge(run_of(FAN - 1, 100)) == []


def test_enough_pieces_become_one_that_stays() -> None:
    assert merged(to_merge(run_of(FAN, 100))) == Piece(0, FAN * 100, STAYS)


def test_enough_bytes_become_one_that_stays() -> None:
    assert merged(to_merge(run_of(3, MERGE // 2))) == Piece(0, 3 * (MERGE // 2), STAYS)


def test_pieces_with_a_gap_are_not_merged_together() -> None:
    open_pieces = [Piece(0, 10, 1), *(Piece(100 + n * 10, 10, 1) for n in range(FAN))]
    assert to_merge(open_pieces) == [Piece(0, 10, 1)]
