"""From a path to an open cache, through every door: what is packed, what is packed again, what is refused and why."""

import contextlib
import dataclasses
import os
import shutil
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pytest
from corpora import write_corpus

from myxtts.cache.add import add
from myxtts.cache.format import TRACKS
from myxtts.cache.open import corpus_at, open_or_pack
from myxtts.cache.pack import default_cache
from myxtts.cache.reader import Cache
from myxtts.cli.shared import cache_of
from myxtts.config.config import DataConfig, XTTSConfig, load
from myxtts.data.ljspeech import LJSpeechDataset
from myxtts.data.pipeline import Feed
from myxtts.doctor.configured import pipeline_of
from myxtts.errors import CacheMismatch

UTTERANCES = 12
PACKED = {"text_tokens": "characters", "trim_db": 60.0}


def config(**data) -> XTTSConfig:
    return XTTSConfig(data=DataConfig(**data))


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    """A corpus and its cache, of characters and 60 dB; copy it, never change it."""
    folder = write_corpus(tmp_path_factory.mktemp("open") / "voice", UTTERANCES, (0.4, 0.9))
    open_or_pack(folder, config(**PACKED, language="en-gb"))
    return folder


@pytest.fixture
def corpus(packed, tmp_path) -> Path:
    return Path(shutil.copytree(packed, tmp_path / "voice"))


# Each takes a path and a config, and returns the settings that the cache is then read with.


def by_function(path, config):
    return Feed(open_or_pack(path, config), config).data


def by_verb(path, config):
    return Feed(Cache(cache_of(path, config)), config).data


def by_facade(path, config):
    LJSpeechDataset(path, config).create_tf_dataset()
    return Feed(Cache(default_cache(path)), config).data


def by_doctor(path, config):
    config.data.dataset_path = str(path)
    batches, _ = pipeline_of(config)
    return batches.feed.data


CACHE_DOORS = [by_function, by_verb, by_doctor]  # the façade takes a corpus
DOORS = pytest.mark.parametrize("door", [*CACHE_DOORS, by_facade])


def id_of(corpus: Path) -> tuple[str, int]:
    """Another one after each packing, whatever came of it."""
    return Cache(default_cache(corpus)).id, (default_cache(corpus) / "cache.json").stat().st_ino


# ---- what was not given is taken from the cache ----------------------------------------------------------------------


WAYS = [(door, lambda corpus: corpus) for door in (*CACHE_DOORS, by_facade)]
WAYS += [(door, default_cache) for door in CACHE_DOORS]


@pytest.mark.parametrize(("door", "place"), WAYS)
def test_settings_that_were_not_given_are_those_of_the_cache(door, place, corpus, caplog):
    before = id_of(corpus)
    data = door(place(corpus), XTTSConfig())
    assert (data.text_tokens, data.trim_db, data.language) == ("characters", 60.0, "en-gb")
    assert id_of(corpus) == before
    assert "has changed" not in caplog.text
    assert not data.given.keys() - {"dataset_path"}


# ---- what was given and contradicts it -------------------------------------------------------------------------------


@pytest.mark.parametrize("door", CACHE_DOORS)
def test_what_was_given_and_contradicts_a_cache_is_an_error_that_names_both(door, packed, tmp_path):
    """Though it is what the defaults are: the first sentence of the issue."""
    file = tmp_path / "my.yaml"
    file.write_text("data: {trim_db: 45}")
    given = load(file, None, ["data.text_tokens=phonemes"])
    with pytest.raises(CacheMismatch) as error:
        door(default_cache(packed), given)
    text = str(error.value)
    assert "data.text_tokens is phonemes (--set), the cache has characters" in text
    assert f"data.trim_db is 45.0 ({file}), the cache has 60.0" in text
    assert f"myxtts pack --rebuild CORPUS -o {default_cache(packed)}" in text
    assert "--set data.trim_db=45.0" in text
    assert "--set data.text_tokens=phonemes" in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"language": "fa"}, r"data.language is fa \(Python\), the cache has en-gb"),
        ({"speaker": "anna"}, r"data.speaker is anna \(Python\), the cache has speaker"),
        ({"layout": "manifest"}, r"data.layout is manifest \(Python\), the cache has ljspeech"),
        ({"loudness_lufs": -20.0}, r"data.loudness_lufs is -20.0 \(Python\), the cache has None"),
    ],
)
def test_so_is_how_its_corpus_was_read(packed, given, words):
    with pytest.raises(CacheMismatch, match=words):
        open_or_pack(default_cache(packed), config(**given))
    same = {"layout": "auto", "speaker": "speaker", "language": "en-gb"}
    assert len(open_or_pack(default_cache(packed), config(**same))) == UTTERANCES


