"""The doctor's page, from recorded measurements: the gallery's sick pipelines, and one cure that was tried."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from reading import Reader
from test_report import EVIL, NBSP, assert_harmless

from myxtts.cli import main
from myxtts.config.config import XTTSConfig
from myxtts.doctor.causes import VERDICTS
from myxtts.doctor.diagnosis import judge
from myxtts.doctor.measurements import Measurements
from myxtts.doctor.treatment import Treatment
from myxtts.machine.sampler import MachineSampler
from myxtts.report.doctor import write_doctor_report

GALLERY = json.loads((Path(__file__).parents[1] / "doctor" / "gallery.json").read_text())


def page_of(tmp_path, diagnosis, done=None, samples=()):
    config = XTTSConfig()
    config.data.dataset_path = f"/data/{EVIL}"
    write_doctor_report(tmp_path / "doctor.html", f"emulated {EVIL}", diagnosis, done, config, samples, {"cpu": EVIL})
    return assert_harmless((tmp_path / "doctor.html").read_text())


@pytest.mark.parametrize(
    "case", [case for case in GALLERY if case["verdict"] != "healthy"], ids=lambda case: case["case"]
)
def test_every_sick_pipeline_has_a_sentence_and_its_prediction(case, tmp_path):
    diagnosis = judge(Measurements.from_dict(case["measured"]))
    page = page_of(tmp_path, diagnosis)
    assert page.text["verdict"].endswith(f" {VERDICTS[diagnosis.verdict].words}.")
    gain = diagnosis.predicted(diagnosis.cures[0])["gain"]
    assert (f"{gain:.1f}×" if gain < 9.95 else f"{gain:,.0f}×") in page.text["cures"]
    assert page.text["rate"] in (f"{diagnosis.utterances_per_second:,.0f}", f"{diagnosis.utterances_per_second:.1f}")


def test_predicted_stands_against_achieved(tmp_path):
    sick = Measurements.from_dict(GALLERY[0]["measured"])
    cured = replace(sick, loop_ms=8.9, wait_ms=0.1, compute_ms=8.8, loader_ms=0.6, intervals_ms=[0.6] * 40, stages={})
    before, after = judge(sick), judge(cured)
    done = Treatment(before, before.cures[0], Path(f"{EVIL}.yaml"), after)
    samples = [{"at": 1000.0 + n, "cpu_percent": 50.0 + n, "core_percent": [1, 2]} for n in range(5)]
    page = page_of(tmp_path, before, done, samples)
    rows = page.text["treatment"]
    assert f"predicted{before.predicted(done.cure)['utterances_per_second']:,.0f}{done.predicted_gain:.1f}×" in rows
    assert f"achieved{after.utterances_per_second:,.0f}{done.achieved_gain:.1f}×" in rows
    assert any(
        value.startswith(f"CPU,{NBSP}%: all cores from 50")
        for _, name, value in page.attributes
        if name == "aria-label"
    )


def test_a_healthy_pipeline_is_told_so(tmp_path):
    sick = Measurements.from_dict(GALLERY[0]["measured"])
    healthy = replace(sick, loop_ms=8.3, wait_ms=0.1, compute_ms=8.2, loader_ms=0.6, intervals_ms=[], stages={})
    diagnosis = judge(healthy)
    page = page_of(tmp_path, diagnosis)
    assert page.text["verdict"] == f"The step waited 1.2{NBSP}% of its time for data."
    assert Reader((tmp_path / "doctor.html").read_text()).text.get("cures") is None


def test_the_verb_watches_the_machine_and_writes_the_page(tmp_path, monkeypatch, capsys):
    diagnosis = judge(Measurements.from_dict(GALLERY[0]["measured"]))

    made = []

    class QuickSampler(MachineSampler):
        def __init__(self, monitor, interval_seconds):
            super().__init__(monitor, interval_seconds / 50)
            made.append(self)

    def examine(config, step_ms, progress):
        progress("data")
        while len(made[0].samples) < 2:
            time.sleep(0.01)
        return diagnosis

    monkeypatch.setattr("myxtts.machine.sampler.MachineSampler", QuickSampler)
    monkeypatch.setattr("myxtts.doctor.treatment.examine", examine)
    words = ["doctor", "--data", str(tmp_path), "--step-ms", "10", "--html", str(tmp_path / "d.html"), "--json"]
    assert main(words) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == diagnosis.verdict
    page = Reader((tmp_path / "d.html").read_text())
    assert page.text["utilisation"] == f"{100 * diagnosis.utilisation:.0f}{NBSP}%"
    assert any(value.startswith(f"CPU,{NBSP}%") for _, name, value in page.attributes if name == "aria-label")
