"""The one vocabulary: every verdict that a room may give; for each cause what it is, how it shows and what cures it.

Screens, pages, `--fix` and the manual's tables are made of these records. `rules.py` says when a cause applies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from myxtts.config.config import XTTSConfig
from myxtts.machine.process import usable_cores

Settings = dict[str, dict[str, Any]]  # section -> key -> value

PREFETCH = 12  # batches made ahead: what `--fix` sets where there was nothing


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One word for one finding."""

    name: str = field(kw_only=False)
    words: str  # to somebody who has ten seconds; the end of a sentence
    shows: str  # how one can tell
    cure: str  # what to do; {n} is the number that the measurements give


@dataclass(frozen=True, kw_only=True)
class Cause(Verdict):
    """A verdict that says why. `settings` is what cures it in a config, `packs` that a packed corpus does."""

    part: str  # what is to be changed: the loader, the hand-over between loader and step, or the step
    packs: bool = False
    settings: Callable[[XTTSConfig], Settings] = lambda config: {}


HEALTHY = Verdict(
    "healthy",
    words="nothing to mend",
    shows="a step waits less than a tenth of its time for its batch, and no cure would bring 10 %",
    cure="none needed: a faster device would be used",
)
DATA = Verdict(
    "data",
    words="the step waits for its batches",
    shows="a tenth of the time or more is spent waiting; the clock alone does not tell why",
    cure="run 'myxtts doctor --data CACHE' on the same machine, which finds the cause",
)
UNEXPLAINED = Verdict(
    "unexplained",
    words="no known cause applies",
    shows="the loop waits although the loader alone is fast enough",
    cure="see what else runs on this machine: 'myxtts monitor'",
)
UNKNOWN = Verdict(
    "unknown",
    words="too early to judge",
    shows="fewer than 10 steps have been timed",
    cure="let it train longer",
)

_PACK = "pack the corpus once (myxtts pack) and feed it without Python"


def _data(**values: Any) -> Callable[[XTTSConfig], Settings]:
    return lambda config: {"data": values}


def _graph(config: XTTSConfig) -> Settings:
    return {"training": {"enable_graph_mode": True, "enable_eager_debug": False}}


_CAUSES = (
    Cause(
        "python_function",
        part="loader",
        words="Python handles every file",
        shows="py_function, numpy_function or a generator in the dataset, called for every file; they hold the GIL",
        cure=_PACK,
        packs=True,
    ),
    Cause(
        "python_loader",
        part="loader",
        words="Python makes every batch",
        shows="batches are made by Python, in this process or in worker processes",
        cure=_PACK,
        packs=True,
    ),
    Cause(
        "per_file_reads",
        part="loader",
        words="every file is opened by itself",
        shows="the dataset opens a file for each utterance",
        cure="pack the corpus into one mapped file (myxtts pack)",
        packs=True,
    ),
    Cause(
        "slow_disk",
        part="loader",
        words="the disk is slow",
        shows="the loader reads, and waits more than it works",
        cure="pack the corpus into one file on a fast disk (myxtts pack -o) and map it",
        packs=True,
    ),
    Cause(
        "memory_pressure",
        part="loader",
        words="the data does not stay in memory",
        shows="mapped pages are fetched from the disk again and again",
        cure="free memory (data.memory_cache=false), or use a smaller cache (myxtts pack --mode audio)",
        settings=_data(memory_cache=False, enable_memory_mapping=True),
    ),
    Cause(
        "host_features",
        part="loader",
        words="spectra are computed on the processor",
        shows="spectra are computed on the host's cores during training",
        cure="pack mel frames (data.preprocessing_mode=precompute), or make them on the device (on_the_fly)",
        packs=True,
    ),
    Cause(
        "too_few_workers",
        part="loader",
        words="too few workers make batches",
        shows="a stage takes few elements at once while cores are idle",
        cure="let map and interleave run in parallel (data.num_workers={n})",
        packs=True,
        settings=lambda config: {"data": {"num_workers": 2 * usable_cores()}},
    ),
    Cause(
        "host_cores",
        part="loader",
        words="all cores are busy making batches",
        shows="no core is free for more work",
        cure="do this work once, before training (myxtts pack), or on the device",
        packs=True,
    ),
    Cause(
        "slow_loader",
        part="loader",
        words="the loader is slow",
        shows="the loader is slow, and none of the above",
        cure="do this work once, before training (myxtts pack); 'myxtts profile' shows its stages",
        packs=True,
    ),
    Cause(
        "no_prefetch",
        part="hand-over",
        words="loading and computing take turns",
        shows="loading is not hidden behind computing",
        cure="prefetch batches while the step runs (data.prefetch_buffer_size, data.optimize_cpu_gpu_overlap)",
        settings=_data(prefetch_buffer_size=PREFETCH, optimize_cpu_gpu_overlap=True),
    ),
    Cause(
        "oscillation",
        part="hand-over",
        words="batches come in waves",
        shows="batches come in waves, or stop now and then, though fast enough on average",
        cure="make more batches ahead (data.prefetch_buffer_size={n})",
        settings=lambda config: {"data": {"prefetch_buffer_size": 4 * max(config.data.prefetch_buffer_size, PREFETCH)}},
    ),
    Cause(
"eager_step", part="step",
words="the step is not compiled",
shows="the step runs operation by operation",
cure="compile the step with tf.function (training.enable_graph_mode)",
settings=_graph,
),
    Cause(
"retracing", part="step",
words="the step is traced again and again",
shows="the step is traced while training, for new shapes or for Python values that change",
cure="give batches a few static shapes (data.num_buckets), pass numbers that change as tensors, and make the "
        "compiled function once",
settings=_graph,
),
    Cause(
"recompilation", part="step",
words="shapes are compiled during training",
shows="batches of new shapes take far longer, since the step is compiled for them",
cure="plan a few static shapes for all data (data.num_buckets), which are compiled before the first step",
settings=lambda config: {"training": {"enable_xla_compilation": False}},
),
    Cause(
"padding_waste", part="step",
words="much of every batch is padding",
shows="many positions of a batch are padding",
cure="batch utterances of similar length (planned buckets: data.num_buckets)",
packs=True,
settings=lambda config: {
            "data": {"num_buckets": min(max(8, 2 * config.data.num_buckets), 64), "frame_budget": None}
        },
),
    Cause(
"tiny_batch", part="step",
words="the batch is too small for the device",
shows="a batch of twice the size hardly takes longer",
cure="a larger batch (data.batch_size={n})",
settings=lambda config: {"data": {"batch_size": 2 * config.data.batch_size}},
),
)  # fmt: skip

CAUSES: dict[str, Cause] = {cause.name: cause for cause in _CAUSES}
VERDICTS: dict[str, Verdict] = {each.name: each for each in (HEALTHY, DATA, UNEXPLAINED, UNKNOWN)} | CAUSES
