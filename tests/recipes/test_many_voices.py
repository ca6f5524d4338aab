"""The recipe of the corpus of many voices, without the network: a stand-in for the teacher speaks."""

import gzip
import json
import re
import unicodedata
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import soundfile

from myxtts.corpus.detect import detect
from myxtts.corpus.utterance import Utterance
from myxtts.errors import CorpusError

PERMISSIVE = {"Apache-2.0", "CC-BY-3.0"}


@pytest.fixture(autouse=True)
def recipes_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))


class StandInTeacher:
    """Not a voice: a tone that depends on the text's length. Stops, as a killed run would, after `lives` clips."""

    rate = 24000

    def __init__(self, lives=None):
        self.said, self.lives = [], lives

    def __call__(self, clip):
        if self.lives == len(self.said):
            raise KeyboardInterrupt
        self.said.append(clip.id)
        return 0.1 * np.sin(np.arange(self.rate * 2) * len(clip.text) / 100)


@pytest.fixture
def clips():
    from recipes.many_voices.plan import training_clips

    return list(islice(training_clips(["af_one", "im_two", "hf_three"], ["mix000", "mix001"], 0), 24))


def make(folder, clips, teacher, wanted=float("inf")):
    from recipes.many_voices.corpus import Folder, Source
    from recipes.many_voices.speaking import make_clips

    made = Folder(folder)
    made.enter(Source("kokoro", "synthetic", "Apache-2.0", "a stand-in", ("pip: nothing 1.0",)))
    make_clips(made, clips, teacher, teacher.rate, wanted)
    return made


def test_a_killed_run_goes_on_and_ends_with_the_same_files(tmp_path, clips):
    make(tmp_path / "whole", clips, StandInTeacher())
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "killed", clips, StandInTeacher(lives=7))
    cut = tmp_path / "killed" / "wavs" / "kokoro" / f"{clips[3].id}.wav"
    cut.write_bytes(cut.read_bytes()[:500])
    again = StandInTeacher()
    make(tmp_path / "killed", clips, again)
    assert again.said == [clips[3].id, *(clip.id for clip in clips[7:])]
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def contents(folder):
    files = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    files[Path("manifest.jsonl")] = b"".join(sorted(files[Path("manifest.jsonl")].splitlines()))
    return files


def test_the_corpus_can_be_packed_and_its_ledger_adds_up(tmp_path, clips):
    made = make(tmp_path, clips, StandInTeacher(), wanted=20.0)
    assert made.seconds() == pytest.approx(20.0, abs=0.1)
    rows = list(detect(tmp_path)(tmp_path, "nobody", "en-us").rows())
    assert len(rows) == 10
    for row, clip in zip(rows, clips, strict=False):
        assert isinstance(row, Utterance)
        assert (row.id, row.text, row.speaker, row.language) == (clip.id, clip.text, clip.speaker, clip.language)
    (line,) = json.loads((tmp_path / "sources.json").read_text())
    assert (line["clips"], line["minutes"], line["share"], line["licence"]) == (10, 0.33, 1.0, "Apache-2.0")
    assert sum(line["minutes_by_language"].values()) == pytest.approx(20 / 60, abs=0.03)


