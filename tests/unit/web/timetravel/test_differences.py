"""Which words differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnback.web.timetravel.differences import WORDS_COMPARED, word_marks


def test_changed_words_are_marked_on_their_sides() -> None:
    a, b = word_marks("go by train at nine", "go by bus at nine")
    assert a == [("same", "go by "), ("del", "train"), ("same", " at nine")]
    assert b == [("same", "go by "), ("ins", "bus"), ("same", " at nine")]


def test_marks_beside_each_other_are_one() -> None:
    a, _ = word_marks("keep all of the old words here", "keep all of it")
    assert ("del", "the old words here") in a


def test_a_path_is_one_word() -> None:
    a, b = word_marks("wrote src/a.py to disk", "wrote src/b.py to disk")
    assert (a[1], b[1]) == (("del", "src/a.py"), ("ins", "src/b.py"))


def test_texts_with_little_in_common_are_not_marked() -> None:
    assert word_marks("completely another thing", "xyzzy") == (
        [("same", "completely another thing")],
        [("same", "xyzzy")],
    )


def test_long_texts_are_not_compared() -> None:
    text = "a b " * WORDS_COMPARED
    assert word_marks(text, text + "c")[1] == [("same", text + "c")]


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_pieces_are_the_texts(a: str, b: str) -> None:
    left, right = word_marks(a, b)
    assert "".join(text for _, text in left) == a
    assert "".join(text for _, text in right) == b
    assert {kind for kind, _ in left} <= {"same", "del"}
    assert {kind for kind, _ in right} <= {"same", "ins"}
