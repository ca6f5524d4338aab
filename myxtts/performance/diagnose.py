"""From measurements to a verdict: what limits the loop, how we know, what each cure would bring.

    print(diagnose(dataset, step))      # any tf.data.Dataset, Python iterable or PyTorch DataLoader; any step function

Every possible cause (`causes.py`) names the loop time that its cure would leave. The verdict is the cause whose cure
brings most; `judge` is pure: measurements in, verdict out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from myxtts.performance.causes import ON_THE_STEP, RULES, Cure, compiles, loop_after
from myxtts.performance.measurements import Measurements
from myxtts.performance.observe import MOST_BATCHES, Progress, observe
from myxtts.performance.structure import Structure

WORTH_IT = 1.10  # a predicted gain below ten per cent is within the noise of a shared machine
_UNEXPLAINED_SHARE, _UNEXPLAINED_MS = 0.15, 1.0  # of waiting that no rule explains: more than a hand-over costs


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
        return self.verdict == "healthy"

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
        found = self.measured
        lines = [
            f"verdict: {self.verdict.replace('_', ' ')} ({self.limiting})",
            f"  now      {self.utterances_per_second:,.0f} utterances/s, device used {self.utilisation:.0%}, "
            f"{found.loop_ms:.1f} ms a step = {found.wait_ms:.1f} waiting + {found.compute_ms:.1f} computing",
            f"  alone    device {found.device_ms:.1f} ms, loader {found.loader_ms:.1f} ms on {found.loader_cores:.1f} "
            f"of {found.cores} cores",
            "  shares   " + ", ".join(f"{name} {share:.0%}" for name, share in self.shares.items() if share >= 0.005),
        ]
        if found.first_batch_ms > max(2000.0, 10 * found.loader_ms):
            lines.append(f"  start    the first batch came after {found.first_batch_ms / 1e3:.0f} s")
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


def judge(found: Measurements) -> Diagnosis:
    """The pure part: measurements in, verdict out."""
    # Rules say what is left of a loop that the same arithmetic gives for now: what it does not know stays in proportion
    unknown = found.loop_ms / loop_after(found)
    cures = [replace(cure, predicted_ms=cure.predicted_ms * unknown) for rule in RULES for cure in rule(found)]
    cures = sorted((c for c in cures if found.loop_ms / c.predicted_ms >= WORTH_IT), key=lambda c: c.predicted_ms)
    worst = cures[0] if cures else None
    return Diagnosis(
        verdict=worst.cause if worst else "unexplained" if _waits(found) else "healthy",
        limiting=_limiting(found, worst),
        evidence=list(worst.evidence) if worst else _without_cure(found),
        cures=cures,
        shares=shares_of(found),
        rates=rates_of(found),
        utterances_per_second=found.batch / found.loop_ms * 1e3,
        utilisation=min(found.device_ms / found.loop_ms, 1.0),
        measured=found,
    )


# ---- what the screen shows ------------------------------------------------------------------------------------------


def _limiting(found: Measurements, worst: Cure | None) -> str:
    if worst is not None:
        return "the step" if worst.cause in ON_THE_STEP else "the loader"
    if _waits(found):
        return "something that was not measured"
    return "the device" if found.device_ms >= found.loader_ms else "the loader, by less than a cure would bring"


def _waits(found: Measurements) -> bool:
    return found.wait_ms > max(_UNEXPLAINED_SHARE * found.loop_ms, _UNEXPLAINED_MS)


def _without_cure(found: Measurements) -> list[str]:
    if _waits(found):
        return [
            f"a batch is waited for {found.wait_ms:.1f} ms, though the loader alone takes {found.loader_ms:.1f} ms and "
            "no known cause applies: see what else runs on this machine"
        ]
    share = found.device_ms / found.loop_ms
    return [f"the device works {min(share, 1):.0%} of the time, and no cure would bring {WORTH_IT - 1:.0%}"]


def rates_of(found: Measurements) -> dict[str, float]:
    """Utterances per second that each part could do by itself; of a dataset's stages on one core each."""
    alone = {"device": found.device_ms, "loader": found.loader_ms, "loop": found.loop_ms}
    alone |= {f"stage {name}": ms for name, ms in found.stages.items()}
    return {name: found.batch / ms * 1e3 for name, ms in alone.items() if ms > 0}


def shares_of(found: Measurements) -> dict[str, float]:
    """Where a step's time goes, summing to 1: useful computing, padding, compiling, waiting for each loader stage."""
    useful = found.useful_share if found.useful_share is not None else 1.0
    steady = min(found.device_ms, found.compute_ms)
    slower = "compiling" if compiles(found) else "computing slower than alone"
    shares = {"computing": steady * useful, "padding": steady * (1 - useful), slower: found.compute_ms - steady}
    spent = sum(found.stages.values())
    stages = {f"waiting for {name}": ms / spent for name, ms in found.stages.items()} if spent else {"waiting": 1.0}
    shares |= {name: found.wait_ms * share for name, share in stages.items()}
    total = sum(shares.values())
    return {name: value / total for name, value in sorted(shares.items(), key=lambda item: -item[1])}
