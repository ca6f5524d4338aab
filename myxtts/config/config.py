"""Every setting of MyXTTS, its default and its check; YAML in and out.

A config file has three sections, `data`, `model` and `training`. Precedence, lowest first: the defaults below,
a preset (`--preset`), a file (`--config`), single keys (`--set data.batch_size=48`), a verb's own flags.
Each section knows which of its keys were given and where: `config.data.given`.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import yaml

from myxtts.config.settings import PRESET, Settings, nearest, setting
from myxtts.errors import ConfigError
from myxtts.files import read_regular, write_whole


@dataclass
class DataConfig(Settings):
    section = "data"

    dataset_path: str | None = setting(None, "Corpus folder, manifest file or cache to train on.")
    layout: str = setting("auto", "How the corpus is laid out: auto, or a name that 'myxtts check --help' lists.")
    speaker_pattern: str | None = setting(None, "Regular expression with (?P<speaker>...) for the path of each file.")
    speaker: str = setting("speaker", "Speaker of rows that name none.")
    language: str = setting("en-us", "Language of rows that name none (an eSpeak code such as en-us, fa, cmn).")

    trim_silence: bool = setting(True, "Cut silence from both ends of a clip.")
    trim_db: float = setting(45.0, "What lies this far below the clip's loudest frame is silence.", 10, 120)
    loudness_lufs: float | None = setting(None, "Bring each clip to this loudness (BS.1770); null leaves it.", -60, -5)
    min_seconds: float = setting(0.2, "A shorter clip is rejected.", 0)
    max_seconds: float = setting(40.0, "A longer clip is rejected.", 0.1, 6000)

    text_tokens: str = setting("phonemes", "What a token is.", choices=("phonemes", "characters"))
    normalise_text: bool = setting(True, "Read numbers, dates, money, units and abbreviations in words.")
    lexicon: str | list | None = setting(
        None, "Words and how they are said: a file, or a list of [language, word, said]. Null: what a cache has."
    )
    english_phonemes: str = setting(
        "auto",
        "Who makes English phonemes: espeak, misaki (without eSpeak, extra phonemes-en), or auto (what is installed).",
        choices=("auto", "espeak", "misaki"),
    )
    text_stress: bool = setting(True, "Keep stress marks among phonemes.")
    text_bos: bool = setting(True, "Begin each token sequence with <bos>.")
    text_eos: bool = setting(True, "End each token sequence with <eos>.")
    text_blank: bool = setting(False, "Put <blank> between tokens.")
    token_table: str | None = setting(
        None, "Token table to start from: a file or a cache. Null starts from the table of the package."
    )

    preprocessing_mode: str = setting(
        "precompute",
        "precompute packs mel frames; on_the_fly packs audio only, the device makes the mel; auto takes what there is.",
        choices=("precompute", "on_the_fly", "auto"),
    )
    batch_size: int = setting(56, "Utterances per step, over all replicas.", 1, 65536)
    num_buckets: int = setting(8, "At most this many batch shapes.", 1, 64)
    frame_budget: int | str | None = setting(
        None,
        "Padded frames per batch: short utterances come in larger batches. auto: as many as the device's memory holds, "
        "found before the first step. Null keeps batch_size constant.",
        16,
        choices=("auto",),
    )
    speaker_temperature: float = setting(1.0, "1 draws speakers as often as they occur, 5 lifts rare ones.", 1, 1e6)
    language_temperature: float = setting(1.0, "1 draws languages as often as they occur, 5 lifts rare ones.", 1, 1e6)
    reference_frames: int = setting(
        176, "Length of the clip that shows the voice, 86 frames a second; 0: none.", 0, 4096
    )
    max_mel_frames: int = setting(1720, "Longer utterances are left out of training, and reported.", 16, 65536)
    num_workers: int = setting(
        18, "Files read at once from a corpus that is not packed; threads of the pipeline (16 at most).", 1, 1024
    )
    prefetch_buffer_size: int = setting(12, "Batches made ahead of the step.", 0, 4096)
    shuffle_buffer_multiplier: int = setting(20, "Without a cache: shuffle in a buffer of this many batches.", 1, 10000)
    enable_memory_mapping: bool = setting(True, "Map the cache instead of reading it into memory.")
    cache_verification: bool = setting(True, "Check a cache's index when it is opened, and its tokens before training.")
    memory_cache: bool = setting(False, "Keep in memory: the whole cache, or what was decoded of single files.")
    use_tf_native_loading: bool = setting(
        True, "Without a cache: let TensorFlow read plain wavs and the device make the mel. Off: Python."
    )
    enhanced_gpu_prefetch: bool = setting(True, "Prefetch two batches onto the device, not one.")
    optimize_cpu_gpu_overlap: bool = setting(True, "Prefetch on the host while the device computes.")
    prefetch_to_gpu: bool = setting(True, "Copy batches to the device ahead of the step.")
    shuffle_shards: int = setting(8, "Of a cache in shards, this many are shuffled together.", 1, 1_000_000)
    mirror_dir: str | None = setting(
        None, "Where shards of a cache at an address are kept; null: ~/.cache/myxtts/mirrors."
    )
    mirror_gb: float = setting(50.0, "Keep at most this much of a cache at an address on this machine.", 0.001, 1e6)
    auto_tune_performance: bool = setting(
        True,
        "Let the hardware decide workers, prefetch, batch size and buckets that were not given; try other feed "
        "settings where the first steps wait for data.",
    )
    auto_rebuild_token_cache: bool = setting(True, "Repack when the text settings no longer fit the cache.")
    auto_rebuild_mel_cache: bool = setting(True, "Repack when the audio settings no longer fit the cache.")


@dataclass
class ModelConfig(Settings):
    section = "model"

    part: str = setting("voice", "What is trained: the voice, or the vocoder that makes sound of its frames.",
                        choices=("voice", "vocoder"))  # fmt: skip
    size: str = setting("tiny", "About 3-6 M, 20 M or 70 M parameters.", choices=("tiny", "small", "normal"))


@dataclass
class TrainingConfig(Settings):
    section = "training"

    run_dir: str | None = setting(None, "Where a run keeps its checkpoints and log; null: runs/NAME of the data.")
    seed: int = setting(0, "Decides the order of the batches and every random draw.", 0, 2**31 - 1)
    epochs: int | None = setting(None, "Stop after this many epochs.", 1)
    steps: int | None = setting(None, "Stop after this many steps; 20000 if no end is named.", 1)
    minutes: float | None = setting(None, "Stop after this many minutes of training.", 0.01)

    start_from: str | None = setting(
        None,
        "A model to start from; null: the base voice for less than two hours of speech; scratch: none. For a "
        "vocoder: another one, or the voice on whose own frames the one that ships is trained on.",
    )
    learning_rate: float = setting(1.5e-3, "The highest learning rate, after warm-up.", 1e-7, 1.0)
    schedule: str = setting("cosine", "How it falls after warm-up.", choices=("cosine", "noam", "constant"))
    warmup_steps: int = setting(150, "Steps in which it rises.", 0)
    learning_rate_floor: float = setting(0.02, "It never falls below this share of the highest.", 0, 1)
    beta1: float = setting(0.9, "Adam's memory of gradients.", 0, 0.9999)
    beta2: float = setting(0.98, "Adam's memory of squared gradients.", 0, 0.99999)
    clip_norm: float = setting(1.0, "Longer gradients are shortened to this norm; 0: never.", 0)
    ema_decay: float = setting(0.998, "Memory of the averaged weights, which speak and are validated.", 0, 0.99999)
    start_share: float = setting(
        0.0,
        "How much of the averaged weights remains what training started from; 'myxtts train' keeps 0.4 of a model that "
        "reads the same kind of symbols.",
        0,
        0.95,
    )
    gradient_accumulation_steps: int = setting(1, "Batches whose gradients make one update.", 1, 4096)

    devices: int | str = setting(
        "all", "Which GPUs train together: all, how many, or their numbers such as 0,2.", 1, 1024
    )
    worker_deadline_seconds: float = setting(
        45.0, "With several workers: one that is silent or stuck for longer ends the run for all.", 5, 86400
    )
    vary_voices: float = setting(
        0.0,
        "Share of the clips that are heard in another colour, with their reference; nearly as many references get "
        "noise. For a base that shall follow voices unlike those it learns from.",
        0,
        1,
    )
    precision: str = setting(
        "auto",
        "What the model computes in. auto: bfloat16 where the hardware computes in it, float16 on older GPUs.",
        choices=("auto", "float32", "bfloat16", "float16"),
    )
    deterministic: bool = setting(False, "The same bits on every run on the same machine; somewhat slower.")
    enable_graph_mode: bool = setting(True, "Compile the step with tf.function.")
    enable_xla_compilation: bool = setting(False, "Compile the step with XLA.")
    enable_eager_debug: bool = setting(False, "Run the step eagerly, to step through it.")

    validation_steps: int = setting(500, "Validate every so many steps; the end of a run always is.", 1)
    early_stopping: int | None = setting(None, "Stop after this many validations without a better one.", 1)
    checkpoint_minutes: float = setting(3.0, "Save at least this often: the most that a crash can cost.", 0.01)
    keep_checkpoints: int = setting(3, "Keep this many of the newest, and the best.", 1)
    sample_steps: int = setting(1000, "Every so many steps speak two sentences and draw them; 0: never.", 0)
    evaluation_steps: int | None = setting(
        None,
        "Every so many steps ask the judges of 'evaluate'; 0: never. Where it is not given, a voice that starts from "
        "another is heard every 1,000 steps by those who would notice that it becomes worse.",
        0,
    )
    best_by: str = setting("mel_error", "What the best checkpoint is best at: mel_error, or a number of 'evaluate'.")
    max_bad_steps: int = setting(
        5, "After more steps than this in a row without a finite gradient, return to the last checkpoint.", 1
    )


@dataclass
class XTTSConfig:
    """The whole configuration: `config.data.batch_size`, `config.model.size`, `config.training.seed`."""

    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any] | None, sources: Mapping[str, Mapping[str, str]] | None = None
    ) -> XTTSConfig:
        """`sources` says, section by section, where each value was given; without it that is Python."""
        made: dict[str, Any] = {}
        for name, section in _sections(values).items():
            made[name] = _SECTIONS[name].from_dict(section, None if sources is None else sources.get(name, {}))
        return cls(**made)

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> XTTSConfig:
        return load(path)

    def to_dict(self, given_only: bool = False) -> dict[str, dict[str, Any]]:
        """Section by section; with `given_only` what was given, so that the rest is decided anew where it is loaded."""
        sections = {name: getattr(self, name) for name in _SECTIONS}
        return {
            name: {key: value for key, value in section.to_dict().items() if key in section.given or not given_only}
            for name, section in sections.items()
        }

    def to_yaml(self, path: str | os.PathLike[str] | None = None, given_only: bool = False) -> str:
        """The configuration as YAML; with a path it is also written there, whole or not at all."""
        text = yaml.safe_dump(self.to_dict(given_only), sort_keys=False, allow_unicode=True)
        if path is not None:
            write_whole(path, text.encode())
        return text


def to_commented_yaml(config: XTTSConfig) -> str:
    """Every key: those that were given with where, the others as comments that stand for themselves."""
    lines = []
    for name, values in config.to_dict().items():
        given = getattr(config, name).given
        lines.append(f"{name}:")
        for key, value in values.items():
            line = f"{key}: {in_yaml(value)}"
            lines.append(f"  {line}  # {given[key]}" if key in given else f"  # {line}")
    return "\n".join(lines) + "\n"


def in_yaml(value: Any) -> str:
    """One setting's value, on one line."""
    text = yaml.safe_dump(value, allow_unicode=True, width=1 << 20).removesuffix("...\n").strip()
    return json.dumps(value, ensure_ascii=False) if "\n" in text else text  # JSON is YAML