def test_audio_alone_is_read_on_the_fly_unless_mel_was_asked_for(corpus):
    shutil.rmtree(corpus / "cached_features")
    open_or_pack(corpus, config(**PACKED, preprocessing_mode="on_the_fly"))
    cache = Cache(default_cache(corpus))
    assert Feed(cache, XTTSConfig()).payload == ("audio",)
    assert open_or_pack(corpus, XTTSConfig()).id == cache.id
    wanted = config(preprocessing_mode="precompute")
    for refused in (lambda: open_or_pack(cache.folder, wanted), lambda: Feed(cache, wanted)):
        with pytest.raises(CacheMismatch, match=r"preprocessing_mode is precompute \(Python\), .* audio only"):
            refused()
    assert open_or_pack(corpus, wanted).mode == "precompute"


def test_caches_that_are_mixed_must_be_made_alike(packed, tmp_path):
    other = write_corpus(tmp_path / "other", 8, (0.4, 0.9))
    open_or_pack(other, config(text_tokens="characters", trim_db=30.0))
    with pytest.raises(CacheMismatch, match=r"trim_db 60.0 and 30.0.*pack one of them as the other is"):
        Feed([Cache(default_cache(packed)), Cache(default_cache(other))], XTTSConfig())


# ---- packed again, each flag for its own part ------------------------------------------------------------------------

CASES = [
    ({"trim_db": 20.0}, {"auto_rebuild_mel_cache"}),
    ({"text_blank": True}, {"auto_rebuild_token_cache"}),
    ({"language": "en-us"}, {"auto_rebuild_token_cache"}),
    ({"trim_db": 20.0, "text_blank": True}, {"auto_rebuild_mel_cache", "auto_rebuild_token_cache"}),
]
FLAGS = {"auto_rebuild_mel_cache", "auto_rebuild_token_cache"}


@DOORS
@pytest.mark.parametrize(("given", "needed"), CASES, ids=["mel", "tokens", "language", "both"])
def test_a_corpus_is_packed_again_where_the_flag_of_that_part_allows_it(door, corpus, given, needed, caplog):
    before = id_of(corpus)
    for flag in sorted(needed):
        with pytest.raises(CacheMismatch, match=rf"data\.\w+ is .*\(Python\).*pack --rebuild {corpus}"):
            door(corpus, config(**given, **{flag: False}))
    assert id_of(corpus) == before
    data = door(corpus, config(**given, **dict.fromkeys(FLAGS - needed, False)))
    assert id_of(corpus) != before
    assert {name: getattr(data, name) for name in given} == given
    assert data.text_tokens == "characters"  # nobody gave another: as it was packed
    assert f"packing {default_cache(corpus)} again: data.{next(iter(given))} is " in caplog.text


@DOORS
def test_a_part_that_this_version_makes_otherwise_is_made_anew(door, corpus, monkeypatch, caplog):
    before, now = id_of(corpus), {**TRACKS["mel"].settings(), "revision": 99}
    monkeypatch.setitem(TRACKS, "mel", dataclasses.replace(TRACKS["mel"], settings=lambda: now))
    with pytest.raises(CacheMismatch, match=r"this version makes other mel \(revision 1, not 99\)"):
        door(corpus, config(auto_rebuild_mel_cache=False))
    assert id_of(corpus) == before
    door(corpus, config(auto_rebuild_token_cache=False))
    assert Cache(default_cache(corpus)).body["settings"]["mel"]["revision"] == 99


