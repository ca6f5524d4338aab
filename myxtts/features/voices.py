"""Who turns words into phonemes: eSpeak NG, where it is installed."""

from __future__ import annotations

from myxtts.features.espeak import languages, speak_all, version

__all__ = ["languages", "speak_all", "version"]