_SECTIONS: dict[str, type[Settings]] = {"data": DataConfig, "model": ModelConfig, "training": TrainingConfig}


def load(
    path: str | os.PathLike[str] | None = None, preset: str | None = None, overrides: Iterable[str] = ()
) -> XTTSConfig:
    """Defaults, then the preset, then the file, then `section.key=value` overrides; and where each was given."""
    layers: list[tuple[str, dict[str, Any]]] = []
    if preset is not None:
        layers.append((f"{PRESET}{preset}", _preset(preset)))
    if path is not None:
        layers.append((os.fspath(path), _read_file(path)))
    layers.append(("--set", _sections(_parse_overrides(overrides))))
    values: dict[str, dict[str, Any]] = {}
    sources: dict[str, dict[str, str]] = {}
    for source, sections in layers:
        for name, keys in sections.items():
            values.setdefault(name, {}).update(keys)
            sources.setdefault(name, {}).update(dict.fromkeys(keys, source))
    return XTTSConfig.from_dict(values, sources)


def _read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The sections of a file, checked here so that an error names the file."""
    values = read_yaml(path)
    try:
        sections = _sections(values)
        XTTSConfig.from_dict(sections)
    except ConfigError as error:
        raise ConfigError(f"{os.fspath(path)}: {error}") from None
    return sections


def _sections(values: Any) -> dict[str, Any]:
    """A file's content as sections, with batch_size where it belongs."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ConfigError(f"found {type(values).__name__}, expected the sections {', '.join(_SECTIONS)}")
    for name in values:
        if name not in _SECTIONS:
            raise ConfigError(f"'{name}' is not a section{nearest(str(name), _SECTIONS)}")
    sections = {name: dict(values[name] or {}) if _is_table(values[name]) else values[name] for name in values}
    _move_batch_size(sections)
    return sections


