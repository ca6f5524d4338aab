"""`myxtts config` shows the settings."""

from __future__ import annotations

import argparse
from typing import Any

from myxtts.cli.shared import Result, add_config_flags, add_verb, load_config


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "config", run, "show every setting as YAML: given ones stand, the others are comments",
        "  myxtts config > my.yaml\n  myxtts config --preset gpu_24gb --set data.batch_size=48")  # fmt: skip
    add_config_flags(parser)


def run(arguments: argparse.Namespace) -> Result:
    from myxtts.config.config import preset_names, to_commented_yaml

    config = load_config(arguments)
    text = f"# presets: {', '.join(preset_names())}\n{to_commented_yaml(config)}".rstrip()
    parts = (config.data, config.model, config.training)
    given = {f"{part.section}.{key}": source for part in parts for key, source in part.given.items()}
    return 0, {**config.to_dict(), "given": given, "presets": preset_names()}, text