def test_what_is_too_short_is_left_out(tmp_path, clips):
    from recipes.many_voices.corpus import Folder

    folder = Folder(tmp_path)
    assert not folder.add(clips[0], np.ones(24000 // 2), 24000)
    assert not folder.has(clips[0])


def test_a_clip_that_a_listener_left_out_is_neither_listed_nor_made_again(tmp_path, clips):
    make(tmp_path, clips[:5], StandInTeacher())
    (tmp_path / "left_out.txt").write_text(f"{clips[1].id}\n{clips[4].id}\n")
    again = StandInTeacher()
    made = make(tmp_path, clips[:6], again)
    assert again.said == [clips[5].id]
    listed = [json.loads(line)["id"] for line in (tmp_path / "manifest.jsonl").read_text().splitlines()]
    assert listed == [clips[0].id, clips[2].id, clips[3].id, clips[5].id]
    assert made.seconds() == pytest.approx(8.0, abs=0.1)


def test_a_clip_at_another_speed_is_another_voice_with_the_same_text(tmp_path, clips):
    from recipes.many_voices import shifted

    made = make(tmp_path, clips, StandInTeacher())
    shifted.make(made)
    first = contents(tmp_path)
    shifted.make(made)  # again: nothing is made twice, nothing shifted is shifted
    assert contents(tmp_path) == first
    rows = {row["id"]: row for row in made.rows()}
    assert len(rows) == 2 * len(clips)
    for clip in clips:
        other = rows[f"shifted-{clip.id}"]
        assert (other["text"], other["language"]) == (clip.text, clip.language)
        way = other["speaker"].removeprefix(f"{clip.speaker}-")
        assert way in ("slower", "faster")
        assert (other["seconds"] > rows[clip.id]["seconds"]) == (way == "slower")
        assert 0.85 < other["seconds"] / rows[clip.id]["seconds"] < 1.2


def test_who_is_left_out_takes_copies_along_and_moves_nobody_else(tmp_path, clips):
    from recipes.many_voices import shifted

    made = make(tmp_path, clips, StandInTeacher())
    shifted.make(made)
    before = {row["id"]: row for row in made.rows()}
    made.leave_out([clips[0].id, "kokoro-mix000"])
    shifted.make(made)
    after = {row["id"]: row for row in made.rows()}
    gone = {clips[0].id} | {clip.id for clip in clips if clip.speaker == "kokoro-mix000"}
    assert before.keys() - after.keys() == gone | {f"shifted-{id}" for id in gone}
    assert after == {id: before[id] for id in after}
    again = StandInTeacher()
    make(tmp_path, clips, again)
    assert again.said == []  # nor is it made again


def test_a_copy_is_left_out_alone_by_its_own_name(tmp_path):
    from recipes.many_voices.left_out import LeftOut

    (tmp_path / "left_out.txt").write_text("carlo-slower\nshifted-a-2\n", encoding="utf-8")
    left_out = LeftOut(tmp_path)
    assert left_out.has("shifted-a-1", "carlo-slower")
    assert left_out.has("shifted-a-2", "anna-faster")
    assert not left_out.has("a-1", "carlo")
    assert not left_out.has("a-2", "anna")


def test_a_copy_at_another_speed_does_not_depend_on_the_clips_before_it(tmp_path, clips):
    from recipes.many_voices import shifted

    whole, part = (make(tmp_path / name, some, StandInTeacher()) for name, some in (("a", clips), ("b", clips[5:])))
    shifted.make(whole)
    shifted.make(part)
    speakers = {row["id"]: row["speaker"] for row in whole.rows()}
    assert all(speakers[row["id"]] == row["speaker"] for row in part.rows())
    assert len({row["speaker"].rsplit("-")[-1] for row in part.rows() if row["source"] == "shifted"}) == 2


def test_persian_is_said_by_four_voices_in_turn(tmp_path):
    from recipes.many_voices import persian
    from recipes.many_voices.corpus import Folder

    pytest.importorskip("espeakng_loader")
    folder = Folder(tmp_path)
    persian.make(folder, 20.0, seed=0)
    rows = folder.rows()
    assert folder.seconds() >= 20.0
    assert {row["language"] for row in rows} == {"fa"}
    assert len({row["speaker"] for row in rows[:4]}) == 4


def test_any_beginning_of_the_plan_is_balanced_over_the_voices():
    from recipes.many_voices.plan import COHORT, ROUNDS_PER_COHORT, training_clips

    seen = [f"{kind}_{number}" for kind in ("af", "im", "pf") for number in range(5)]
    sampled = [f"mix{number:03}" for number in range(2 * COHORT)]
    rounds = 2 * ROUNDS_PER_COHORT
    clips = list(islice(training_clips(seen, sampled, 0), rounds * (len(seen) + COHORT)))
    assert len({clip.id for clip in clips}) == len(clips)
    for length in (20, 200, 400):
        counts = Counter(clip.speaker for clip in clips[:length])
        heard = [counts[f"kokoro-{voice}"] for voice in seen]
        assert max(heard) - min(heard) <= 1
    counts = Counter(clip.speaker for clip in clips)
    assert {counts[f"kokoro-{voice}"] for voice in sampled} == {ROUNDS_PER_COHORT}
    languages = Counter(clip.language for clip in clips if clip.speaker.startswith("kokoro-im"))
    assert 0.6 < languages["it"] / languages.total() < 0.95
    assert len(languages) > 2


def test_one_voice_of_two_names_is_one_speaker():
    from recipes.many_voices.plan import training_clips

    clips = list(islice(training_clips(["ef_dora", "pf_dora"], [], 0), 40))
    assert {clip.speaker for clip in clips} == {"kokoro-ef_dora"}
    assert {clip.id.rsplit("-")[0] for clip in clips} == {"ef_dora", "pf_dora"}  # each speaks by its own table
    assert {"es", "pt-br"} <= {clip.language for clip in clips}


def test_nothing_to_judge_by_is_learnt_from(tmp_path):
    from recipes.many_voices import german, hibari, kokoro, persian, prompts
    from recipes.many_voices.corpus import Folder
    from recipes.many_voices.plan import held_out_clips, training_clips
    from recipes.many_voices.voices import HELD_OUT

    learnt = [*(each.source() for each in prompts.LEARNT), kokoro.SOURCE, german.SOURCE]
    assert {source.licence for source in learnt} <= PERMISSIVE
    folder = Folder(tmp_path)
    for programs in (hibari, persian):
        programs.make(folder, 0.0, 0)
    assert [line["licence"] for line in folder.ledger()] == ["Apache-2.0", "none: a program's output"]
    assert not {each.speaker for each in prompts.LEARNT} & {each.speaker for each in prompts.HELD_OUT}
    judged = {clip.text for clip in held_out_clips(HELD_OUT)}
    assert len(judged) == 6 * len(HELD_OUT)
    assert not judged & {clip.text for clip in islice(training_clips(["af_a", "if_b"], [], 0), 2000)}


def test_sampled_voices_lie_between_the_seen_ones_and_apart():
    from recipes.many_voices.voices import HELD_OUT, TOO_NEAR, sample_voices, seen

    random = np.random.default_rng(0)
    names = [*HELD_OUT, *(f"af_{number}" for number in range(20))]
    voices = {name: random.standard_normal((64, 256)).astype(np.float32) for name in names}
    sampled = sample_voices(voices, 30, 0)
    assert list(sampled)[:2] == ["mix000", "mix001"]
    tables = np.stack(list(seen(voices).values()))
    mean = tables.mean(0)
    styles = np.stack([table - mean for table in sampled.values()])[:, 60]
    known = (tables - mean)[:, 60]
    weights = np.linalg.lstsq(known.T, styles.T, rcond=None)[0]
    np.testing.assert_allclose(known.T @ weights, styles.T, atol=1e-3)  # nothing of a held-out voice is needed
    units = styles / np.linalg.norm(styles, axis=1, keepdims=True)
    assert (units @ units.T - np.eye(len(units))).max() < TOO_NEAR
    again = sample_voices(voices, 30, 0)
    assert all((again[name] == table).all() for name, table in sampled.items())


@pytest.mark.parametrize("language", ["en-us", "en-gb", "es", "fr-fr", "it", "pt-br", "hi", "de"])
def test_sentences_are_many_and_varied(language):
    from recipes.many_voices.sentences import LONGEST, SHORTEST, sentences

    texts = list(islice(sentences(language, 0), 800))
    assert texts == list(islice(sentences(language, 0), 800))
    assert len(set(texts)) == 800
    assert all(SHORTEST <= len(text) <= LONGEST for text in texts)
    assert any(text.endswith("?") for text in texts)
    assert any(text.endswith("!") for text in texts)
    words = [len(text.split()) for text in texts]
    assert min(words) <= 3
    assert max(words) >= 14
    assert not any(character in "{}|~0123456789" for text in texts for character in text)


@pytest.mark.parametrize(("language", "signs"), [("ja", "。？！、ー "), ("cmn", "。？！，")])
def test_sentences_in_kana_and_in_chinese_are_many(language, signs):
    from recipes.many_voices.sentences import LONGEST, SHORTEST, sentences

    texts = list(islice(sentences(language, 0), 800))
    assert len(set(texts)) == 800
    assert all(SHORTEST <= len(text) <= LONGEST for text in texts)
    assert {"？", "！", "。"} <= {text[-1] for text in texts}
    script = {"ja": "HIRAGANA|KATAKANA", "cmn": "CJK UNIFIED"}[language]
    used = set("".join(texts)) - set(signs)
    assert not [sign for sign in used if not re.match(script, unicodedata.name(sign))]
    if language == "ja":  # eSpeak reads the particles は and へ as they are written
        assert not [text for text in texts if re.search("[はへ](?=[ 。？！、])", text)]


@pytest.mark.parametrize(
    ("kana", "symbols"),
    [
        ("とうきょうで にほんごを べんきょう しました。", "toːkʲoːde ɲihoŋɡo o beŋkʲoː ɕimaɕita."),
        ("がっこうに りゅうがくせいが ひとり います！", "ɡaʔkoːɲi ɾʲɨːɡakɯseːɡa çitoɾʲi imasɨ!"),
        ("ケーキ、コーヒー", "keːkʲi, koːçiː"),
        ("たいこを おんぶ", "taiko o ombɯ"),
    ],
)
def test_kana_becomes_the_symbols_of_kokoro(kana, symbols):
    from recipes.many_voices.japanese import symbols_of

    assert symbols_of(kana) == symbols


@pytest.mark.parametrize(
    ("pinyin", "symbols"),
    [
        ("nǐ", "ni↓"), ("hǎo", "xau↓"), ("zhōng", "ꭧʊ→ŋ"), ("guó", "kwo↗"), ("shì", "ʂɨ↘"), ("xià", "ɕja↘"),
        ("lǜ", "ly↘"), ("yuè", "ɥe↘"), ("yǒng", "jʊ↓ŋ"), ("wén", "wə↗n"), ("shuǐ", "ʂwei↓"), ("jiǔ", "ʨjou↓"),
        ("quán", "ʨʰɥɛ↗n"), ("èr", "ɚ↘"), ("de", "tɤ"), ("yī", "i→"), ("yīn", "i→n"), ("ān", "a→n"), ("cūn", "ʦʰwə→n"),
    ],
)  # fmt: skip
def test_pinyin_becomes_the_symbols_of_kokoro(pinyin, symbols):
    from recipes.many_voices.chinese import symbols_of_syllable

    assert symbols_of_syllable(pinyin) == symbols


def test_chinese_is_read_by_its_longest_words(tmp_path):
    from recipes.many_voices.chinese import PACKAGE, Readings

    folder = tmp_path / f"{PACKAGE.name}-{PACKAGE.version}" / "pypinyin"
    folder.mkdir(parents=True)
    (folder / "phrases_dict.json").write_text(json.dumps({"音乐": [["yīn"], ["yuè"]]}), encoding="utf-8")
    characters = {str(ord(sign)): pinyin for sign, pinyin in (("快", "kuài"), ("乐", "lè,yuè"), ("音", "yīn"))}
    (folder / "pinyin_dict.json").write_text(json.dumps(characters), encoding="utf-8")
    readings = Readings(tmp_path)
    assert readings.symbols_of("快乐，音乐！") == "kʰwai↘ lɤ↘, i→nɥe↘!"
    with pytest.raises(CorpusError, match="'x' of '快x' has no Chinese reading"):
        readings.symbols_of("快x")


def test_held_out_voices_speak_what_they_are_judged_by():
    from recipes.many_voices.plan import held_out_clips

    clips = list(held_out_clips(["jm_kumo", "if_sara", "bm_lewis"]))
    assert [clip.language for clip in clips] == ["en-us"] * 6 + ["en-us", "it"] * 3 + ["en-gb"] * 6


def test_espeak_becomes_the_symbols_of_kokoro():
    from recipes.many_voices.symbols import symbols_of

    english = symbols_of("The boy may go now; I judge the butter by each bird.", "en-us")
    assert set("YAOWIʤTʧ;.") <= set(english)
    assert not set("ːɚg") & set(english)
    assert "ʧ" in symbols_of("Ciao, Lucio.", "it")
    assert symbols_of("¿Hay aire?", "es").endswith("?")
    assert symbols_of("यह पेड़ है।", "hi").endswith(".")


def test_prompts_are_speech_with_the_text_that_is_said(tmp_path):
    from recipes.many_voices.prompts import RATE, is_said, read_texts

    lines = ["; a comment", "agent-pass: Prego digitare la password", "beep: un suono", "silence/3: (3 secondi)"]
    lines += ["auth: Grazie.", "broken: il tempo sar? esatto", "stage: [toni]", "ask: Chi parla?"]
    path = tmp_path / "texts.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    texts = dict(read_texts(path))
    assert texts == {"agent-pass": "Prego digitare la password.", "auth": "Grazie.", "ask": "Chi parla?"}
    assert is_said(texts["agent-pass"], np.zeros(2 * RATE))
    assert not is_said(texts["agent-pass"], np.zeros(9 * RATE))
    assert not is_said(texts["agent-pass"], np.zeros(RATE // 2))


def test_volunteers_are_judged_by_clips_of_their_own_words(tmp_path):
    from recipes.many_voices.corpus import Folder
    from recipes.many_voices.volunteers import CLIP_SECONDS, LONGEST_SOUNDS, PICTURES, STAMPS, make_words

    def place(package, folder, *names):
        home = tmp_path / f"{package.name}-{package.version}" / folder
        home.mkdir(parents=True, exist_ok=True)
        for at, name in enumerate(names):
            seconds = 0.5 + at / len(names)
            tone = 0.3 * np.sin(np.arange(int(44100 * seconds)) * (0.05 + at / 1000))
            soundfile.write(home / name, tone, 44100)

    stamps = [f"{word:03}_desc_da.ogg" for word in range(80)]
    place(STAMPS, "usr/share/tuxpaint/stamps/animals", *stamps, "one_desc_es.ogg", "one_desc_xx.ogg")
    (tmp_path / f"{PICTURES.name}-{PICTURES.version}" / "usr/share/ktuberling/sounds").mkdir(parents=True)
    place(PICTURES, "usr/share/ktuberling/sounds/de", *(f"{word}.wav" for word in range(30)))
    made = Folder(tmp_path / "judges")
    make_words(made, tmp_path)
    rows = made.rows()
    assert Counter(row["speaker"] for row in rows).keys() == {"tuxpaint da", "ktuberling de"}  # one word is no speaker
    danish = [row for row in rows if row["language"] == "da"]
    words = [word for row in danish for word in row["text"].strip(".").split(", ")]
    assert len(words) == len(set(words)) <= LONGEST_SOUNDS
    assert min(words) >= f"{80 - LONGEST_SOUNDS:03}_desc_da"  # the longest
    assert all(CLIP_SECONDS <= row["seconds"] < CLIP_SECONDS + 2 for row in rows)
    assert {line["licence"] for line in made.ledger()} == {"GPL-2+"}
    make_words(again := Folder(tmp_path / "judges"), tmp_path)
    assert again.rows() == rows


def test_german_sounds_follow_the_rules_of_the_package():
    from recipes.many_voices.german import sounds_of

    rules = {
        "exceptions": {"und": ["ʊ", "n", "t"]},
        "rules": [["sch", ["ʃ"]], ["ch", {"callback": "ch"}], ["st", {"callback": "st"}], ["r", {"callback": "r"}]]
        + [["s", {"callback": "s"}], ["w", ["v"]], *([letter, [letter]] for letter in "aeiont")],
        "prefixes": ["ver"], "loanword_v_fragments": [], "back_vowels": "aou", "all_vowels": "aeiou",
    }  # fmt: skip
    assert sounds_of("Stein und wir, nicht Nacht!", rules) == [
        *("ʃ", "t", "e", "i", "n"), *("ʊ", "n", "t"), *("V", "i", "ɐ"), ",", *("n", "i", "ç", "t"),
        *("n", "a", "x", "t"), "!",
    ]  # fmt: skip