_MOST_BYTES = 1 << 20  # of a file; ours have 3 kB, and a list of words may stand in one


class _Loader(yaml.SafeLoader):
    """The safe loader, for which 1e-4 is a number, as in YAML 1.2; YAML 1.1 wants 1.0e-4 and takes this for a text."""


def _without_repeats(loader: _Loader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    """YAML forbids a key twice; PyYAML takes the last and says nothing."""
    seen: set[Any] = set()
    for key, _ in node.value:
        name = getattr(key, "value", None)
        if isinstance(name, str) and name in seen and key.tag != "tag:yaml.org,2002:merge":
            raise yaml.constructor.ConstructorError(
                None, None, f"'{name}' stands there twice: keep one of them", key.start_mark
            )
        seen.add(name if isinstance(name, str) else None)
    loader.flatten_mapping(node)
    return yaml.constructor.BaseConstructor.construct_mapping(loader, node, deep)


_Loader.construct_mapping = _without_repeats  # type: ignore[method-assign, assignment]
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"), [*"-+0123456789"])


def read_yaml(path: str | os.PathLike[str]) -> Any:
    try:
        return yaml.load(_content(path).decode(), _Loader)
    except OSError as error:
        raise ConfigError(f"cannot read {os.fspath(path)}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date in month 13, a number of 5,000 digits
        raise ConfigError(f"{os.fspath(path)} is not YAML: {_said(error)}") from None


def _content(path: str | os.PathLike[str]) -> bytes:
    if not os.fspath(path).startswith(("/dev/fd/", "/dev/stdin")):  # a run in /dev/shm is a stranger's as any other
        return read_regular(path, _MOST_BYTES)
    with open(path, "rb") as file:  # --config <(...): the user's own, and not in a run that somebody else has sent
        return file.read(_MOST_BYTES)


def _said(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def preset_names() -> list[str]:
    return sorted(item.name[:-5] for item in _presets().iterdir() if item.name.endswith(".yaml"))


def _presets() -> Any:
    return resources.files("myxtts.config") / "presets"


def _preset(name: str) -> dict[str, dict[str, Any]]:
    if name not in preset_names():
        raise ConfigError(f"'{name}' is not a preset{nearest(name, preset_names())}")
    return yaml.safe_load((_presets() / f"{name}.yaml").read_text(encoding="utf-8"))


def _parse_overrides(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (equals and dot and key):
            raise ConfigError(f"--set {text}: expected section.key=value, for example --set data.batch_size=48")
        try:
            values.setdefault(section, {})[key] = yaml.load(value, _Loader)
        except (yaml.YAMLError, ValueError, RecursionError):
            raise ConfigError(f"--set {text}: '{value}' is not a YAML value; quote it") from None
    return values


def _is_table(value: Any) -> bool:
    return value is None or isinstance(value, Mapping)


def _move_batch_size(sections: dict[str, Any]) -> None:
    """Older files have batch_size under training; it decides the order of the data, so it belongs under data."""
    training = sections.get("training")
    if not isinstance(training, dict) or "batch_size" not in training:
        return
    old = training.pop("batch_size")
    data = sections.setdefault("data", {})
    new = data.setdefault("batch_size", old) if isinstance(data, dict) else old
    if new != old:
        raise ConfigError(
            f"batch_size is {new} under data and {old} under training: keep data.batch_size, remove the other"
        )
    warnings.warn("training.batch_size is now data.batch_size: move it there", stacklevel=4)
