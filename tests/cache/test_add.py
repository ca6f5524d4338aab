"""A cache that grows: what was in it stays, what is new follows, and nobody who reads it is disturbed."""

import json
import os
import shutil

import numpy as np
import pytest
from corpora import sentence, write_tone

from myxtts.cache.add import add
from myxtts.cache.manifest import load_manifest
from myxtts.cache.pack import pack
from myxtts.cache.publish import building_folder
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.cache.verify import repair, verify
from myxtts.cli import main
from myxtts.corpus.read import open_corpus
from myxtts.corpus.several import Corpora
from myxtts.errors import CacheError, CacheLocked, CacheMismatch
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend

CHARACTERS = PackSettings(AudioSettings(), TextFrontend(kind="characters"))


def utterances_of(cache):
    """{id: (speaker, text, audio bytes, mel bytes, symbols)}"""
    names, columns = cache.table.symbols, cache.columns
    return {
        cache.utterance_id(n): (
            cache.speakers[columns["speaker"][n]],
            cache.text(n),
            cache.audio[columns["first_row"][n] :][: columns["n_frames"][n]].tobytes(),
            cache.mel[columns["first_row"][n] :][: columns["n_frames"][n]].tobytes(),
            [names[token] for token in cache.tokens[columns["first_token"][n] :][: columns["n_tokens"][n]]],
        )
        for n in range(len(cache))
    }


def write_corpus(folder, utterances, seed):
    """An LJSpeech folder whose rows name no speaker."""
    lines = []
    for n in range(utterances):
        write_tone(folder / "wavs" / f"utt{n:05d}.wav", 0.5 + 0.05 * n, seed=seed + n)
        lines.append(f"utt{n:05d}|{sentence(seed + n)}\n")
    (folder / "metadata.csv").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def anna(tmp_path):
    return write_corpus(tmp_path / "anna", 12, seed=0)


@pytest.fixture
def bob(tmp_path):
    """The ids are Anna's, the recordings are not; and a letter that Anna never says."""
    folder = write_corpus(tmp_path / "bob", 8, seed=50)
    with open(folder / "metadata.csv", "a", encoding="utf-8") as file:
        file.write("other|It costs 5 ₽ and a žaba\n")
    write_tone(folder / "wavs" / "other.wav", 1.5)
    return folder


def test_what_is_added_follows_what_was_there(anna, bob, tmp_path):
    cache = tmp_path / "v.cache"
    pack(open_corpus(anna, speaker="anna"), cache, CHARACTERS)
    before, rows = utterances_of(Cache(cache)), Cache(cache).audio.shape[0]
    body = add(open_corpus(bob, speaker="bob"), cache)
    grown = Cache(cache)
    utterances = utterances_of(grown)
    assert body["utterances"] == len(utterances) == 21
    assert list(utterances)[:12] == list(before)
    assert {name: utterances[name] for name in before} == before
    assert verify(cache) == []
    alone = tmp_path / "bob.cache"
    pack(open_corpus(bob, speaker="bob"), alone, CHARACTERS)
    expected = utterances_of(Cache(alone))
    assert {name.removeprefix("bob/"): value for name, value in list(utterances.items())[12:]} == expected
    assert grown.audio.shape[0] - rows == Cache(alone).audio.shape[0] - 1  # one row of padding for all
    assert [part["rows"] for part in body["corpora"]] == [12, 9]


def test_a_reader_keeps_what_it_has_open(anna, bob, tmp_path):
    cache = tmp_path / "v.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    reader = Cache(cache)
    before = np.array(reader.audio)
    add(open_corpus(bob), cache)
    assert np.array_equal(reader.audio, before)


def test_what_is_there_is_not_added_again(anna, tmp_path):
    cache = tmp_path / "v.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    body = load_manifest(cache)
    assert add(open_corpus(anna), cache) == body  # nothing is new
    write_tone(anna / "wavs" / "late.wav", 2.0)
    with open(anna / "metadata.csv", "a", encoding="utf-8") as file:
        file.write("late|One more sentence\n")
    assert add(open_corpus(anna), cache)["utterances"] == 13
    assert list(utterances_of(Cache(cache)))[12:] == ["late"]


def test_files_that_were_only_touched_bring_nothing(anna, tmp_path, capsys):
    """The sound is the same: no file of the cache is written again but the one that remembers the times."""
    cache = tmp_path / "v.cache"
    (anna / "wavs" / "utt00003.wav").write_bytes(b"")  # its row is listed, once
    pack(open_corpus(anna), cache, CHARACTERS)
    before = {path.name: (path.stat().st_ino, path.read_bytes()) for path in cache.iterdir()}
    for wav in (anna / "wavs").iterdir():
        os.utime(wav, (1, 1))
    assert main(["add", str(anna), "-o", str(cache)]) == 0
    assert f"nothing to add: {cache} holds all of {anna}" in capsys.readouterr().out
    after = {path.name: (path.stat().st_ino, path.read_bytes()) for path in cache.iterdir()}
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed == {"cache.json"}
    assert Cache(cache).id == json.loads(before["cache.json"][1])["id"]
    assert not building_folder(cache).exists()
    assert verify(cache) == []
    pack(open_corpus(anna), cache, CHARACTERS)  # is up to date: no CacheMismatch


