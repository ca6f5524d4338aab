"""A cache that a stranger has changed and sealed again is refused by every door in words, and can be mended."""

import json
import shutil

import numpy as np
import pytest

from myxtts.cache.format import array_type, column_file
from myxtts.cache.journal import Journal, read_journal
from myxtts.cache.manifest import dump_manifest, load_manifest
from myxtts.cache.reader import Cache
from myxtts.cli import main
from myxtts.errors import CacheDamaged
from myxtts.files import hash_file


@pytest.fixture
def cache(packed_voice, tmp_path):
    return shutil.copytree(packed_voice, tmp_path / "x.cache")


def set_value(cache, column, at, value):
    """Change one value of the index and seal the cache again."""
    path, body = cache / column_file(column), load_manifest(cache)
    raw = path.read_bytes()
    values = np.frombuffer(raw, array_type(path.name)[0], offset=128).copy()
    values[at] = value
    path.write_bytes(raw[:128] + values.tobytes())
    body["checksums"][path.name] = hash_file(path)
    (cache / "cache.json").write_bytes(dump_manifest(body))


@pytest.mark.parametrize(
    ("column", "at", "value"),
    [
        ("first_row", 2, 2**33), ("first_row", 0, 0), ("n_frames", 1, 2**31 - 1), ("n_frames", 1, -5),
        ("n_samples", 0, 1), ("first_token", 3, -1), ("n_tokens", 3, 0), ("speaker", 0, 99), ("language", 0, -1),
        ("id_end", 0, 2**40), ("text_end", 2, 0),
    ],
)  # fmt: skip
def test_an_index_that_points_to_nothing_is_damage(cache, corpus_folder, capsys, column, at, value):
    set_value(cache, column, at, value)
    with pytest.raises(CacheDamaged, match=r"index\.\w+\.npy points to what is not there.*myxtts verify"):
        Cache(cache)
    assert main(["verify", str(cache), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["damaged"][0]["what"] == "points to what is not there"


def test_a_repair_does_not_follow_an_index_past_the_end(cache, packed_voice, corpus_folder):
    set_value(cache, "first_row", 2, 2**33)
    assert main(["verify", str(cache), "--fix", str(corpus_folder), "--json"]) == 0
    assert (cache / "audio.npy").read_bytes() == (packed_voice / "audio.npy").read_bytes()


def test_an_id_that_is_no_text_is_damage(cache):
    set_value(cache, "id_bytes", 0, 0xFF)
    with pytest.raises(CacheDamaged, match="the id of utterance 0 is not UTF-8"):
        Cache(cache).utterance_id(0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("utterances", None), ("utterances", 2**63), ("speakers", ["a", None]), ("speakers", ["a", "a"]),
        ("lengths", {"../../x": 1}), ("lengths", {}), ("token_table", ["a"]), ("settings", {}), ("corpora", []),
        ("corpora", [{"corpus": {"layout": "ljspeech", "speaker": "s", "language": "en-us", "evil": 1}, "name": "",
                      "digest": "", "rows": 1}]),
        ("mode", "audio"), ("rejected", {"x": "y"}), ("checksums", {"/etc/passwd": ""}), ("id", 5),
    ],
)  # fmt: skip
def test_an_impossible_body_is_damage_whatever_its_seal(cache, key, value, capsys):
    body = load_manifest(cache)
    (cache / "cache.json").write_bytes(dump_manifest({**body, key: value}))
    with pytest.raises(CacheDamaged, match="sealed, but no cache can be so.*--fix CORPUS"):
        load_manifest(cache)
    assert main(["info", str(cache)]) == 2
    assert main(["verify", str(cache)]) == 1
    assert "bug" not in capsys.readouterr().err


def test_a_lexicon_in_a_cache_is_no_path(cache, tmp_path):
    body = load_manifest(cache)
    body["settings"]["tokens"]["lexicon"] = str(tmp_path / "secret")
    (cache / "cache.json").write_bytes(dump_manifest(body))
    with pytest.raises(CacheDamaged, match="lexicon"):
        load_manifest(cache)


def test_brackets_without_end_are_damage(cache):
    (cache / "cache.json").write_bytes(b"[" * 200_000)
    with pytest.raises(CacheDamaged):
        load_manifest(cache)


def test_a_list_of_rejected_rows_that_is_none(cache, corpus_folder, tmp_path, capsys):
    (cache / "rejected.jsonl").write_bytes(b'{"id": null}\n')
    body = load_manifest(cache)
    body["checksums"]["rejected.jsonl"] = hash_file(cache / "rejected.jsonl")
    (cache / "cache.json").write_bytes(dump_manifest(body))
    other = shutil.copytree(corpus_folder, tmp_path / "other")
    (other / "metadata.csv").write_text("x|nothing there\n")
    assert main(["add", str(other), "-o", str(cache)]) == 2
    assert "rejected.jsonl: row[0].id is null" in capsys.readouterr().err


def test_a_journal_of_other_lines_is_not_believed(tmp_path):
    Journal(tmp_path / "journal", [{"a": 1}, {"rows_read": -1}]).close()
    assert read_journal(tmp_path / "journal") == [{"a": 1}]


def test_a_token_of_no_symbol_is_a_damaged_cache(cache):
    from corpora import feed_config

    from myxtts.data.pipeline import Feed
    from myxtts.training.setup import describe_model

    raw = bytearray((cache / "tokens.npy").read_bytes())
    raw[128 + 43] ^= 1 << 6  # bit 30 of the eleventh token: counting up to it took 8 GB
    (cache / "tokens.npy").write_bytes(raw)
    config = feed_config()
    with pytest.raises(CacheDamaged, match="tokens.npy is damaged.*myxtts verify"):
        describe_model(config, Feed(Cache(cache), config))


def test_a_token_that_became_another_symbol_is_a_damaged_cache(cache):
    """Nothing but its hash tells it from the right one: training looks at all of them before it begins."""
    from corpora import feed_config

    from myxtts.data.pipeline import Feed
    from myxtts.training.setup import describe_model

    raw = bytearray((cache / "tokens.npy").read_bytes())
    tokens = np.frombuffer(raw, np.int32, offset=128)
    at = next(n for n, token in enumerate(tokens) if (token ^ 1) in tokens and token > 8)
    raw[128 + 4 * at] ^= 1
    (cache / "tokens.npy").write_bytes(raw)
    config = feed_config()
    with pytest.raises(CacheDamaged, match=r"tokens.npy: utterance \w+ is damaged: run 'myxtts verify .* --fix"):
        describe_model(config, Feed(Cache(cache), config))
    config.data.cache_verification = False
    describe_model(config, Feed(Cache(cache, verify=False), config))