# ---- a corpus that has changed ---------------------------------------------------------------------------------------


@DOORS
def test_other_times_of_files_alone_pack_nothing(door, corpus, caplog):
    before = id_of(corpus)
    for path in (corpus / "wavs").iterdir():
        os.utime(path, (1, 1))
    door(corpus, XTTSConfig())
    assert id_of(corpus) == before
    assert f"{corpus} has changed since {default_cache(corpus)} was packed (times or sizes of files)" in caplog.text
    assert f"'myxtts add {corpus} -o {default_cache(corpus)}'" in caplog.text
    caplog.clear()
    add(corpus_at(corpus, config(language="en-gb").data), default_cache(corpus))
    door(corpus, XTTSConfig())
    assert "has changed" not in caplog.text


@DOORS
def test_changed_rows_are_said_with_the_command_that_packs_them(door, corpus, caplog):
    before, cache = id_of(corpus), default_cache(corpus)
    lines = (corpus / "metadata.csv").read_text(encoding="utf-8").splitlines()
    new = lines[0].replace("utt00000", "utt90000", 1)
    shutil.copy(corpus / "wavs" / "utt00000.wav", corpus / "wavs" / "utt90000.wav")
    (corpus / "metadata.csv").write_text("\n".join([*lines, new]), encoding="utf-8")
    door(corpus, XTTSConfig())
    assert (
        f"(rows: 1 new): the cache is used as it is; 'myxtts add {corpus} -o {cache}' adds what is new" in caplog.text
    )
    caplog.clear()
    fewer = [lines[0].replace("speaker0", "another"), *lines[3:], new]
    (corpus / "metadata.csv").write_text("\n".join(fewer), encoding="utf-8")
    door(corpus, XTTSConfig())
    assert "(rows: 1 new, 1 with another text, speaker or language, 2 gone)" in caplog.text
    assert f"'myxtts pack --rebuild {corpus} -o {cache}' packs them" in caplog.text
    assert id_of(corpus) == before


def test_a_row_that_was_rejected_is_not_new(corpus, caplog):
    shutil.rmtree(corpus / "cached_features")
    (corpus / "wavs" / "utt00003.wav").write_bytes(b"no sound")
    assert len(open_or_pack(corpus, config(**PACKED))) == UTTERANCES - 1
    os.utime(corpus / "wavs" / "utt00001.wav", (1, 1))
    open_or_pack(corpus, XTTSConfig())
    assert "(times or sizes of files)" in caplog.text


# ---- the rest --------------------------------------------------------------------------------------------------------


def test_a_corpus_without_a_cache_is_packed_and_shown(tmp_path, caplog):
    corpus = write_corpus(tmp_path / "new", 3)
    shown = []

    @contextlib.contextmanager
    def show(corpus):
        shown.append(corpus.count())
        yield lambda state: shown.append(state.rows_read)

    for _ in range(2):
        assert len(open_or_pack(corpus, config(text_tokens="characters"), show)) == 3
    assert shown == [3, 3]  # how many to expect, how many were packed; the second time nothing had to be


def test_overwriting_packs_with_the_settings_of_the_config_alone(corpus):
    cache = open_or_pack(corpus, config(text_tokens="characters"), overwrite=True)
    assert cache.body["settings"]["audio"]["trim_db"] == 45.0


def test_a_manifest_is_named_in_the_command_that_packs_it(tmp_path, caplog):
    write_corpus(tmp_path / "voice", 3)
    manifest = tmp_path / "voice" / "mine.csv"
    rows = [f"wavs/utt0000{n}.wav,Some text {n}." for n in range(3)]
    manifest.write_text("\n".join(["audio,text", *rows]))
    open_or_pack(manifest, config(text_tokens="characters"))
    manifest.write_text("\n".join(["audio,text", *rows[:2]]))
    open_or_pack(manifest, XTTSConfig())
    assert f"myxtts pack --rebuild {manifest} -o {default_cache(manifest)}" in caplog.text
