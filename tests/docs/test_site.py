"""The built manual: no broken link, no network, nothing of the program left out, Persian from right to left."""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from docs.pages import DOCS, ROOT

from myxtts.config.config import XTTSConfig
from myxtts.corpus.detect import LAYOUTS
from myxtts.corpus.reasons import REASONS
from myxtts.doctor.causes import VERDICTS

TRANSLATED = (
    "index",
    "quick-start",
    "studio",
    "corpus",
    "prepare",
    "large-corpora",
    "training",
    "devices",
    "speaking",
    "text",
    "evaluating",
    "serving",
    "export",
    "model-card",
    "diagnosing",
    "troubleshooting",
    "then-and-now",
)
_ADDRESSES = {"a": "href", "link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The ids and addresses of a page, its language and direction, and the text of its table cells."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.language = self.direction = ""
        self.cells: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "html":
            self.language = values["lang"]
        if tag == "body":
            self.direction = values["dir"]
        self.ids.update(values[name] for name in ("id", "name") if values.get(name))
        if values.get(_ADDRESSES.get(tag, "")):
            self.links.append((tag, values[_ADDRESSES[tag]]))
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> dict[Path, Page]:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True,
                          text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}


@pytest.fixture(scope="module")
def root(site) -> Path:
    return next(path.parent for path in site if path.name == "404.html")


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_link_is_broken(site, root):
    checked = 0
    for path, page in site.items():
        for _, address in page.links:
            parts = urlsplit(address)
            if parts.scheme:
                continue
            start = root if address.startswith("/") else path.parent  # 404.html is served from anywhere
            target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{path.relative_to(root)} links to {address}"
            if parts.fragment and target in site:
                wanted = unquote(parts.fragment)
                assert wanted in site[target].ids or wanted == "__skip", f"{path.relative_to(root)}: {address}"
            checked += 1
    assert checked > 1000


def test_it_needs_no_network(site, root):
    for path, page in site.items():
        fetched = [address for tag, address in page.links if tag != "a" and urlsplit(address).netloc]
        assert not fetched, f"{path.name} fetches {fetched}"
    for sheet in root.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", text), sheet.name


def test_every_verb_and_flag_is_documented(site, root, generate):
    page = site[root / "cli.html"]
    words = {word.strip("`,[]") for cell in page.cells for word in cell.split()}
    for name, (short, parser) in generate.verbs().items():
        assert name in page.ids, name
        assert short, name
        for action in generate.flags_of(parser):
            assert generate._help(action, parser), f"myxtts {name} {action.option_strings or action.dest} says nothing"
            assert set(action.option_strings) <= words, f"myxtts {name} {action.option_strings}"


def test_every_setting_is_documented(site, root):
    ids = site[root / "configuration.html"].ids
    for section, values in XTTSConfig().to_dict().items():
        assert values
        for key in values:
            assert f"{section}.{key}" in ids


def test_every_layout_and_reason_is_documented(site, root):
    for page in ("corpus.html", "fa/corpus.html"):
        cells = {cell.strip() for cell in site[root / page].cells}
        assert set(LAYOUTS) | set(REASONS) <= cells


@pytest.mark.parametrize("page", ["diagnosing.html", "fa/diagnosing.html"])
def test_every_verdict_has_its_cure(site, root, page):
    cells = [cell.strip() for cell in site[root / page].cells]
    assert all(cells[cells.index(name) + 2] for name in VERDICTS)
    english = page == "diagnosing.html"
    assert all((cells[cells.index(name) + 1] == each.shows) is english for name, each in VERDICTS.items())


def test_persian_runs_from_right_to_left(site, root):
    for path in (root / "fa").glob("*.html"):
        assert (site[path].language, site[path].direction) == ("fa", "rtl")
        article = path.read_text(encoding="utf-8").partition("<article")[2]
        english = '<div dir="ltr" lang="en"><h1' in article
        assert english == (path.stem not in TRANSLATED), path.name
    home = site[root / "index.html"]
    assert (home.language, home.direction) == ("en", "ltr")
    style = (root / "style.css").read_text(encoding="utf-8")
    assert re.search(r'\[dir="rtl"\] \.md-typeset pre,[^}]*direction: ltr', style)