def test_a_copy_under_another_name_is_no_further_corpus(anna, tmp_path):
    cache = tmp_path / "v.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    before = load_manifest(cache)
    shutil.copytree(anna, tmp_path / "again")
    assert add(open_corpus(tmp_path / "again"), cache) == before
    assert load_manifest(cache) == before
    assert not building_folder(cache).exists()


def test_an_empty_corpus_is_not_added(anna, tmp_path):
    cache = tmp_path / "v.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    before = load_manifest(cache)
    (tmp_path / "m.csv").write_text("audio,text\n")
    with pytest.raises(CacheError, match="no rows"):
        add(open_corpus(tmp_path / "m.csv"), cache)
    assert load_manifest(cache) == before
    assert not building_folder(cache).exists()


def test_a_killed_addition_goes_on_and_ends_the_same(anna, bob, tmp_path, monkeypatch):
    from myxtts.cache import pack as packing
    from myxtts.cache import prepare

    undisturbed, killed = tmp_path / "a.cache", tmp_path / "b.cache"
    pack(open_corpus(anna), undisturbed, CHARACTERS)
    shutil.copytree(undisturbed, killed)
    add(open_corpus(bob), undisturbed)

    monkeypatch.setattr(prepare, "_ROWS_PER_TASK", 2)
    original, calls = packing._write, []

    def interrupted(writer, outcomes, place):
        original(writer, outcomes, place)
        writer.commit()
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(packing, "_write", interrupted)
    before = {path.name: path.read_bytes() for path in killed.iterdir()}
    with pytest.raises(KeyboardInterrupt):
        add(open_corpus(bob), killed)
    assert {path.name: path.read_bytes() for path in killed.iterdir()} == before
    monkeypatch.setattr(packing, "_write", original)
    add(open_corpus(bob), killed)
    assert {path.name: path.read_bytes() for path in killed.iterdir()} == {
        path.name: path.read_bytes() for path in undisturbed.iterdir()
    }


def test_several_corpora_in_one_pass(anna, bob, tmp_path, capsys):
    cache = tmp_path / "voices.cache"
    several = ["--set", "data.text_tokens=characters"]
    assert main(["pack", str(anna), str(bob), *several]) == 2
    assert "-o CACHE" in capsys.readouterr().err
    assert main(["pack", str(anna), str(bob), "-o", str(cache), *several]) == 0
    utterances = utterances_of(Cache(cache))
    assert len(utterances) == 21
    assert {value[0] for value in utterances.values()} == {"anna", "bob"}
    assert sum(name.startswith("bob/") for name in utterances) == 8
    assert main(["pack", str(anna), str(bob), "-o", str(cache), *several]) == 0  # nothing has changed


def test_damage_in_any_of_several_corpora_is_repaired(anna, bob, tmp_path, capsys):
    cache = tmp_path / "v.cache"
    assert main(["pack", str(anna), "-o", str(cache), "--set", "data.text_tokens=characters"]) == 0
    assert main(["add", str(bob), "-o", str(cache), "--speaker", "bob"]) == 0
    assert "added 9 utterances to 12" in capsys.readouterr().out
    whole = {path.name: path.read_bytes() for path in cache.iterdir()}
    for at in (5_000, len(whole["audio.npy"]) - 5_000):
        damaged = bytearray((cache / "audio.npy").read_bytes())
        damaged[at] ^= 1
        (cache / "audio.npy").write_bytes(damaged)
    assert main(["verify", str(cache), "--fix", str(anna)]) == 2
    assert "holds 2 corpora, 1 given" in capsys.readouterr().err
    assert main(["verify", str(cache), "--fix", str(anna), str(bob)]) == 0
    assert {path.name: path.read_bytes() for path in cache.iterdir()} == whole


def test_nothing_is_added_to_a_cache_whose_texts_were_read_otherwise(anna, bob, tmp_path, monkeypatch):
    """Half of it would say numbers in one way, half in another."""
    cache = tmp_path / "v.cache"
    with monkeypatch.context() as patch:
        patch.setattr("myxtts.features.text._REVISION", 1)
        pack(open_corpus(anna), cache, CHARACTERS)
    before = (cache / "cache.json").read_bytes()
    with pytest.raises(CacheMismatch, match="myxtts pack --rebuild"):
        add(open_corpus(bob), cache)
    assert (cache / "cache.json").read_bytes() == before


