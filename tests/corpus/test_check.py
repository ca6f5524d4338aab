"""A check names exactly what is wrong, as a packer would, and warns of what is only odd."""

import dataclasses
import json
import re
from functools import partial
from pathlib import Path

import bad_rows
import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from myxtts.cache.prepare import make_readings
from myxtts.cache.settings import PackSettings
from myxtts.config.config import DataConfig
from myxtts.corpus.check import _Doubts, check
from myxtts.corpus.picture import draw
from myxtts.corpus.read import open_corpus
from myxtts.corpus.reasons import REASONS
from myxtts.corpus.report import Report
from myxtts.corpus.utterance import Utterance
from myxtts.errors import CorpusError, RowError
from myxtts.features.hear import hear_clips
from myxtts.features.text import TextFrontend

SETTINGS = PackSettings.from_config(DataConfig())


def checked(folder: Path, spell=make_readings, **options) -> Report:
    hear = partial(hear_clips, settings=SETTINGS.audio)
    return check(open_corpus(folder, **options), hear, partial(spell, frontend=SETTINGS.text), 2)


def problems_of(report: Report) -> list[tuple[int, str, str]]:
    return sorted((problem.row, problem.id, problem.reason) for problem in report.problems)


@pytest.fixture(scope="module")
def good_folder(tmp_path_factory) -> Path:
    """30 clips of noise with syllables; rows are for the tests to write."""
    folder = tmp_path_factory.mktemp("good") / "corpus"
    (folder / "rows").parent.mkdir(exist_ok=True)
    rows = bad_rows.write_good(folder, 30)
    (folder / "rows").write_bytes(b"\n".join(rows))
    return folder


def with_rows(folder: Path, rows: list[bytes]) -> Path:
    (folder / "metadata.csv").write_bytes(b"\n".join(rows) + b"\n")
    return folder


def good_rows(folder: Path) -> list[bytes]:
    return (folder / "rows").read_bytes().split(b"\n")


@pytest.mark.parametrize("tokens", ["phonemes", "characters"])
def test_bad_rows_of_many_kinds_are_named_exactly_and_the_good_ones_kept(tmp_path, tokens):
    """100 good rows, 60 bad ones of 26 kinds; benchmarks/bad_rows.py does it with 1,000 and 300."""
    result = bad_rows.measure(tmp_path, 100, 60, DataConfig(text_tokens=tokens))
    unknown = 2 if tokens == "characters" else 0  # to characters every language is known
    assert result["kinds"] >= 20
    assert result["named by check"] == result["named by pack"] == 60 - unknown
    for which in ("check", "pack"):
        wrong = result[f"wrong or missing in {which}"]
        assert len(wrong) == unknown
        assert all(reason == "unknown_language" for _, _, reason in wrong)
    assert result["named without the bad rows"] == []
    if not unknown:
        assert result["files that differ"] == []


def test_a_good_corpus_has_no_problems(good_folder):
    report = checked(with_rows(good_folder, good_rows(good_folder)))
    assert problems_of(report) == []
    summary = report.to_dict()
    assert (summary["rows"], summary["utterances"], summary["errors"], summary["warnings"]) == (30, 30, {}, {})
    assert sorted(summary["speakers"]) == ["speaker0", "speaker1", "speaker2"]
    assert summary["languages"]["en-us"] == pytest.approx(summary["seconds"])
    seconds = sum(soundfile.info(path).duration for path in (good_folder / "wavs").glob("good*.wav"))
    assert summary["seconds"] == pytest.approx(seconds, rel=0.05)  # the silence around it is not counted
    assert -30 < summary["level_db"]["median"] < -10


def test_warnings(good_folder, tmp_path):
    rng = np.random.default_rng(5)
    wavs = good_folder / "wavs"
    loud = np.clip(bad_rows.speech(2.0, rng) * 8, -1, 1)
    soundfile.write(wavs / "loud.wav", loud, 22050)
    touching = bad_rows.speech(2.0, rng)
    touching[1000] = 1.0
    soundfile.write(wavs / "touching.wav", touching, 22050)
    (wavs / "copy.wav").write_bytes((wavs / "good00002.wav").read_bytes())
    rows = good_rows(good_folder)
    first_text = rows[0].split(b"|")[1]
    rows += [
        b"loud|" + bad_rows.sentence(2.0, rng).encode(),
        b"touching|" + bad_rows.sentence(2.0, rng).encode(),
        b"copy|" + bad_rows.sentence(2.0, rng).encode(),
        b"good00003|" + b"far too many words for so short a clip, " * 12,
    ]
    rows[3:4] = []  # its clip is that of the last row
    rows[5] = rows[5].replace(rows[5].split(b"|")[1], b"  " + first_text.upper()).replace(b"speaker0", b"other")
    rows[9] = rows[9].replace(rows[9].split(b"|")[1], first_text.upper()).replace(b"speaker1", b"speaker0")
    assert rows[9].split(b"|")[3] == b"speaker0"
    report = checked(with_rows(good_folder, [b"\xef\xbb\xbf" + rows[0], *rows[1:]]))
    assert problems_of(report) == [
        (1, "", "bom"),
        (10, rows[9].split(b"|")[0].decode(), "duplicate_text"),  # row 6 says it too, in another voice
        (30, "loud", "clipped"),
        (32, "copy", "duplicate_audio"),
        (33, "good00003", "speech_rate"),
    ]
    assert report.errors == 0
    assert not report.counts(errors=True)
    assert list(report.counts(errors=False).values()) == [1] * 5


