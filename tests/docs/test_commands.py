"""What the manual tells people to type works: its quick start is run, every other command and setting is understood."""

import contextlib
import io
import json
import re
import shlex
import subprocess
import sys

import pytest
from corpora import write_corpus
from docs.pages import DOCS, PAGES, PERSIAN, ROOT, blocks, english, inline_code, shell_lines

from myxtts.cli import _parser, main
from myxtts.config.config import XTTSConfig, load

# So that a quick start of eleven minutes is one of seconds.
SHORTER = {
    "--utterances 1500": "--utterances 20",
    "--minutes 7": "--steps 12 --set data.num_buckets=1 --set training.sample_steps=10",
    "myxtts evaluate": "myxtts evaluate --sentences 1",
}
MAY_FIND_FAULT = ("doctor",)  # on a busy machine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where demo/voice.cache is, of characters: eSpeak has tests of its own."""
    folder = tmp_path_factory.mktemp("manual")
    corpus = write_corpus(folder / "demo" / "corpus", 24)
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["pack", str(corpus), "-o", str(folder / "demo" / "voice.cache")]) == 0
    return folder


@pytest.mark.slow
def test_the_quick_start_runs(tmp_path, monkeypatch, capsys):
    """Every shell line in its order: myxtts by the command's own door, training a small model; make as a dry run."""
    from training.small_run import SMALL

    from myxtts.models import sizes
    from myxtts.training import start_from

    monkeypatch.chdir(tmp_path)
    verbs = []
    for line in shell_lines("quick-start.md"):
        words = shlex.split(_shorter(line))
        if words[0] == "make":
            done = subprocess.run(["make", "--dry-run", *words[1:]], cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        elif words[0] == "source":
            assert words[1] == ".venv/bin/activate"  # which `make setup` makes: see the Makefile's $(BIN)
        else:
            assert words[0] == "myxtts"
            if words[1] == "train":
                monkeypatch.setitem(sizes.SIZES, "tiny", SMALL)
                monkeypatch.setattr(start_from, "BASE_HOURS", 0.0)  # the base voice is not that small
            code = main(words[1:])
            assert code == 0 or (code == 1 and words[1] in MAY_FIND_FAULT), f"{line}\n{capsys.readouterr()}"
            verbs.append(words[1])
    assert verbs == [
        "demo-corpus",
        "say",
        "demo-corpus",
        "pack",
        "verify",
        "info",
        "train",
        "say",
        "evaluate",
        "doctor",
    ]
    for made in re.findall(r"^(demo/\S+)", blocks("quick-start.md", "text")[0].code, flags=re.M):
        assert (tmp_path / made).exists(), made


def _shorter(line: str) -> str:
    for long, short in SHORTER.items():
        line = line.replace(long, short)
    return line


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_understood(page):
    lines = [line.rpartition("| ")[2] for line in shell_lines(page)]
    lines += [code for code in inline_code(page) if len(code.split()) > 2]  # `myxtts verify` alone is a name
    for line in lines:
        if line.startswith("myxtts ") and line != "myxtts --version":
            _parser().parse_args(shlex.split(line.replace(" ...", ""), comments=True)[1:])  # raises UsageError
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)


@pytest.mark.parametrize("page", PAGES)
def test_every_setting_that_is_named_exists(page):
    everything = XTTSConfig().to_dict()
    setting = r"(?<![\w.])(data|model|training)\.(?!json\b)(\w+)\b(?!\()"
    for section, key in re.findall(setting, " ".join(inline_code(page))):
        assert key in everything[section], f"{section}.{key}"
    load(overrides=[each for each in re.findall(r"--set (\S+?=\S+)", PAGES[page].replace("`", " "))
                    if "section.key" not in each])  # fmt: skip


@pytest.mark.parametrize("page", PERSIAN)
def test_persian_pages_show_the_same_code(page):
    for language in ("sh", "python"):
        assert blocks(page, language) == blocks(english(page), language)
    if page != "quick-start.fa.md":
        return
    assert blocks(page, "text") == blocks(english(page), "text")


def test_the_feed_runs_as_shown(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    snippets = [block.code for block in blocks("feed.md", "python") if "no-test" not in block.flags]
    for code in snippets:
        exec(compile(code, "feed.md", "exec"), {})
        assert capsys.readouterr().out.count("\n") == 10  # batches
    assert len(snippets) == 2


def test_a_cache_is_read_with_numpy_alone(folder):
    """The page's program, in an interpreter without our package, against what our own reader says."""
    from myxtts.cache.reader import Cache

    program = blocks("cache-format.md", "python")[0].code
    code = f"{program}\nimport sys\nassert 'myxtts' not in sys.modules\n"
    code += "keys = ('id', 'text', 'speaker', 'language')\nall_ = [utterance(n) for n in range(about['utterances'])]\n"
    code += "print(json.dumps([[u[k] for k in keys] + [int(u['samples'].sum(dtype='int64')), "
    code += "float(u['mel'].sum(dtype='float64')), len(u['symbols'])] for u in all_]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-1500:]
    result = json.loads(done.stdout.splitlines()[-1])
    cache = Cache(folder / "demo" / "voice.cache")
    assert len(result) == len(cache.columns["n_frames"]) == 24
    for n, (name, text, speaker, language, samples, mel, symbols) in enumerate(result):
        assert (name, text) == (cache.utterance_id(n), cache.text(n))
        assert (speaker, language) == (f"speaker{n % 2}", "en-us")
        assert samples == int(cache.samples(n).sum(dtype="int64"))
        assert mel == pytest.approx(float(cache.frames(n).sum(dtype="float64")))
        assert symbols == cache.columns["n_tokens"][n]


def test_the_format_page_names_every_file_column_and_key(folder):
    from myxtts.cache.format import BLOBS, FORMAT, TRACKS, index_columns, payload_files

    page = PAGES["cache-format.md"]
    body = json.loads((folder / "demo" / "voice.cache" / "cache.json").read_text(encoding="utf-8"))
    assert f"This is format {FORMAT}." in page
    named = {name for row in page.splitlines() if row.startswith("| `") for name in re.findall(r"`(\w+)`", row)}
    assert set(index_columns(TRACKS)) | set(body) <= named
    assert all(name in page for name in [*payload_files(TRACKS), *(f"index.{blob}.npy" for blob in BLOBS)])


def test_every_page_is_short_enough_to_be_read():
    for name, text in PAGES.items():
        assert len(text.splitlines()) < 250, name
    assert (DOCS / "log.md").is_file()
