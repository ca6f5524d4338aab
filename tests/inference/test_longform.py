"""Splitting loses nothing, and sentences end where a reader would say so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from myxtts.inference.longform import CLAUSE_SECONDS, MAX_CHARS, PARAGRAPH_SECONDS, SENTENCE_SECONDS, split_text


def texts(text: str, **options) -> list[str]:
    return [" ".join(piece.text.split()) for piece in split_text(text, **options)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Dr. Smith paid 3.5 euros. He left.", ["Dr. Smith paid 3.5 euros.", "He left."]),
        ("Mr. and Mrs. J. R. Doe live at St. Mary's. Fine!", ["Mr. and Mrs. J. R. Doe live at St. Mary's.", "Fine!"]),
        ("The U.S. Army came, e.g. Tom. Then it left.", ["The U.S. Army came, e.g. Tom.", "Then it left."]),
        ("See Fig. 3 and No. 5. Is it? Yes.", ["See Fig. 3 and No. 5.", "Is it?", "Yes."]),
        ("He was born in 1990. She was not.", ["He was born in 1990.", "She was not."]),
        ('"Stop!" he said. "Go on." She went.', ['"Stop!" he said.', '"Go on."', "She went."]),
        ("Wait… what? Really?!", ["Wait… what?", "Really?!"]),
        ("No full stop at the end", ["No full stop at the end"]),
        ("سلام! حال شما چطور است؟ من خوبم.", ["سلام!", "حال شما چطور است؟", "من خوبم."]),
        ("یہ ایک جملہ ہے۔ یہ دوسرا ہے۔", ["یہ ایک جملہ ہے۔", "یہ دوسرا ہے۔"]),
        ("你好。你好吗？我很好！谢谢", ["你好。", "你好吗？", "我很好！", "谢谢"]),
        ("「はい。」と言った。", ["「はい。」", "と言った。"]),
        ("Hello there! 👍 ... Bye.", ["Hello there! 👍 ...", "Bye."]),
        ("... Well. So.", ["... Well.", "So."]),
        ("  \n\n \t ", []),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_would_say_so(text, pieces):
    assert texts(text) == pieces


@pytest.mark.parametrize(
    ("text", "language", "pieces"),
    [
        ("Das sind 5 Mio. Euro. Ja.", "de", ["Das sind 5 Mio. Euro.", "Ja."]),
        ("Живёт на ул. Ленина. Да.", "ru", ["Живёт на ул. Ленина.", "Да."]),
        ("El Sr. Ruiz y la Dra. Gil. Sí.", "es", ["El Sr. Ruiz y la Dra. Gil.", "Sí."]),
        ("Äpfel, Birnen usw. Dann Brot.", "de", ["Äpfel, Birnen usw.", "Dann Brot."]),
    ],
)
def test_abbreviations_of_the_language_do_not_end_a_sentence(text, language, pieces):
    assert texts(text, language=language) == pieces


def test_german_ordinals_do_not_end_a_sentence():
    assert texts("Am 3. Mai kam er. Dann ging er.", language="de") == ["Am 3. Mai kam er.", "Dann ging er."]


def test_lines_are_ended_by_their_author_and_joined_after_an_editor():
    assert texts("A title\nThe first line.\nAnother") == ["A title", "The first line.", "Another"]
    wrapped = "This line was broken by an editor because it came to be long, so\nit goes on here. End."
    assert texts(wrapped)[0].endswith("so it goes on here.")
    assert texts("broken early\nand on.") == ["broken early and on."]


def test_pauses_say_how_much_ended():
    pieces = split_text("One. Two.\n\nThree. Four.")
    assert [piece.pause_seconds for piece in pieces] == [SENTENCE_SECONDS, PARAGRAPH_SECONDS, SENTENCE_SECONDS, 0.0]


def test_a_long_sentence_is_cut_at_clauses_then_spaces_then_anywhere():
    clauses = split_text(("a clause of some words, " * 30).strip())
    assert all(piece.text.endswith(",") for piece in clauses)
    assert {piece.pause_seconds for piece in clauses[:-1]} == {CLAUSE_SECONDS}
    words = split_text("word " * 200)
    assert all(set(piece.text.split()) == {"word"} for piece in words)
    run = split_text("x" * 1000)
    assert [len(piece.text) for piece in run] == [300, 300, 300, 100]


def test_a_letter_keeps_its_accent_when_cut():
    assert split_text("e\u0301" * 200, max_chars=99)[0].text == "e\u0301" * 49


PIECES = [*"a.!؟。,、 \n👍é\u200c'", "Word", "3.5", "\n\n", "\r\n", "Dr.", "ab" * 80]


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.integers(5, 400))
def test_nothing_is_lost_and_nothing_is_too_long(text, max_chars):
    pieces = split_text(text, max_chars=max_chars)
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(text.split())
    assert all(0 < len(piece.text) <= max_chars for piece in pieces)


@given(st.text(max_size=400))
def test_nothing_is_lost_of_any_text(text):
    joined = "".join(piece.text for piece in split_text(text, max_chars=50))
    assert "".join(joined.split()) == "".join(text.split())


def test_ten_thousand_characters():
    pieces = split_text("This is a sentence of a rather long text. " * 240)
    assert len(pieces) == 240
    assert max(len(piece.text) for piece in pieces) <= MAX_CHARS
