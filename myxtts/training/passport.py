"""What workers must have in common to train one run, and what differs where they have not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from myxtts.config.config import XTTSConfig
from myxtts.version import __version__

# What each machine may have as it likes: where its files are, and how batches come, not what is in them.
_OWN = {
    "data": {
        "dataset_path", "num_workers", "prefetch_buffer_size", "shuffle_buffer_multiplier", "enable_memory_mapping",
        "cache_verification", "memory_cache", "use_tf_native_loading", "enhanced_gpu_prefetch",
        "optimize_cpu_gpu_overlap", "prefetch_to_gpu", "auto_tune_performance", "auto_rebuild_token_cache",
        "auto_rebuild_mel_cache", "token_table", "lexicon", "mirror_dir", "mirror_gb",
    },
    "training": {"run_dir"},
}  # fmt: skip
_COMPARED = {
    "version": ("MyXTTS", "install the same version"),
    "tensorflow": ("TensorFlow", "install the same version"),
    "devices": ("trains on", "run 'myxtts gpu-check' on the machine that finds no GPU"),
    "cache": ("cache", "copy one cache to every machine"),
}


def passport_of(config: XTTSConfig, feed: Any, tensorflow: str, devices: str) -> dict[str, Any]:
    """`feed`: a Feed, of which the import would cost the launcher a TensorFlow that it does not need. `devices`: GPU or
    CPU. A machine whose driver is gone would be a worker that all others wait for."""
    settings = {
        f"{section}.{key}": value
        for section, values in config.to_dict().items()
        for key, value in values.items()
        if key not in _OWN.get(section, ())
    }
    return {"version": __version__, "tensorflow": tensorflow, "devices": devices, "cache": feed.cache_id,
            "settings": settings, "plan": feed.id}  # fmt: skip


def difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """The first thing that differs, what it is on each side and what to do; empty if nothing does."""
    for name, (words, cure) in _COMPARED.items():
        if ours.get(name) != theirs.get(name):
            shown = [str(side.get(name))[:12] for side in (theirs, ours)]
            return f"{words} {shown[0]}, not {shown[1]}: {cure}"
    own, other = ours.get("settings") or {}, theirs.get("settings") or {}
    for key in sorted({*own, *other}):
        if own.get(key) != other.get(key):
            return f"{key} is {other.get(key)}, not {own.get(key)}: give every worker the same settings"
    if ours.get("plan") != theirs.get("plan"):
        return "its batches come in another order: give every worker the same data and settings"
    return ""
