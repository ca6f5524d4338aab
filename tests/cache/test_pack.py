"""Packing: what is on disk is what was in the corpus, whoever did the work and however often it was interrupted."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from corpora import write_corpus, write_tone

from myxtts.cache.format import MANIFEST
from myxtts.cache.pack import pack
from myxtts.cache.publish import building_folder
from myxtts.cache.reader import Cache
from myxtts.cache.settings import PackSettings
from myxtts.corpus.read import open_corpus
from myxtts.errors import CacheError, CacheLocked, CacheMismatch
from myxtts.features.audio import AudioSettings, load_clip
from myxtts.features.mel import LOG_FLOOR, log_mel
from myxtts.features.text import TextFrontend
from myxtts.monitor import start_monitor

CHARACTERS = PackSettings(AudioSettings(), TextFrontend(kind="characters"))


def files_of(cache: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in cache.iterdir()}


@pytest.fixture(scope="module")
def packed(corpus_folder, tmp_path_factory) -> Path:
    cache = tmp_path_factory.mktemp("packed") / "voice.cache"
    pack(open_corpus(corpus_folder), cache, CHARACTERS)
    return cache


def test_the_cache_holds_the_corpus(corpus_folder, packed):
    cache = Cache(packed)
    rows = list(open_corpus(corpus_folder).rows())
    assert len(cache) == len(rows)
    for n, row in enumerate(rows):
        samples = load_clip(row.audio, AudioSettings())
        assert cache.utterance_id(n) == row.id
        assert cache.text(n) == row.text
        assert cache.speakers[cache.columns["speaker"][n]] == row.speaker
        np.testing.assert_array_equal(cache.samples(n), samples)
        np.testing.assert_array_equal(cache.frames(n), log_mel(samples).astype(np.float16))
        assert "".join(cache.table.decode(cache.token_ids(n))[1:-1]) == row.text.lower()


def test_any_program_can_read_it(packed):
    audio = np.load(packed / "audio.npy", mmap_mode="r", allow_pickle=False)
    mel = np.load(packed / "mel.npy", mmap_mode="r", allow_pickle=False)
    frames = np.load(packed / "index.n_frames.npy", allow_pickle=False)
    assert (audio.dtype, mel.dtype) == (np.int16, np.float16)
    assert len(audio) == len(mel) == 1 + frames.sum()
    assert (audio[0] == 0).all()
    np.testing.assert_allclose(mel[0], LOG_FLOOR, rtol=1e-3)
    assert Cache(packed).audio.ctypes.data % 64 == 0


def test_audio_mode_has_no_mel(corpus_folder, packed, tmp_path):
    pack(open_corpus(corpus_folder), tmp_path / "a.cache", PackSettings(CHARACTERS.audio, CHARACTERS.text, ("audio",)))
    assert not (tmp_path / "a.cache" / "mel.npy").exists()
    assert (tmp_path / "a.cache" / "audio.npy").read_bytes() == (packed / "audio.npy").read_bytes()
    with pytest.raises(CacheError, match="has no mel.npy, it holds audio only"):
        Cache(tmp_path / "a.cache").frames(0)


def test_every_executor_gives_the_same_bytes(corpus_folder, packed, tmp_path):
    with ProcessPoolExecutor(2) as processes:
        pack(open_corpus(corpus_folder), tmp_path / "p.cache", CHARACTERS, executor=processes)
    pack(open_corpus(corpus_folder), tmp_path / "t.cache", CHARACTERS, workers=5)
    assert files_of(tmp_path / "p.cache") == files_of(packed) == files_of(tmp_path / "t.cache")


DASK = """
import sys
from pathlib import Path
import distributed
from myxtts.cache.pack import pack
from myxtts.cache.settings import PackSettings
from myxtts.corpus.read import open_corpus
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend
from myxtts.monitor import start_monitor
if __name__ == "__main__":
    corpus, cache = map(Path, sys.argv[1:])
    settings = PackSettings(AudioSettings(), TextFrontend(kind="characters"))
    with distributed.Client(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as client:
        pack(open_corpus(corpus), cache, settings, executor=client.get_executor())
"""


def test_a_dask_cluster_gives_the_same_bytes(corpus_folder, packed, tmp_path):
    (tmp_path / "by_dask.py").write_text(DASK)
    command = [sys.executable, tmp_path / "by_dask.py", corpus_folder, tmp_path / "d.cache"]
    done = subprocess.run(command, timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert files_of(tmp_path / "d.cache") == files_of(packed)


def test_a_second_pack_leaves_the_cache_alone(corpus_folder, packed):
    before = {path.name: path.stat().st_mtime_ns for path in packed.iterdir()}
    pack(open_corpus(corpus_folder), packed, CHARACTERS)
    assert {path.name: path.stat().st_mtime_ns for path in packed.iterdir()} == before


def test_cache_efficiency_counts_utterances_found_packed_and_not_calls(corpus_folder, tmp_path):
    def efficiency(times):
        """(found, made, share) as a new process would count them."""
        monitor = start_monitor()
        for _ in range(times):
            pack(open_corpus(corpus_folder), tmp_path / "c.cache", CHARACTERS)
        shares = monitor.get_bottleneck_analysis()["cache_hit_shares"]
        return monitor.counters["cache.hits"], monitor.counters["cache.misses"], shares["cache"]

    assert efficiency(3) == (0, 40, 0.0)  # packed by the first call, which the others found
    assert efficiency(3) == (40, 0, 1.0)


def test_other_settings_or_another_corpus_are_never_used_silently(tmp_path):
    folder = write_corpus(tmp_path / "c", 4)
    cache = tmp_path / "x.cache"
    pack(open_corpus(folder), cache, CHARACTERS)
    with pytest.raises(CacheMismatch, match="audio trim_db 45.0, not 60.0.*--rebuild"):
        pack(open_corpus(folder), cache, PackSettings(AudioSettings(trim_db=60.0), CHARACTERS.text))
    with pytest.raises(CacheMismatch, match="tokens blank False, not True"):
        pack(open_corpus(folder), cache, PackSettings(CHARACTERS.audio, TextFrontend(kind="characters", blank=True)))
    write_tone(folder / "wavs" / "utt00001.wav", 1.0, seed=99)
    with pytest.raises(CacheMismatch, match="has changed"):
        pack(open_corpus(folder), cache, CHARACTERS)
    old = Cache(cache)
    before = old.samples(0).copy()
    pack(open_corpus(folder), cache, CHARACTERS, rebuild=True)
    np.testing.assert_array_equal(old.samples(0), before)  # a running reader keeps its files
    assert len(Cache(cache).samples(1)) != len(old.samples(1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "x.cache"]


def test_rejected_rows_are_listed_and_the_rest_is_packed(tmp_path):
    folder = write_corpus(tmp_path / "c", 6)
    good = files_of_pack(folder, tmp_path / "good.cache")
    lines = (folder / "metadata.csv").read_text().splitlines()
    (folder / "wavs" / "bad.wav").write_bytes(b"RIFF....")
    write_tone(folder / "wavs" / "short.wav", 0.05)
    lines[3:3] = ["bad|Undecodable.", "gone|No file.", "short|Too short."]
    lines.append("utt00000|Twice.")
    (folder / "metadata.csv").write_text("\n".join(lines))
    with_bad = files_of_pack(folder, tmp_path / "bad.cache")
    rejected = [json.loads(line) for line in (tmp_path / "bad.cache" / "rejected.jsonl").read_text().splitlines()]
    assert [(row["row"], row["id"], row["reason"]) for row in rejected] == [
        (4, "bad", "undecodable"),
        (5, "gone", "missing_audio"),
        (6, "short", "too_short"),
        (10, "utt00000", "duplicate_id"),
    ]
    assert all(row["message"] for row in rejected)
    assert {name for name in good if good[name] != with_bad[name]} == {MANIFEST, "rejected.jsonl"}
    assert Cache(tmp_path / "bad.cache").summary()["rejected"] == {
        "duplicate_id": 1, "missing_audio": 1, "too_short": 1, "undecodable": 1}  # fmt: skip


def files_of_pack(folder, cache):
    pack(open_corpus(folder), cache, CHARACTERS)
    return files_of(cache)


def test_nothing_to_pack_is_an_error(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "metadata.csv").write_text("a|No audio.\n")
    with pytest.raises(CacheError, match="all 1 rows were rejected \\(1 missing_audio\\)"):
        pack(open_corpus(tmp_path / "c"), tmp_path / "x.cache", CHARACTERS)
    (tmp_path / "c" / "metadata.csv").write_text("")
    with pytest.raises(CacheError, match="no rows"):
        pack(open_corpus(tmp_path / "c"), tmp_path / "x.cache", CHARACTERS)
    assert not (tmp_path / "x.cache").exists()


def test_a_foreign_folder_is_never_replaced(corpus_folder, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(CacheError, match="'thesis.tex'.*would be lost: choose another place"):
        pack(open_corpus(corpus_folder), tmp_path / "mine", CHARACTERS, rebuild=True)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


PACK = """
import sys, time
from pathlib import Path
from myxtts.cache.journal import Journal
from myxtts.cache.pack import pack
from myxtts.cache.settings import PackSettings
from myxtts.corpus.read import open_corpus
from myxtts.features.audio import AudioSettings
from myxtts.features.text import TextFrontend
from myxtts.monitor import start_monitor
import myxtts.cache.writer as writer
writer._COMMIT_SECONDS = 0.0
corpus, cache, lines = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
def halting(work):  # until it is killed, once the journal has that many lines
    def halt(journal, *given):
        work(journal, *given)
        if 0 < lines <= len(Path(f"/proc/self/fd/{journal._file.fileno()}").read_bytes().splitlines()):
            time.sleep(600)
    return halt
for name in ("__init__", "append"):
    setattr(Journal, name, halting(getattr(Journal, name)))
print("go", flush=True)
pack(open_corpus(corpus), cache, PackSettings(AudioSettings(), TextFrontend(kind="characters")), workers=2)
"""  # an unguarded script: no `if __name__`


def start_packer(corpus, cache, lines=0):
    words = [sys.executable, "-c", PACK, corpus, cache, str(lines)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"go\n"
    return process


def lines_in(journal):
    try:
        return len(journal.read_bytes().splitlines())
    except FileNotFoundError:  # not there yet, or just replaced
        return 0


@pytest.mark.slow
def test_killed_packers_leave_the_next_one_an_identical_result(tmp_path):
    folder = write_corpus(tmp_path / "c", 300, (1.0, 4.0))
    whole = files_of_pack(folder, tmp_path / "whole.cache")
    cache = tmp_path / "killed.cache"
    journal = building_folder(cache) / "journal"
    for lines in (1, 3, 5):  # the settings; then a line per commit
        process = start_packer(folder, cache, lines)
        while process.poll() is None and lines_in(journal) < lines:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not cache.exists()
    last = start_packer(folder, cache)
    assert last.wait(timeout=300) == 0
    last.communicate()
    assert files_of(cache) == whole
    assert not building_folder(cache).exists()


def test_two_packers_cannot_write_one_cache(tmp_path):
    folder = write_corpus(tmp_path / "c", 200, (2.0, 4.0))
    first = start_packer(folder, tmp_path / "x.cache")
    while not (building_folder(tmp_path / "x.cache") / "journal").exists() and first.poll() is None:
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(CacheLocked, match="another process is writing"):
            pack(open_corpus(folder), tmp_path / "x.cache", CHARACTERS)
    finally:
        first.send_signal(signal.SIGCONT)
    assert first.wait(timeout=300) == 0
    first.communicate()
    assert len(Cache(tmp_path / "x.cache")) == 200


def test_a_torn_or_foreign_journal_is_not_believed(corpus_folder, packed, tmp_path):
    cache = tmp_path / "x.cache"
    building = building_folder(cache)
    building.mkdir()
    (building / "journal").write_bytes(b'{"format": 1}\t0123\n{"rows_')
    (building / "audio.npy").write_bytes(os.urandom(5000))
    pack(open_corpus(corpus_folder), cache, CHARACTERS)
    assert files_of(cache) == files_of(packed)


def test_a_full_disk_is_a_clear_error_and_the_next_run_goes_on(tmp_path, mounted):
    folder = write_corpus(tmp_path / "c", 60, (2.0, 3.0))
    small = mounted("size=4m")
    with pytest.raises(CacheError, match="disk is full"):
        pack(open_corpus(folder), small / "x.cache", CHARACTERS)
    assert not (small / "x.cache").exists()
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    pack(open_corpus(folder), small / "x.cache", CHARACTERS)
    assert len(Cache(small / "x.cache")) == 60


@pytest.mark.parametrize(
    "left", [["audio.npy"], [".journal.0123abcd.tmp"], ["audio.npy", "index.n_frames.npy", "cache.json"], []]
)
def test_whatever_a_kill_left_behind_can_be_packed_over(corpus_folder, packed, tmp_path, left):
    """Killed before the first journal line, while emptying the folder, or after the swap with an old cache."""
    cache = tmp_path / "x.cache"
    building_folder(cache).mkdir()
    for name in left:
        (building_folder(cache) / name).write_bytes(b"left behind")
    pack(open_corpus(corpus_folder), cache, CHARACTERS)
    assert files_of(cache) == files_of(packed)


def test_a_cache_behind_a_symbolic_link_is_replaced_in_its_place(corpus_folder, packed, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link.cache").symlink_to(tmp_path / "disk" / "real.cache")
    for _ in range(2):
        pack(open_corpus(corpus_folder), tmp_path / "link.cache", CHARACTERS, rebuild=True)
    assert (tmp_path / "link.cache").is_symlink()
    assert files_of(tmp_path / "disk" / "real.cache") == files_of(packed)


def test_an_interrupt_in_the_middle_of_an_utterance_leaves_nothing_half_done(
    corpus_folder, packed, tmp_path, monkeypatch
):
    """Ctrl-C may come between any two lines; here it comes after the audio of the 21st utterance was appended."""
    from myxtts.cache.growing import GrowingArray

    appended, append = [], GrowingArray.append_padded

    def interrupted(self, values):
        append(self, values)
        appended.append(1)
        if len(appended) == 21:
            raise KeyboardInterrupt

    monkeypatch.setattr(GrowingArray, "append_padded", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pack(open_corpus(corpus_folder), tmp_path / "x.cache", CHARACTERS)
    monkeypatch.undo()
    pack(open_corpus(corpus_folder), tmp_path / "x.cache", CHARACTERS)
    assert files_of(tmp_path / "x.cache") == files_of(packed)


def test_a_build_that_cannot_be_published_is_kept(corpus_folder, packed, tmp_path, monkeypatch):
    import myxtts.cache.pack as module

    def refused(building, cache, seal):
        raise OSError(16, "Device or resource busy", str(cache))

    monkeypatch.setattr(module, "publish", refused)
    with pytest.raises(CacheError, match="resource busy"):
        pack(open_corpus(corpus_folder), tmp_path / "x.cache", CHARACTERS)
    monkeypatch.undo()
    assert (building_folder(tmp_path / "x.cache") / "journal").exists()
    pack(open_corpus(corpus_folder), tmp_path / "x.cache", CHARACTERS)
    assert files_of(tmp_path / "x.cache") == files_of(packed)


def test_another_token_table_is_never_used_silently(corpus_folder, packed):
    from myxtts.features.token_table import TokenTable

    symbols = list(TokenTable.base().symbols)
    other = TokenTable([*symbols[:5], *reversed(symbols[5:])])
    with pytest.raises(CacheMismatch, match="another token table"):
        pack(open_corpus(corpus_folder), packed, CHARACTERS, table=other)


def test_a_place_where_nothing_can_be_made_is_an_error(corpus_folder):
    with pytest.raises(CacheError, match="cannot write to /proc"):
        pack(open_corpus(corpus_folder), Path("/proc/x.cache"), CHARACTERS)
