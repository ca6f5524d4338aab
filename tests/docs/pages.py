"""The sources of the manual as the tests see them: pages, and the blocks of code in them."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")) if path.name != "log.md"}
PERSIAN = [name for name in PAGES if name.endswith(".fa.md")]


class Block(NamedTuple):
    language: str
    flags: str
    code: str


def blocks(page: str, language: str) -> list[Block]:
    parsed = (Block(*each) for each in re.findall(r"```(\w+)([^\n]*)\n(.*?)```", PAGES[page], flags=re.S))
    return [block for block in parsed if block.language == language]


def shell_lines(page: str) -> list[str]:
    return [line for block in blocks(page, "sh") for line in block.code.splitlines() if line.strip()]


def inline_code(page: str) -> list[str]:
    """What stands between backticks in a sentence or a table."""
    prose = re.sub(r"```.*?```", "", PAGES[page], flags=re.S)
    return re.findall(r"`([^`\n]+)`", prose)


def english(page: str) -> str:
    return page.replace(".fa.md", ".md")
