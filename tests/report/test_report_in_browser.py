"""Reports in a real browser: Chromium without a window. Without one these are skipped; CI installs it."""

import json
import re
import struct

import pytest
from reading import Reader
from report import browse, find_chromium, write_long_run
from test_doctor_report import GALLERY
from test_report import EVIL, NBSP, bench_result

from myxtts.config.config import XTTSConfig
from myxtts.doctor.diagnosis import judge
from myxtts.doctor.history import explain
from myxtts.doctor.measurements import Measurements
from myxtts.report.bench import write_bench_report
from myxtts.report.doctor import write_doctor_report
from myxtts.report.run import write_run_report
from myxtts.report.wording import ms

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found: apt-get install chromium")


def complaints(log):
    return [line for line in log.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_long_run(tmp_path_factory.mktemp("browser") / "run", steps=10_000)


@pytest.fixture(scope="module")
def opened(run):
    """(what the browser made of the page, its log)"""
    return browse(CHROMIUM, write_run_report(run), "--dump-dom")


def test_a_run_opens_without_a_complaint(opened):
    assert complaints(opened[1]) == []


def test_the_browser_shows_the_numbers_of_the_log(run, opened):
    page, past = Reader(opened[0]), explain(run)
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["kind"] == "step"][-1]
    assert page.text["steps"] == f"{last['step']:,}"
    assert page.text["loss"] == f"{last['loss']:.3f}"
    assert page.text["stall"] == f"{100 * past.stall:.1f}{NBSP}%"
    assert page.text["step-ms"] == f"{past.data_ms + past.compute_ms:.1f}{NBSP}ms"
    assert page.tags.count("audio") == 2


def test_a_complaint_would_be_seen(tmp_path):
    """The policy stops a script that got in, and the browser says so where we look."""
    path = write_run_report(write_long_run(tmp_path / "run", steps=50))
    path.write_text(path.read_text().replace("</main>", "<script>document.title = 'in'</script></main>"))
    dom, log = browse(CHROMIUM, path, "--dump-dom")
    assert "Content Security Policy" in " ".join(complaints(log))
    assert "<title>in</title>" not in dom


def width_of(path):
    """(width of the content, width of the window) on a phone: a frame, because a window has at least 500 pixels.

    A script measures it in a copy without the policy, with all that can be unfolded unfolded.
    """
    copy, frame = path.with_name("measured.html"), path.with_name("frame.html")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text())
    text = text.replace("<details>", "<details open>")
    script = "parent.postMessage([document.documentElement.scrollWidth, innerWidth].join(' of '), '*')"
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    heard = "<script>addEventListener('message', told => { document.title = told.data })</script>"
    frame.write_text(f"<title>none</title>{heard}<iframe src={copy.name} width=390 height=800 frameborder=0></iframe>")
    dom, _ = browse(CHROMIUM, frame, "--dump-dom", "--virtual-time-budget=5000")
    return [int(width) for width in re.search(r"<title>(\d+) of (\d+)</title>", dom).groups()]


@pytest.fixture(scope="module")
def bench_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "bench.html"
    write_bench_report(path, bench_result(), XTTSConfig())
    return path


@pytest.fixture(scope="module")
def doctor_page(tmp_path_factory):
    """Of a sick pipeline of the gallery, whose name tries to get a script in."""
    path, config = tmp_path_factory.mktemp("browser") / "doctor.html", XTTSConfig()
    config.data.dataset_path = f"/data/{EVIL}"
    write_doctor_report(path, "emulated", judge(Measurements.from_dict(GALLERY[0]["measured"])), None, config)
    return path


def test_a_bench_opens_without_a_complaint_and_shows_the_measured_numbers(bench_page):
    dom, log = browse(CHROMIUM, bench_page, "--dump-dom")
    assert complaints(log) == []
    page, best = Reader(dom), bench_result()["loaders"]["mapped"]
    assert "mapped loader" in page.text["verdict"]
    assert page.text["rate"] == f"{best['utterances_per_s']:,.0f}"
    assert page.text["break-even"] == f"{best['break_even_ms']:.3f}{NBSP}ms"
    assert page.text["useful"] == f"{100 * best['useful_frame_share']:.0f}{NBSP}%"
    assert page.tags.count("script") == page.tags.count("img") == 0  # the cache's name asks for both


def test_a_diagnosis_opens_without_a_complaint_and_shows_the_measured_numbers(doctor_page):
    dom, log = browse(CHROMIUM, doctor_page, "--dump-dom")
    assert complaints(log) == []
    page, measured = Reader(dom), GALLERY[0]["measured"]
    assert page.text["step-ms"] == ms(measured["loop_ms"])
    assert page.text["loader-ms"] == ms(measured["loader_ms"])
    assert page.tags.count("script") == page.tags.count("img") == 0


def test_nothing_is_wider_than_a_phone(run, bench_page, doctor_page):
    for path in (run / "report.html", bench_page, doctor_page):
        content, window = width_of(path)
        assert window == 390
        assert content <= window


def test_dark_and_light_are_two_pictures(run, tmp_path):
    grounds = {}
    for name, flags in {"light": (), "dark": ("--blink-settings=preferredColorScheme=0",)}.items():
        picture = tmp_path / f"{name}.png"
        _, log = browse(CHROMIUM, run / "report.html", f"--screenshot={picture}", "--window-size=390,800", *flags)
        assert complaints(log) == []
        assert struct.unpack(">II", picture.read_bytes()[16:24]) == (390, 800)
        grounds[name] = picture.read_bytes()
    assert grounds["light"] != grounds["dark"]