def test_texts_that_surely_can_be_spoken_are_not_spoken(good_folder):
    """And those that might not be, are: the verdict is that of the packer."""
    asked: list[str] = []

    def spell(rows, frontend: TextFrontend):
        asked.extend(row.text for row in rows)
        return make_readings(rows, frontend)

    rows = good_rows(good_folder)[:20]
    odd = [b"good00020|Hm!", b"good00021|?!", b"good00022|\xe2\x99\xa5", b"good00023|na\xc3\xafve", b"good00024|1 2 3"]
    nowhere = [b"good00025|Some words here||anna|qqq", b"good00026|Other words here||anna|qqq"]
    report = checked(with_rows(good_folder, [*rows, *odd, *nowhere]), spell)
    assert [(row, reason) for row, _, reason in problems_of(report) if REASONS[reason].is_error] == [
        (22, "unpronounceable"),
        (23, "unpronounceable"),
        (26, "unknown_language"),
        (27, "unknown_language"),
    ]
    assert asked[-7:] == ["Hm!", "?!", "♥", "naïve", "1 2 3", "Some words here", "Other words here"]
    assert len(asked) <= 7 + 16  # the first few rows, before the language was known


@settings(max_examples=60)
@given(st.text("abeghrstuy AEHN'.-?1<&*", max_size=12), st.sampled_from(["en-us", "fa", "fr-fr", "cmn", "da", "ru"]))
def test_a_text_that_is_not_spoken_has_the_verdict_of_the_packer(text, language):
    row = Utterance(1, "a", Path("a.wav"), text, "me", language)
    doubts = _Doubts(partial(make_readings, frontend=SETTINGS.text))
    doubts([dataclasses.replace(row, text="hello")])  # from now on the language is known
    (packer,), (checked_,) = make_readings([row], SETTINGS.text), doubts([row])
    assert isinstance(getattr(checked_, "symbols", None), RowError) == isinstance(packer.symbols, RowError)
    assert getattr(checked_, "left_out", "") == packer.left_out


def test_symbols_that_nobody_hears_are_named(good_folder):
    """Plain ASCII too, which is not spoken otherwise."""
    rows = good_rows(good_folder)[:20]
    rows[3] = "good00003|Some words here \U0001f642 and there".encode()
    rows[5] = b"good00005|Some ^ words and others here"
    warned = {problem.row: problem.message for problem in checked(with_rows(good_folder, rows)).problems}
    assert warned.keys() == {4, 6}
    assert "\U0001f642" in warned[4]
    assert "^" in warned[6]


def test_no_rows_are_an_error(good_folder):
    with pytest.raises(CorpusError, match="has no rows"):
        checked(with_rows(good_folder, []))


def test_progress_reaches_every_row(good_folder):
    shown = []
    corpus = open_corpus(with_rows(good_folder, [*good_rows(good_folder), b"gone|Some text"]))
    hear, spell = partial(hear_clips, settings=SETTINGS.audio), partial(make_readings, frontend=SETTINGS.text)
    check(corpus, hear, spell, 1, lambda rows, errors: shown.append((rows, errors)))
    assert shown == [(16, 0), (31, 1)]


def test_the_list_has_every_problem_in_order(good_folder, tmp_path):
    rows = good_rows(good_folder)
    rows[4] = b"good00004|"
    report = checked(with_rows(good_folder, [*rows, b"gone|Some text", rows[0].replace(b"good00000", b"good00004")]))
    (tmp_path / "list.jsonl").write_bytes(report.list_problems())
    listed = [json.loads(line) for line in (tmp_path / "list.jsonl").read_text().splitlines()]
    assert [(line["row"], line["reason"], line["kind"]) for line in listed] == [
        (5, "empty_text", "error"),
        (31, "missing_audio", "error"),
        (32, "duplicate_id", "error"),
    ]
    assert all(line["message"] for line in listed)


def test_every_reason_in_the_source_is_in_the_list_and_used():
    package = Path(__file__).parents[2] / "myxtts"
    sources = "".join(
        path.read_text(encoding="utf-8")
        for room in ("corpus", "features", "cache")
        for path in (package / room).glob("*.py")
        if path.name != "reasons.py"
    )
    used = set(re.findall(r'(?:RowError|reject|warn)\(\s*"(\w+)"', sources))
    used |= set(re.findall(r'Rejected\([^"]*(?:"",\s*)?"(\w+)",', sources))
    assert used <= set(REASONS)
    assert set(REASONS) <= used, set(REASONS) - used
    assert all(reason.what and reason.cure for reason in REASONS.values())


def test_the_picture_is_a_png_whatever_the_corpus(good_folder, tmp_path):
    draw(checked(with_rows(good_folder, good_rows(good_folder))), "some $corpus^2", tmp_path / "a.png")
    draw(checked(with_rows(good_folder, [b"gone|Nothing is usable"])), "empty", tmp_path / "b.png")
    many = [row.replace(b"speaker", f"صدای {n} 話者 $x$ ".encode()) for n, row in enumerate(good_rows(good_folder))]
    draw(checked(with_rows(good_folder, many)), "many speakers", tmp_path / "c.png")
    for name in "abc":
        data = (tmp_path / f"{name}.png").read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) > 10_000
