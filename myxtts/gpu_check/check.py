"""What a first user with a real GPU runs: is it found, is it used well, and if not, why. One JSON for a bug report.

    checks = GpuCheck(config, output=Path("gpu-check.json"), make_cache=...)
    checks.run()

Each check ends `ok`, `failed` (with what to do next) or `skipped`; one that fails does not stop the others. The file is
written anew after each, so that even a crash of the driver leaves behind which check it was. The checks themselves are
in `device.py` and `training.py` and take the device as an argument: tests give them a CPU.
"""

from __future__ import annotations

import json
import logging
import re
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from myxtts.config.config import XTTSConfig
from myxtts.errors import MyXTTSError
from myxtts.files import write_whole
from myxtts.gpu_check import device as on_device
from myxtts.gpu_check import training as on_training
from myxtts.gpu_check.device import Failed, Skipped
from myxtts.machine.description import describe_machine

log = logging.getLogger(__name__)

FORMAT = 1
TRAINING_MINUTES = 2.0

Progress = Callable[[str], None]


@dataclass
class Check:
    """The outcome of one. `status` is ok, failed, skipped, or running, which a crash leaves behind."""

    name: str
    status: str
    reason: str | None = None
    next_step: str | None = None
    seconds: float = 0.0
    found: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.status:<8}{self.name:<15}{self.reason or _brief(self.found)}"]
        return "\n".join(lines + ([f"{'':<23}next: {self.next_step}"] if self.next_step else []))


class GpuCheck:
    """All checks, one after the other, and the file that tells of them."""

    def __init__(
        self,
        config: XTTSConfig,
        output: Path,
        make_cache: Callable[[], Path],
        folder: Path,
        minutes: float = TRAINING_MINUTES,
        device: str | None = None,
    ):
        """`make_cache` gives the data; `folder` is where the trained run goes; `device` stands in for the first GPU."""
        self.config, self.output, self.minutes, self.folder = config, output, minutes, folder
        self.machine = describe_machine()
        self.machine["disk"].pop("path")
        self.checks: list[Check] = []
        self._make_cache, self._device = make_cache, device
        self._cache: Path | None = None

    @property
    def exit_code(self) -> int:
        """2 without a GPU, 1 if a check failed, else 0."""
        if self.status_of("device") != "ok":
            return 2
        return int(any(check.status == "failed" for check in self.checks))

    def status_of(self, name: str) -> str | None:
        return next((check.status for check in self.checks if check.name == name), None)

    def run(self, progress: Progress = lambda what: None) -> None:
        """Whatever happens, `output` says how far it came."""
        work: dict[str, Callable[[], dict[str, Any]]] = {
            "device": self._find_device,
            "memory growth": lambda: on_device.memory_growth(self._device),
            "precision": lambda: on_device.precision(self.config, str(self._device)),
            "xla": lambda: on_device.xla(str(self._device)),
            "data": self._find_data,
            "staging": lambda: on_training.staging(self.config, self._needed_cache(), str(self._device)),
            "doctor": lambda: on_training.doctor(self.config, self._needed_cache()),
            "training": lambda: on_training.training(self.config, self._needed_cache(), self.folder, self.minutes),
        }
        for name, check in work.items():
            progress(name)
            self._one(name, check)

    def _one(self, name: str, check: Callable[[], dict[str, Any]]) -> None:
        outcome = Check(name, "running")
        self.checks.append(outcome)
        self.write()
        started = time.perf_counter()
        try:
            if name != "device" and self._device is None:
                raise Skipped("there is no GPU")
            outcome.found, outcome.status = check(), "ok"
        except Skipped as why:
            outcome.status, outcome.reason = "skipped", str(why)
        except Failed as why:
            outcome.status, outcome.reason, outcome.next_step, outcome.found = (
                "failed",
                str(why),
                why.next_step,
                why.found,
            )
        except MyXTTSError as error:
            outcome.status, outcome.reason, outcome.next_step = "failed", str(error), "do what the message says"
        except Exception as error:  # a driver or TensorFlow may raise anything: it is told, and the others go on
            log.debug("the check %s", name, exc_info=True)
            outcome.status, outcome.reason = "failed", f"{type(error).__name__}: {str(error)[:1000]}"
            outcome.next_step = f"attach {self.output} to a bug report"
        outcome.seconds = round(time.perf_counter() - started, 2)
        self.write()

    def _find_device(self) -> dict[str, Any]:
        if self._device is not None:
            return {"device": self._device, "stand_in": True}
        self._device, details = on_device.device(self.machine)
        return details

    def _find_data(self) -> dict[str, Any]:
        from myxtts.cache.reader import Cache

        self._cache = self._make_cache()
        return {"cache": self._cache.name, "utterances": len(Cache(self._cache))}

    def _needed_cache(self) -> Path:
        if self._cache is None:
            raise Skipped("there is no data: see the check 'data'")
        return self._cache

    def to_dict(self) -> dict[str, Any]:
        record = {
            "format": FORMAT,
            "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": self.machine,
            "config": _without_places(self.config.to_dict()),
            "checks": [asdict(check) for check in self.checks],
        }
        return nameless(record)

    def write(self) -> None:
        self.output.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.output, (json.dumps(self.to_dict(), indent=1, default=str) + "\n").encode())

    def __str__(self) -> str:
        lines = [str(check) for check in self.checks]
        end = {0: "everything works", 1: "something is wrong", 2: "no GPU was found"}[self.exit_code]
        return "\n".join(
            [*lines, "", f"{end}: attach {self.output} to a report (it holds no names and no paths of yours)"]
        )


def _brief(details: dict[str, Any]) -> str:
    """The numbers of a check on one line."""
    plain = {name: value for name, value in details.items() if isinstance(value, str | int | float)}
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in plain.items()
    )


def _without_places(config: dict[str, Any]) -> dict[str, Any]:
    """The settings, of those that are paths only the last part."""
    for section, name in (("data", "dataset_path"), ("data", "token_table"), ("training", "run_dir")):
        if config[section][name]:
            config[section][name] = Path(config[section][name]).name
    return config


def nameless(value: Any) -> Any:
    """Without the user's name, home and machine name, wherever they stand in texts, lists and dicts."""
    if isinstance(value, dict):
        return {nameless(name): nameless(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [nameless(item) for item in value]
    return _without_names(value) if isinstance(value, str) else value


def _without_names(text: str) -> str:
    text = text.replace(str(Path.home()), "~") if len(str(Path.home())) > 1 else text
    text = re.sub(r"(/home/|/Users/|\\Users\\)[^/\\\s:'\"]+", "~", text)
    for name in filter(lambda name: len(name) > 2, _own_names()):
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "somebody", text)
    return text


def _own_names() -> list[str]:
    """Of the user and of the machine; the names that everybody has tell nothing."""
    import getpass

    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without an entry
        user = ""
    return [name for name in (user, socket.gethostname()) if name not in ("root", "localhost")]