def test_no_cache_to_add_to_is_an_error(anna, tmp_path):
    with pytest.raises(CacheError, match="myxtts pack"):
        add(open_corpus(anna), tmp_path / "nowhere.cache")


def test_the_same_corpus_twice_keeps_every_row(anna):
    ids = [row.id for row in Corpora([open_corpus(anna), open_corpus(anna)]).rows()]
    assert len(ids) == len(set(ids)) == 24


def test_repair_of_a_lost_index_packs_all_corpora(anna, bob, tmp_path):
    cache = tmp_path / "v.cache"
    corpora = Corpora([open_corpus(anna), open_corpus(bob)])
    pack(corpora, cache, CHARACTERS)
    whole = {path.name: path.read_bytes() for path in cache.iterdir()}
    (cache / "index.n_frames.npy").unlink()
    assert repair(cache, corpora, CHARACTERS, verify(cache)) == []
    assert {path.name: path.read_bytes() for path in cache.iterdir()} == whole


def test_two_additions_at_once_lose_nothing(anna, bob, tmp_path, monkeypatch):
    """The second finishes between the first one's look at the cache and its lock."""
    from myxtts.cache import add as adding

    cache = tmp_path / "v.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    third = write_corpus(tmp_path / "third", 3, seed=90)
    original = adding.build_and_publish

    def late(*arguments, **named):
        monkeypatch.setattr(adding, "build_and_publish", original)
        add(open_corpus(third), cache)
        return original(*arguments, **named)

    monkeypatch.setattr(adding, "build_and_publish", late)
    with pytest.raises(CacheLocked, match="run the same command again"):
        add(open_corpus(bob), cache)
    assert len(Cache(cache)) == 15
    assert add(open_corpus(bob), cache)["utterances"] == 24


def test_packing_again_never_drops_what_was_added(anna, bob, tmp_path):
    cache = tmp_path / "v.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    add(open_corpus(bob), cache)
    with pytest.raises(CacheMismatch, match="holds 2 corpora.*loses the others"):
        pack(open_corpus(anna), cache, CHARACTERS, rebuild=True)
    write_tone(anna / "wavs" / "utt00000.wav", 0.9, seed=77)
    with pytest.raises(CacheMismatch, match="myxtts add"):
        pack(open_corpus(anna), cache, CHARACTERS)
    assert len(Cache(cache)) == 21
    pack(Corpora([open_corpus(anna), open_corpus(bob)]), cache, CHARACTERS, rebuild=True)
    assert len(Cache(cache)) == 21


def test_a_corpus_that_was_added_again_is_one_corpus(anna, tmp_path):
    cache = tmp_path / "v.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    write_tone(anna / "wavs" / "late.wav", 2.0)
    with open(anna / "metadata.csv", "a", encoding="utf-8") as file:
        file.write("late|One more sentence\n")
    assert [part["rows"] for part in add(open_corpus(anna), cache)["corpora"]] == [13]


def test_a_corrected_text_is_listed_and_not_added_beside_the_old_one(anna, tmp_path):
    cache = tmp_path / "v.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    rows = (anna / "metadata.csv").read_text().splitlines()
    (anna / "metadata.csv").write_text("\n".join(["utt00000|Something else", *rows[1:]]) + "\n")
    assert add(open_corpus(anna), cache)["rejected"] == {"duplicate_id": 1}
    assert len(Cache(cache)) == 12


def test_ids_that_were_given_out_are_not_given_again(anna, tmp_path):
    cache = tmp_path / "v.cache"
    pack(open_corpus(anna), cache, CHARACTERS)
    z = tmp_path / "z"
    for name, seed in (("utt00000", 70), ("z/utt00000", 71)):
        write_tone(z / "wavs" / f"{name}.wav", 1.0, seed=seed)
    (z / "manifest.csv").write_text(
        "audio,text,id\nwavs/utt00000.wav,One,utt00000\nwavs/z/utt00000.wav,Two,z/utt00000\n"
    )
    add(open_corpus(z), cache)
    ids = list(utterances_of(Cache(cache)))
    assert len(ids) == len(set(ids)) == len(Cache(cache)) == 14


def test_the_speaker_of_what_is_added(anna, bob, tmp_path, capsys):
    cache = tmp_path / "v.cache"
    assert main(["pack", str(anna), "-o", str(cache), "--set", "data.text_tokens=characters"]) == 0
    assert main(["add", str(bob), "-o", str(cache)]) == 0  # one person: more of the same
    assert Cache(cache).speakers == ["speaker"]
    deep = [write_corpus(tmp_path / name / "corpus", 3, seed) for name, seed in (("x", 30), ("y", 40))]
    assert main(["pack", *map(str, deep), "-o", str(tmp_path / "w.cache"), "--set", "data.text_tokens=characters"]) == 0
    assert Cache(tmp_path / "w.cache").speakers == ["x/corpus", "y/corpus"]
