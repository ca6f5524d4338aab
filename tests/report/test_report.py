"""Reports as files: what is escaped, what they say, how large they are. No browser, no TensorFlow."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import Reader
from report import HICCUP, STALLED, write_long_run

from myxtts.cli import main
from myxtts.config.config import XTTSConfig
from myxtts.report import wording
from myxtts.report.bench import write_bench_report
from myxtts.report.markup import Markup, tag
from myxtts.report.run import run_report, write_run_report
from myxtts.report.run_data import read_run, where_the_time_went
from myxtts.report.timeline import bars_of
from myxtts.training.run_log import RunLog

EVIL = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"
NBSP = "\u00a0"


def log_lines(run):
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def write_log(run, records):
    run.mkdir(exist_ok=True)
    (run / "log.jsonl").write_text("".join(json.dumps({"time": 1000.0, **record}) + "\n" for record in records))
    return run


def step(n, data_ms=0.5, compute_ms=50.0, **more):
    return {"kind": "step", "step": n, "time": 1000 + n * 0.06, "data_ms": data_ms, "compute_ms": compute_ms} | more


@pytest.fixture(scope="session")
def long_run(tmp_path_factory):
    return write_long_run(tmp_path_factory.mktemp("long") / "run")


@pytest.fixture(scope="session")
def long_page(long_run):
    return write_run_report(long_run)


# ---- safe -----------------------------------------------------------------------------------------------------------


def assert_harmless(text):
    page = Reader(text).close_all()
    assert set(page.tags).isdisjoint({"script", "iframe", "object", "embed", "link", "base", "form"})
    for element, name, value in page.attributes:
        assert not name.startswith("on"), (element, name)
        assert name != "style", element  # the policy would forbid it
        if name in ("src", "href", "data"):
            assert value.startswith("data:"), value
    assert "default-src 'none'" in page.policy
    assert "unsafe" not in page.policy
    assert "http:" not in text.replace("http-equiv", "")
    assert "https:" not in text
    assert "@import" not in text
    assert "url(" not in text
    return page


def test_text_from_outside_is_escaped_wherever_it_comes_from(tmp_path):
    config = XTTSConfig().to_dict()
    config["data"] |= {"speaker": EVIL, "dataset_path": f"/data/{EVIL}", EVIL: EVIL}
    report = {"machine": {"description": {"cpu": EVIL, "gpu": EVIL}}}
    machine = {"at": [1001.0, 1002.0], EVIL: [1.0, 2.0], f"gpu0{EVIL}.utilisation_percent": [1.0, 2.0]}
    run = write_log(
        tmp_path / "run",
        [
            {
                "kind": "start",
                "step": 0,
                "config": config,
                "parameters": 5,
                "feed": {"cache": EVIL, "steps_per_epoch": 9},
            },
            *(step(n, 90.0, loss=1.0) for n in range(1, 60)),
            {"kind": "event", "step": 5, "event": "not_finite", "utterances": [EVIL], "text": EVIL},
            {"kind": "event", "step": 6, "event": EVIL},
            {"kind": "machine", "step": 8, **machine},
            {"kind": "report", "step": 59, **report},
            {"kind": "end", "step": 59, "why": EVIL},
        ],
    )
    page = assert_harmless(run_report(run))
    assert EVIL in page.text["events"]  # seen as it is, as text


def test_names_of_folders_are_escaped(tmp_path):
    run = write_log(tmp_path / "a<script>b", [step(n) for n in range(1, 30)])
    assert_harmless(run_report(run))


def test_the_page_of_a_long_run_is_harmless(long_page):
    assert_harmless(long_page.read_text())


def test_what_is_not_markup_is_escaped():
    assert tag("p", "<b>", Markup("<i></i>"), title='"<') == '<p title="&quot;&lt;">&lt;b&gt;<i></i></p>'


# ---- true -----------------------------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_log(long_run, long_page):
    page = Reader(long_page.read_text())
    steps = [line for line in log_lines(long_run) if line["kind"] == "step"]
    counted = [line for line in steps if line["step"] not in (1, 5001)]  # the first batch after a start
    data, compute = (np.array([line[name] for line in counted]) for name in ("data_ms", "compute_ms"))
    stall = data.sum() / (data + compute).sum()
    assert page.text["steps"] == "10,000"
    assert page.text["stall"] == f"{100 * stall:.1f}{NBSP}%"
    assert page.text["step-ms"] == f"{np.median(data) + np.median(compute):.1f}{NBSP}ms"
    assert page.text["rate"] == f"{32e3 * len(counted) / (data + compute).sum():.0f}"
    assert page.text["loss"] == f"{steps[-1]['loss']:.3f}"
    best = min((line["mel_error"], line["step"]) for line in log_lines(long_run) if line["kind"] == "validation")
    assert page.text["best"] == f"{best[0]:.3f}"
    assert "6,200 to 6,899" in page.text["episodes"]
    assert (
        page.text["verdict"]
        == f"The step waited 8.9{NBSP}% of its time for data, but 58{NBSP}% from step 6,200 to 6,899."
    )
    seen = sum(line["frames"] == 260 for line in counted)
    assert f"260 3,900 32 {seen:,}".replace(" ", "") in page.text["buckets"]


def test_a_stall_of_one_step_in_ten_thousand_is_not_hidden(long_page):
    page = Reader(long_page.read_text())
    hovers = [title for title in page.titles if f"longest 640{NBSP}ms at {HICCUP:,}" in title]
    assert len(hovers) == 2  # in the wide and in the narrow picture
    note = next(
        value for _, name, value in page.attributes if name == "aria-label" and value.startswith("Time per step")
    )
    assert f"{len(STALLED) + 1} of 9,998 steps waited more than" in note
    assert f"longest wait was 640{NBSP}ms at step {HICCUP:,}" in note


@settings(max_examples=60)
@given(st.lists(st.floats(0, 500), min_size=1, max_size=700), st.integers(1, 60))
def test_no_wait_gets_lost_however_few_the_bars(waits, most):
    data = np.array(waits)
    steps, compute = np.arange(1, len(data) + 1.0), np.full(len(data), 50.0)
    bars = bars_of(steps, data, compute, most)
    assert len(bars) == min(most, len(data))
    assert [bar.first for bar in bars] == [1, *(bar.last + 1 for bar in bars[:-1])]
    assert bars[-1].last == len(data)
    for bar in bars:
        own = data[bar.first - 1 : bar.last]
        assert bar.wait_ms == own.max() == data[bar.at - 1]
        assert bar.stalled == bool((own > 0.1 * (own + 50.0)).any())


def test_where_the_time_went_sums_to_one(long_run):
    data = read_run(long_run)
    shares = where_the_time_went(data)
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["padding"] / (shares["padding"] + shares["computing"]) == pytest.approx(1 - 0.8912)
    assert data.other_ms == pytest.approx(2000 * 19, rel=0.02)  # 20 validations, one of them before a resume
    assert data.compiling_ms == 30_500


@pytest.mark.parametrize(
    ("waits", "sentence", "state"),
    [
        (lambda n: 0.03, "less than 0.1 % of its time for data.", "good"),
        (lambda n: 0.5, "1 % of its time for data.", "good"),
        (lambda n: 82.0, "62 % of its time for data.", "bad"),
        (lambda n: 60.0 if n > 950 else 0.1, "5.8 % of its time for data, but 55 % from step 951 on.", "bad"),
    ],
)
def test_the_verdict_is_one_sentence(tmp_path, waits, sentence, state):
    page = run_report(write_log(tmp_path / "run", [step(n, waits(n)) for n in range(1, 1001)]))
    assert Reader(page).text["verdict"].replace(NBSP, " ") == f"The step waited {sentence}"
    assert f'class="verdict {state}"' in page


def test_the_bar_below_the_verdict_is_of_all_time(tmp_path):
    """A step that never waits may still leave much of the time to padding and compiling."""
    start = {"kind": "start", "step": 0, "time": 990.0, "feed": {"useful_frame_share": 0.8}}
    compiled = {"kind": "event", "step": 0, "event": "compiled", "seconds": 25.0, "time": 999.0}
    run = write_log(tmp_path / "run", [start, compiled, *(step(n, 0.0, 50.0) for n in range(1, 502))])
    page = Reader(run_report(run))
    assert page.text["verdict"] == f"The step waited 0{NBSP}% of its time for data."
    first = next(value for _, name, value in page.attributes if name == "aria-label")
    assert first.replace(NBSP, " ").startswith("computing 36 %, padding 9.1 %, compiling 45 %, validation")


def test_a_run_that_has_hardly_begun_says_so(tmp_path):
    for steps in (0, 1, 2, 9):
        run = write_log(
            tmp_path / f"run{steps}", [{"kind": "start", "step": 0}, *(step(n) for n in range(1, steps + 1))]
        )
        page = Reader(run_report(run)).close_all()
        assert page.text["verdict"] == f"Too early to judge: {steps} steps so far."


def test_steps_that_are_not_finite_leave_gaps_and_a_warning(tmp_path):
    records = [step(n, loss="NaN" if n % 7 == 0 else 1 / n, grad_norm="Infinity") for n in range(1, 200)]
    records.append({"kind": "event", "step": 7, "event": "not_finite", "where": "step", "utterances": ["a-1"]})
    page = run_report(write_log(tmp_path / "run", records))
    assert 'class="verdict warn"' in page
    assert "a-1" in Reader(page).text["events"]
    assert "nan" not in re.sub(r"<style>.*?</style>", "", page).lower()


SCORES = {"wer": {"synthetic": 0.092, "copy": 0.03, "real": 0.053}, "similarity": {"synthetic": 0.861, "real": 0.913}}


def judged_run(run, evaluations=()):
    """It starts from the base voice, which the judges have heard."""
    config = XTTSConfig().to_dict()
    config["training"]["start_from"] = "base"
    judged = [{"kind": "evaluation", "step": at, "scores": scores} for at, scores in evaluations]
    write_log(run, [{"kind": "start", "step": 0, "config": config}, *(step(n) for n in range(1, 30)), *judged])
    (run / "start_scores.json").write_text(json.dumps(SCORES))
    return run


def test_what_a_run_starts_from_is_judged_beside_it_and_the_recordings(tmp_path):
    later = {"wer": {"synthetic": 0.039, "real": 0.053}, "similarity": {"synthetic": "NaN", "real": 0.913}}
    page = Reader(run_report(judged_run(tmp_path / "run", [(20, SCORES), (29, later)]))).close_all()
    rows = "stepwersimilaritybefore (base)0.0920.86200.0920.86290.039\u2013recordings0.0530.91"
    assert page.text["judged"].replace(" ", "") == rows.replace(" ", "")


def test_what_a_run_starts_from_is_shown_before_the_first_evaluation(tmp_path):
    page = Reader(run_report(judged_run(tmp_path / "run")))
    assert "before (base)" in page.text["judged"]
    assert "0.91" in page.text["judged"]


@pytest.mark.parametrize("content", ["", "[1]", "[" * 100_000, '{"wer": 3}', json.dumps({"wer": {"real": EVIL}})])
def test_scores_of_the_start_that_are_none_are_left_out(tmp_path, content):
    run = judged_run(tmp_path / "run")
    (run / "start_scores.json").write_text(content)
    assert "judged" not in assert_harmless(run_report(run)).text


@pytest.mark.parametrize("lacks", ["step", "by", "value"])
def test_a_rating_that_lacks_something_is_left_out(tmp_path, lacks):
    run, rated = judged_run(tmp_path / "run"), {"kind": "rated", "time": 1.8e9, "step": 3, "by": "wer", "value": 0.5}
    with open(run / "log.jsonl", "a") as log:
        log.write(json.dumps({name: value for name, value in rated.items() if name != lacks}) + "\n")
    assert "Best checkpoint" not in run_report(run)


def test_validations_from_before_a_run_had_ratings_count(tmp_path):
    run = judged_run(tmp_path / "run")
    with RunLog(run) as log:
        log.write("validation", step=2, mel_error=1.0)
        log.write("validation", step=4, mel_error=2.0)
        log.write("rated", step=4, by="mel_error", value=2.0)
    assert read_run(run).best == (2, "mel_error", 1.0)


# ---- small ----------------------------------------------------------------------------------------------------------


def test_ten_thousand_steps_are_below_three_megabytes(long_page):
    assert long_page.stat().st_size < 3_000_000


def test_long_samples_are_made_smaller(tmp_path):
    run = write_long_run(tmp_path / "run", steps=300, clips=8, clip_seconds=30.0)  # 10.6 MB as they are
    write_long_run(run, steps=0, clips=8, clip_seconds=30.0)
    path = write_run_report(run, tmp_path / "page.html")
    assert path.stat().st_size < 3_000_000
    assert path.read_text().count("data:audio/mpeg;base64,") == 8


def test_only_the_last_samples_are_taken_along(tmp_path):
    run = write_long_run(tmp_path / "run", steps=300)
    write_long_run(run, steps=200)
    text = run_report(run)
    assert text.count("data:audio/wav;base64,") == 2
    assert "sentence 1 at step 300" in text


def test_samples_of_before_are_played_beside_the_last(tmp_path):
    run = write_long_run(tmp_path / "run", steps=300, clips=3)
    write_long_run(run, steps=0, clips=2)
    write_long_run(run, steps=200)
    page = assert_harmless(run_report(run))
    labels = [value for element, name, value in page.attributes if (element, name) == ("audio", "aria-label")]
    first = [f"sentence {number} {when}" for number in (1, 2) for when in ("before the training", "at step 300")]
    assert labels == [*first, "sentence 3 at step 300"]


def test_samples_of_before_alone_are_played(tmp_path):
    text = run_report(write_long_run(tmp_path / "run", steps=0))
    assert text.count("data:audio/wav;base64,") == 2
    assert "Before: the model that it starts from." in text


def test_pictures_come_from_the_board_the_newest_of_each(tmp_path):
    from myxtts.report.media import last_pictures
    from myxtts.training.tensorboard import Board

    run = write_log(tmp_path / "run", [step(n) for n in range(1, 30)])
    with Board(run / "tensorboard") as board:
        for at in (10, 20):
            board.scalars({"train/loss": 1.0}, at)
            board.alignment("sentence 1/alignment", np.eye(at), at)
            board.audio("sentence 1", np.zeros(100), at)
        board.alignment(f"{EVIL}/alignment", np.eye(3), 20)
    with open(board.path, "ab") as file:
        file.write(b"\x99\x00\x00\x00\x00\x00\x00\x00torn")
    pictures, left_out = last_pictures(run)
    assert [(picture.name, picture.step) for picture in pictures] == [
        (f"{EVIL}/alignment", 20),
        ("sentence 1/alignment", 20),
    ]
    assert left_out == 0
    page = assert_harmless(run_report(run))
    assert page.tags.count("img") == 2


# ---- bench ----------------------------------------------------------------------------------------------------------


def bench_result():
    def row(rate, used, reached):
        rates = {"utterances_per_s": rate, "x_real_time": 6.5 * rate, "cpu_us_per_utterance": 1e6 / rate}
        times = {"batch_ms": 32e3 / rate, "first_batch_s": 0.3, "break_even_ms": reached, "jitter": 0.04}
        return rates | times | {"useful_frame_share": 0.93, "p99_over_median": 1.1, "au": {5.0: used / 2, 10.0: used}}

    controls = [{"step_ms": ms, "resident_au": 0.99, "throttled_au": 0.5} for ms in (5.0, 10.0)]
    loaders = {"limit": row(52_000, 0.99, 0.6), "mapped": row(50_000, 0.98, 0.7), "python": row(500, 0.16, None)}
    return {"cache": f"/data/{EVIL}", "batch_size": 32, "cold": False, "controls": controls, "loaders": loaders}


def test_the_bench_names_the_best_loader_and_what_it_beats(tmp_path):
    write_bench_report(tmp_path / "bench.html", bench_result(), XTTSConfig())
    page = assert_harmless((tmp_path / "bench.html").read_text())
    assert (
        page.text["verdict"]
        == f"The mapped loader keeps a device with a step of 10{NBSP}ms busy 98{NBSP}% of the time."
    )
    assert page.text["rate"] == "50,000"
    sentence = f"100× the rate of the python loader, which would keep it busy 16{NBSP}% of the time"
    assert sentence in (tmp_path / "bench.html").read_text()
    assert f"16{NBSP}%" in page.text["utilisation"]


def test_what_the_emulation_loses_is_no_waiting(tmp_path):
    """A loader as good as a batch that is always there waits for nothing, whatever the emulation itself can reach."""
    result = bench_result()
    result["controls"] = [control | {"resident_au": 0.9} for control in result["controls"]]
    for au, shares in {0.9: "computing 90 %, lost by the emulation 10 %",
                       0.7: "computing 70 %, waiting for data 20 %, lost by the emulation 10 %"}.items():  # fmt: skip
        result["loaders"]["mapped"]["au"] = {5.0: au, 10.0: au}
        write_bench_report(tmp_path / "bench.html", result, XTTSConfig())
        page = Reader((tmp_path / "bench.html").read_text())
        assert shares.replace(" %", f"{NBSP}%") in {value for _, name, value in page.attributes if name == "aria-label"}


# ---- as it is typed -------------------------------------------------------------------------------------------------


def test_the_verb_writes_beside_the_log_or_where_it_is_told(tmp_path, capsys):
    run = write_log(tmp_path / "run", [step(n) for n in range(1, 30)])
    assert main(["report", str(run), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result == {"report": str(run / "report.html"), "bytes": (run / "report.html").stat().st_size}
    assert main(["doctor", "--run", str(run), "--html", str(tmp_path / "d.html")]) == 0
    assert Reader((tmp_path / "d.html").read_text()).text["steps"] == "29"
    assert sorted(path.name for path in run.iterdir()) == ["log.jsonl", "report.html"]  # nothing temporary is left


def test_what_cannot_be_drawn_or_written_is_one_line(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert "expected a directory that 'myxtts train' made" in capsys.readouterr().err
    assert main(["doctor", "--data", "x", "--html", str(tmp_path / "no" / "d.html")]) == 2
    assert "folder that exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (wording.share(0.617), "62 %"), (wording.share(0.0342), "3.4 %"), (wording.share(0.9994), "> 99.9 %"),
        (wording.share(0.00001), "< 0.1 %"), (wording.share(1.0), "100 %"), (wording.share(0), "0 %"),
        (wording.share(0.9951), "99.5 %"), (wording.ms(0.0514), "0.051 ms"), (wording.ms(350.2), "350 ms"),
        (wording.ms(12_340), "12.3 s"), (wording.number(51_234.5), "51,234"), (wording.number(9.996), "10.0"),
        (wording.number(0.00012), "1.2e-4"), (wording.times(23.4), "23×"), (wording.times(2.04), "2.0×"),
        (wording.size(17.5e9), "17.5 GB"), (wording.duration(444), "7 min 24 s"),
        (wording.duration(219_900), "61 h 5 min"), (wording.number(float("nan")), "not finite"),
    ],
)  # fmt: skip
def test_numbers_are_written_with_few_digits(written, value):
    assert written.replace(NBSP, " ") == value
