"""Workers in processes of their own, by the real commands: one that is killed costs nothing but its interval."""

import json
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from corpora import feed_config
from loopback import FolderServer
from worker_runs import SCRIPT, command, environment, losses, worker

from myxtts.cache.settings import PackSettings
from myxtts.cache.shards import pack_shards
from myxtts.corpus.read import open_corpus


@pytest.mark.slow
def test_a_killed_worker_is_started_again_and_the_run_is_the_undisturbed_one(packed_voice, tmp_path):
    steps = 300
    launch = command(packed_voice, tmp_path / "killed", steps, "launch", "--processes", "2", "--json", "--")
    process = subprocess.Popen(launch, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        log = tmp_path / "killed" / "log.jsonl"
        while process.poll() is None and not (log.exists() and '"kind":"step","step":60,' in log.read_text()):
            time.sleep(0.01)
        os.kill(worker(process.pid, 1), signal.SIGKILL)
        out, said = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0, said[-3000:]
    answer = json.loads(out)
    assert [sorted(codes) for codes in answer["attempts"]] == [[-9, 75], [0, 0]]
    assert re.search(r"worker 1 on \S+ is lost after step \d+: its connection was closed", said)
    alone = subprocess.run(
        command(packed_voice, tmp_path / "alone", steps), env=environment(), capture_output=True, text=True
    )
    assert alone.returncode == 0, alone.stderr[-2000:]
    ours, theirs = losses(tmp_path / "killed"), losses(tmp_path / "alone")
    assert ours.keys() == theirs.keys() == set(range(1, steps + 1))
    assert ours == pytest.approx(theirs, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "devices"),
    [
        pytest.param([str(SCRIPT)], 4, id="order"),  # of two there is none
        pytest.param(["-m", "myxtts"], 2, id="model"),  # that users have: the stand-in is too simple to be rewritten
    ],
)
def test_a_deterministic_run_has_the_same_bits_however_its_devices_are_spread(script, devices, packed_voice, tmp_path):
    launch = ["launch", "--processes", "2", "--restarts", "0", "--"]
    alike = environment() | {"TF_NUM_INTRAOP_THREADS": "1"}
    weights = {}
    for name, before, each in (("together", [], devices), ("spread", launch, devices // 2)):
        words = [*command(packed_voice, tmp_path / name, 3, *before), "--devices", str(each)]
        words[1:2] = script
        done = subprocess.run(words, env=alike, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr[-3000:]
        weights[name] = (tmp_path / name / "checkpoints" / "step-3" / "weights.safetensors").read_bytes()
    assert losses(tmp_path / "spread") == losses(tmp_path / "together")
    assert weights["spread"] == weights["together"]


@pytest.mark.slow
def test_workers_train_from_an_address_as_from_a_folder(corpus_folder, tmp_path):
    with ThreadPoolExecutor(1) as executor:
        settings = PackSettings.from_config(feed_config().data)
        pack_shards(open_corpus(corpus_folder), tmp_path / "voice.cache", settings, executor, shard_rows=5)
    server, steps = FolderServer(tmp_path), 12
    shards = ["--set", "data.shuffle_shards=2", "--set", f"data.mirror_dir={tmp_path / 'mirrors'}"]
    try:
        address = f"{server.address}/voice.cache"
        several = command(address, tmp_path / "there", steps, "launch", "--processes", "2", "--restarts", "0", "--")
        alone = command(tmp_path / "voice.cache", tmp_path / "here", steps)
        for words in (several, alone):
            done = subprocess.run([*words, *shards], env=environment(), capture_output=True, text=True, timeout=900)
            assert done.returncode == 0, done.stderr[-3000:]
    finally:
        server.close()
    assert losses(tmp_path / "there") == pytest.approx(losses(tmp_path / "here"), rel=1e-4)
    assert len(losses(tmp_path / "there")) == steps
