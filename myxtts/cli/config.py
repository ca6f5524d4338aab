"""`myxtts config` shows the settings."""

from __future__ import annotations

import argparse
from typing import Any

from myxtts.cli.shared import Result, add_config_flags, add_verb, load_config


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "config", run, "show the settings in force, as YAML, and the presets",
        "  myxtts config > my.yaml\n  myxtts config --preset gpu_24gb --set data.batch_size=48")  # fmt: skip
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.config.config import preset_names

    config = load_config(arguments)
    text = f"# presets: {', '.join(preset_names())}\n{config.to_yaml()}".rstrip()
    return 0, {**config.to_dict(), "presets": preset_names()}, text
