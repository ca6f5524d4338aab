"""`myxtts studio` opens a web page for the whole way from recordings to a voice."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from myxtts.cli.serve import check_installed
from myxtts.cli.shared import Result, add_verb, port_number


def add(verbs: Any) -> None:
    parser = add_verb(verbs, "studio", run, "a web page for the whole way from recordings to a voice",
        "  myxtts studio\n"
        "  myxtts studio ~/voices --open\n"
        "  myxtts studio ~/voices --port 9000 --set data.text_tokens=characters")  # fmt: skip
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", default=Path("studio"),
                        help="where the voices are kept; it is made if it is not there (default: studio)")  # fmt: skip
    parser.add_argument(
        "--port", metavar="N", type=port_number, default=8021, help="0 takes a free one (default: 8021)"
    )
    parser.add_argument("--open", action="store_true", help="also open the page in the browser")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
                        help="one setting for all that the page starts; may be repeated")  # fmt: skip


def run(arguments: argparse.Namespace) -> Result:
    check_installed()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from myxtts.config.config import load
    from myxtts.studio.server import StudioSettings, open_studio

    load(overrides=arguments.overrides)  # what is wrong with them is said now

    def ready(address: str) -> None:
        print(f"the studio is at {address} (folder {arguments.folder}), Ctrl-C ends it", file=sys.stderr, flush=True)
        if arguments.open:
            import webbrowser

            webbrowser.open(address)

    summary = open_studio(StudioSettings(arguments.folder, arguments.port, arguments.overrides), ready)
    busy = ", ".join(summary["still_working"])
    left = f"; still working without it: {busy}, start the studio again to see how far it is" if busy else ""
    return 0, summary, f"the studio is closed{left}"
