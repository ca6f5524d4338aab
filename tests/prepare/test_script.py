"""Texts as people have them: plain, subtitles, in other encodings."""

import pytest

from myxtts.errors import PrepareError
from myxtts.prepare.script import Script, read_script

SRT = """1\r
00:00:01,000 --> 00:00:03,000\r
<i>Good morning,</i>\r
- dear listeners.\r
\r
2\r
00:00:03,500 --> 00:00:06,000\r
[door slams]\r
It is {\\an8}seven.\r
"""
VTT = """WEBVTT

NOTE nobody says this

intro
00:01.000 --> 00:03.000 align:start
Good morning,
dear listeners.

00:03.500 --> 00:06.000
dear listeners.
It is <c.yellow>seven</c>.
"""


@pytest.mark.parametrize(("name", "content"), [("a.srt", SRT), ("a.vtt", VTT)])
def test_subtitles_are_what_is_said(tmp_path, name, content):
    (tmp_path / name).write_bytes(content.encode())
    assert " ".join(read_script(tmp_path / name).split()) == "Good morning, dear listeners. It is seven."


def test_utf_16_and_a_byte_order_mark_are_read(tmp_path):
    for encoding in ("utf-16", "utf-8-sig", "utf-8"):
        (tmp_path / "a.txt").write_bytes("سلام دنیا".encode(encoding))
        assert read_script(tmp_path / "a.txt") == "سلام دنیا"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Café".encode("cp1252"), "not UTF-8 .*iconv"),
        ("سلام".encode("cp1256"), "not UTF-8 .*windows-1256"),
        ("Good morning.".encode("utf-16-le"), "contains NUL bytes, .*iconv -f UTF-16LE"),
        (b"%PDF-1.7 ...", "is a PDF: save it as plain text"),
        (b"PK\x03\x04 ...", "is a Word file, an e-book or an archive"),
        (b"", "no words"),
        (b" ... \n", "no words"),
    ],
)
def test_other_files_are_refused_with_the_cure(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(PrepareError, match=message):
        read_script(tmp_path / "a.txt")


def test_a_row_keeps_the_marks_and_numbers_as_they_are_written():
    script = Script.of('He said: "I owe you 21 dollars." — Then he left!', "en-us")
    words = script.spoken
    assert words[4:7] == ("you", "twenty", "one")
    assert script.text(0, words.index("dollars")) == 'He said: "I owe you 21 dollars." —'
    assert script.text(words.index("then"), len(words) - 1) == "Then he left!"
    assert {words[n] for n in script.ends} == {"dollars", "left"}
