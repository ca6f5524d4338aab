"""The doctor for a configuration: the pipeline it would run is built, measured and judged; `fix` writes a better one.

Nothing of the user's is changed: a cure goes into a new config file, a packed cache beside the corpus.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from myxtts.cache.manifest import is_cache
from myxtts.cache.open import open_or_pack
from myxtts.config.config import XTTSConfig
from myxtts.data.starting_points import for_this_machine
from myxtts.doctor.causes import CAUSES, PREFETCH
from myxtts.doctor.configured import data_path, hold, pipeline_of, real_step
from myxtts.doctor.diagnosis import Diagnosis, diagnose
from myxtts.doctor.observe import MOST_BATCHES, Progress
from myxtts.doctor.rules import Cure

EMULATED_MS = 10.0


@dataclass
class Treatment:
    """What was found, what was done, and what it brought."""

    before: Diagnosis
    cure: Cure
    config_file: Path
    after: Diagnosis

    @property
    def predicted_gain(self) -> float:
        return self.before.predicted(self.cure)["gain"]

    @property
    def achieved_gain(self) -> float:
        return self.after.utterances_per_second / self.before.utterances_per_second

    def to_dict(self) -> dict[str, Any]:
        return {
            "config": str(self.config_file),
            "cure": self.cure.what,
            "predicted_gain": self.predicted_gain,
            "achieved_gain": self.achieved_gain,
            "after": self.after.to_dict(),
        }

    def __str__(self) -> str:
        rows = [("now", self.before), ("then", self.after)]
        lines = [f"{'':<8}{'utterances/s':>14}{'device used':>13}{'waiting ms':>12}"]
        lines += [
            f"{name:<8}{diagnosis.utterances_per_second:>14,.0f}{diagnosis.utilisation:>13.0%}{diagnosis.measured.wait_ms:>12.1f}"
            for name, diagnosis in rows
        ]
        lines.append(f"gain predicted {self.predicted_gain:.1f}x, achieved {self.achieved_gain:.1f}x")
        lines.append(f"the cured settings are in {self.config_file}")
        return "\n".join(lines)


def examine(
    config: XTTSConfig,
    step_ms: float | None = EMULATED_MS,
    progress: Progress = lambda _: None,
    most_batches: int = MOST_BATCHES,
) -> Diagnosis:
    """Measure the pipeline that a config describes, with an emulated accelerator or, for None, the real step."""
    progress("data")
    data, structure = pipeline_of(config)
    step = hold(step_ms) if step_ms is not None else real_step(config)
    return diagnose(data, step, progress, structure, most_batches)


def treat(
    config: XTTSConfig, diagnosis: Diagnosis, file: Path, step_ms: float | None, progress: Progress = lambda _: None
) -> Treatment | None:
    """Apply the best cure that settings can bring to a new config file, measure again. None if they can bring none."""
    config = for_this_machine(config)  # as it was examined
    for cure in diagnosis.cures:
        cured = apply(config, cure.cause, progress)
        if cured != config:
            cured.to_yaml(file, given_only=True)
            return Treatment(diagnosis, cure, file, examine(cured, step_ms, progress))
    return None


def apply(config: XTTSConfig, cause: str, progress: Progress = lambda what: None) -> XTTSConfig:
    """The config with a cure in it, or unchanged. Packing alone makes files: the cache beside the corpus."""
    known = CAUSES[cause]
    if known.packs and not is_cache(data_path(config)):
        progress("pack")
        return _changed(config, data=_packed(config))
    return _changed(config, **known.settings(config))


def _changed(config: XTTSConfig, **parts: dict[str, Any]) -> XTTSConfig:
    return dataclasses.replace(
        config, **{name: dataclasses.replace(getattr(config, name), **values) for name, values in parts.items()}
    )


def _packed(config: XTTSConfig) -> dict[str, Any]:
    """Pack the corpus and say so in the settings."""
    cache = open_or_pack(data_path(config), config, mode="precompute")
    return {"dataset_path": str(cache.folder), "preprocessing_mode": "precompute", "prefetch_buffer_size": PREFETCH}
