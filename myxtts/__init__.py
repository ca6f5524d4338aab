"""MyXTTS trains a voice-cloning text-to-speech model on your own recordings; the accelerator never waits for data."""

import importlib
import os
from typing import Any

__version__ = "0.1.0"

# Nothing leaves the machine. Since 1.29 ONNX Runtime reports to Microsoft (its Privacy.md) and gives the user a number,
# kept in ~/.cache, unless this is set before it is loaded; whoever has set it has decided.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

__all__ = [
    "LJSpeechDataset", "Synthesizer", "XTTSConfig", "XTTSTrainer", "__version__", "build_model", "diagnose",
]  # fmt: skip

# What a first script needs, by a short name. Each is imported when it is asked for: `import myxtts` stays cheap.
_DOORS = {
    "LJSpeechDataset": "myxtts.data.ljspeech",
    "Synthesizer": "myxtts.inference.synthesizer",
    "XTTSConfig": "myxtts.config.config",
    "XTTSTrainer": "myxtts.training.trainer",
    "build_model": "myxtts.training.setup",
    "diagnose": "myxtts.doctor.diagnosis",
}


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"module 'myxtts' has no attribute '{name}': it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_DOORS[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_DOORS])


def ask_the_doctor(summary: dict[str, Any]) -> dict[str, Any]:
    """What a monitor's questions are answered with. It records for every room and knows none of them, least of all the
    doctor; so it asks up here."""
    from myxtts.doctor.verdicts import analyse

    return analyse(summary)
