"""From measurements to a verdict: what limits the loop, how we know, what each cure would bring.

    print(diagnose(dataset, step))      # any tf.data.Dataset, Python iterable or PyTorch DataLoader; any step function

Every rule (`rules.py`) whose cause (`causes.py`) applies predicts the loop time that its cure would leave. The verdict
is the cause whose cure brings most; `judge` is pure: measurements in, verdict out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from myxtts.doctor.causes import CAUSES, HEALTHY, UNEXPLAINED
from myxtts.doctor.measurements import Measurements
from myxtts.doctor.observe import MOST_BATCHES, Progress, observe
from myxtts.doctor.rules import RULES, Cure, compiles, loop_after
from myxtts.doctor.structure import Structure
from myxtts.thresholds import HAND_OVER_MS, STALLED, WORTH_IT


@dataclass
class Diagnosis:
    """The verdict and everything it rests on. Printing it gives one screen."""

    verdict: str
    limiting: str
    evidence: list[str]
    cures: list[Cure]
    shares: dict[str, float]
    rates: dict[str, float]
    utterances_per_second: float
    utilisation: float
    measured: Measurements = field(repr=False)

    @property
    def healthy(self) -> bool:
        return self.verdict == HEALTHY.name

    def predicted(self, cure: Cure) -> dict[str, float]:
        return {
            "utterances_per_second": self.measured.batch / cure.predicted_ms * 1e3,
            "gain": self.measured.loop_ms / cure.predicted_ms,
            "utilisation": min(self.measured.device_ms / cure.predicted_ms, 1.0),
        }

    def to_dict(self) -> dict[str, Any]:
        cures = [asdict(cure) | self.predicted(cure) for cure in self.cures]
        return {
            "verdict": self.verdict,
            "limiting": self.limiting,
            "healthy": self.healthy,
            "evidence": self.evidence,
            "cures": cures,
            "shares": self.shares,
            "rates": self.rates,
            "utterances_per_second": self.utterances_per_second,
            "utilisation": self.utilisation,
            "measured": self.measured.to_dict(),
        }

    def __str__(self) -> str:
        measured = self.measured
        lines = [
            f"verdict: {self.verdict.replace('_', ' ')} ({self.limiting})",
            f"  now      {self.utterances_per_second:,.0f} utterances/s, device used {self.utilisation:.0%}, "
            f"{measured.loop_ms:.1f} ms a step = {measured.wait_ms:.1f} waiting + {measured.compute_ms:.1f} computing",
            f"  alone    device {measured.device_ms:.1f} ms, loader {measured.loader_ms:.1f} ms "
            f"on {measured.loader_cores:.1f} of {measured.cores} cores",
            "  shares   " + ", ".join(f"{name} {share:.0%}" for name, share in self.shares.items() if share >= 0.005),
        ]
        if measured.first_batch_ms > max(2000.0, 10 * measured.loader_ms):
            lines.append(f"  start    the first batch came after {measured.first_batch_ms / 1e3:.0f} s")
        lines += [f"  because  {line}" for line in self.evidence]
        return "\n".join(lines + [self._line(number, cure) for number, cure in enumerate(self.cures, 1)])

    def _line(self, number: int, cure: Cure) -> str:
        then = self.predicted(cure)
        return (
            f"  cure {number}   {cure.what}: {then['utterances_per_second']:,.0f} utterances/s "
            f"({then['gain']:.1f}x), device used {then['utilisation']:.0%}"
        )


def diagnose(
    data: Iterable[Any],
    step: Callable[[Any], Any],
    progress: Progress = lambda what: None,
    structure: Structure | None = None,
    most_batches: int = MOST_BATCHES,
) -> Diagnosis:
    """Measure for about 15 seconds, then judge. The step is really called: give it a model that may be trained."""
    return judge(observe(data, step, progress, structure, most_batches))


def judge(measured: Measurements) -> Diagnosis:
    """The pure part: measurements in, verdict out."""
    # Rules say what is left of a loop that the same arithmetic gives for now: what it does not know stays in proportion
    unknown = measured.loop_ms / loop_after(measured)
    cures = [replace(cure, predicted_ms=cure.predicted_ms * unknown) for rule in RULES for cure in rule(measured)]
    cures = sorted((c for c in cures if measured.loop_ms / c.predicted_ms >= WORTH_IT), key=lambda c: c.predicted_ms)
    worst = cures[0] if cures else None
    return Diagnosis(
        verdict=worst.cause if worst else (UNEXPLAINED if _waits(measured) else HEALTHY).name,
        limiting=_limiting(measured, worst),
        evidence=list(worst.evidence) if worst else _without_cure(measured),
        cures=cures,
        shares=shares_of(measured),
        rates=rates_of(measured),
        utterances_per_second=measured.batch / measured.loop_ms * 1e3,
        utilisation=min(measured.device_ms / measured.loop_ms, 1.0),
        measured=measured,
    )


# ---- what the screen shows ------------------------------------------------------------------------------------------


def _limiting(measured: Measurements, worst: Cure | None) -> str:
    if worst is not None:
        return "the step" if CAUSES[worst.cause].part == "step" else "the loader"
    if _waits(measured):
        return "something that was not measured"
    return "the device" if measured.device_ms >= measured.loader_ms else "the loader, by less than a cure would bring"


def _waits(measured: Measurements) -> bool:
    return measured.wait_ms > max(STALLED * measured.loop_ms, HAND_OVER_MS)


def _without_cure(measured: Measurements) -> list[str]:
    if _waits(measured):
        return [
            f"a batch is waited for {measured.wait_ms:.1f} ms, though the loader alone takes "
            f"{measured.loader_ms:.1f} ms and "
            f"{UNEXPLAINED.words}: {UNEXPLAINED.cure}"
        ]
    share = measured.wait_ms / measured.loop_ms
    return [f"the step waits {share:.1%} of its time for its batch, and no cure would bring {WORTH_IT - 1:.0%}"]


def rates_of(measured: Measurements) -> dict[str, float]:
    """Utterances per second that each part could do by itself; of a dataset's stages on one core each."""
    alone = {"device": measured.device_ms, "loader": measured.loader_ms, "loop": measured.loop_ms}
    alone |= {f"stage {name}": ms for name, ms in measured.stages.items()}
    return {name: measured.batch / ms * 1e3 for name, ms in alone.items() if ms > 0}


def shares_of(measured: Measurements) -> dict[str, float]:
    """Where a step's time goes, summing to 1: useful computing, padding, compiling, waiting for each loader stage."""
    useful = measured.useful_share if measured.useful_share is not None else 1.0
    steady = min(measured.device_ms, measured.compute_ms)
    slower = "compiling" if compiles(measured) else "computing slower than alone"
    shares = {"computing": steady * useful, "padding": steady * (1 - useful), slower: measured.compute_ms - steady}
    spent = sum(measured.stages.values())
    stages = {f"waiting for {name}": ms / spent for name, ms in measured.stages.items()} if spent else {"waiting": 1.0}
    shares |= {name: measured.wait_ms * share for name, share in stages.items()}
    total = sum(shares.values())
    return {name: value / total for name, value in sorted(shares.items(), key=lambda item: -item[1])}
