"""Every error a user can meet. Each message says what was found, what was expected and what to do next.

MyXTTSError
├── ConfigError          a setting is unknown, of the wrong type or out of range
├── CorpusError          the corpus as a whole cannot be read
├── RowError             one row of a corpus cannot be used; it carries a `reason` for rejected.jsonl
├── TextError            a text, language or token table cannot be used
├── MissingExtra         an optional package is needed: the message names the pip command
├── PrepareError         a recording or its text cannot be made a corpus
├── SpeechError          a request to speak cannot be met: its text, language, reference or settings
│   └── NoEars           no recogniser knows the language
├── TrainingError        a run cannot continue
│   └── WorkerLost       another worker of the run is gone
├── DiagnosisError       a pipeline cannot be measured
├── CacheError           a cache cannot be used
│   ├── CacheLocked      another process is writing it
│   ├── NothingPacked    every row of a corpus was rejected
│   ├── CacheMismatch    it was made with other settings or from another state of the corpus
│   └── CacheDamaged     its bytes are not those that were written
└── CheckpointError      a checkpoint or model cannot be used
    └── CheckpointDamaged   its bytes are not those that were written
"""

from __future__ import annotations


def install_command(extra: str) -> str:
    """How to install what an extra asks for: by the names of its packages, so it works without a release of MyXTTS."""
    import shlex
    from importlib import metadata

    try:
        required = metadata.requires("myxtts") or []
    except metadata.PackageNotFoundError:  # a copy that was never installed
        required = []
    parts = (line.partition(";") for line in required)
    named = [name.strip() for name, _, marker in parts if f'extra == "{extra}"' in marker.replace("'", '"')]
    return shlex.join(["pip", "install", *named]) if named else f"pip install '.[{extra}]' in the folder of MyXTTS"


class MyXTTSError(Exception):
    """Anything the user can mend. The CLI prints it without a traceback and exits with 2."""


class ConfigError(MyXTTSError):
    pass


class CorpusError(MyXTTSError):
    pass


class RowError(MyXTTSError):
    """One unusable row. `reason` is a stable word for machines, the message is for people."""

    def __init__(self, reason: str, message: str):
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return self.message


class TextError(MyXTTSError):
    pass


class MissingExtra(MyXTTSError):
    """`command`: for packages that must be fetched without what they depend on, which an extra cannot say."""

    def __init__(self, package: str, extra: str, purpose: str, command: str | None = None):
        super().__init__(f"{purpose} needs the package '{package}': run {command or install_command(extra)}")


def without_tensorflow(error: ModuleNotFoundError) -> MissingExtra | None:
    """What to say where the module that is missing is TensorFlow, which is an extra because machines need different
    ones; None where it is another."""
    if (error.name or "").partition(".")[0] not in ("tensorflow", "keras"):
        return None
    both = f"{install_command('cpu')}; with an NVIDIA GPU: {install_command('gpu')}"
    return MissingExtra("tensorflow", "cpu", "this verb", both)


class PrepareError(MyXTTSError):
    pass


class SpeechError(MyXTTSError):
    pass


class NoEars(SpeechError):
    pass


class TrainingError(MyXTTSError):
    pass


class WorkerLost(TrainingError):
    """The same command resumes; the CLI exits with 75."""


class DiagnosisError(MyXTTSError):
    pass


class CacheError(MyXTTSError):
    pass


class CacheLocked(CacheError):
    pass


class NothingPacked(CacheError):
    pass


class CacheMismatch(CacheError):
    pass


class CacheDamaged(CacheError):
    pass


class CheckpointError(MyXTTSError):
    pass


class CheckpointDamaged(CheckpointError):
    pass
