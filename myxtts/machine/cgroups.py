"""What a container allows of the machine: cgroup v1 and v2."""

from __future__ import annotations

from pathlib import Path

_UNLIMITED_BYTES = 1 << 60  # how cgroup v1 says that there is no limit: 2^63 less a page


def cgroup_limits(root: Path | str = "/") -> tuple[float | None, int | None]:
    """(cpus, memory bytes) that the container allows, None where it does not limit; cgroup v1 and v2.

    A limit may be set on any group above ours, so the tightest of all counts.
    """
    cpus: list[float] = []
    memory: list[int] = []
    for group in _cgroups(Path(root)):
        for quota, period in (_fields(group / "cpu.max"), _fields(group / "cpu.cfs_quota_us", "cpu.cfs_period_us")):
            if quota.isdecimal() and period.isdecimal() and int(period):
                cpus.append(int(quota) / int(period))
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = _fields(group / name)[0]
            if limit.isdecimal() and int(limit) < _UNLIMITED_BYTES:
                memory.append(int(limit))
    return min(cpus, default=None), min(memory, default=None)


def cgroup_free_bytes(root: Path | str = "/") -> int | None:
    """What the container still allows of its memory, None where it does not limit. Pages of files do not count as
    taken: the kernel gives them up for whoever needs memory."""
    free: list[int] = []
    for group in _cgroups(Path(root)):
        for limit, usage, prefix in (("memory.max", "memory.current", ""),
                                     ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")):  # fmt: skip
            most, taken = _fields(group / limit, usage)
            if most.isdecimal() and taken.isdecimal() and int(most) < _UNLIMITED_BYTES:
                free.append(max(int(most) - max(int(taken) - _file_bytes(group, prefix), 0), 0))
    return min(free, default=None)


def _file_bytes(group: Path, prefix: str) -> int:
    """Of memory.stat, whose v1 form counts groups below in lines of their own."""
    try:
        lines = (group / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    named = {f"{prefix}{name}" for name in ("active_file", "inactive_file")}
    return sum(int(value) for name, _, value in (line.partition(" ") for line in lines) if name in named)


def _cgroups(root: Path) -> list[Path]:
    """The folders of this process's groups and of all above them. A container may not see its own: then its root is."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    groups: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in ["", controllers, *controllers.split(",")]:
            base = root / "sys/fs/cgroup" / name
            own = base / path.strip("/")
            groups += [own, *(parent for parent in own.parents if parent.is_relative_to(base))]
    return list(dict.fromkeys(groups))


def _fields(file: Path, second: str | None = None) -> tuple[str, str]:
    """Two words: of one file, or of it and of the file `second` beside it; empty where there is none."""
    try:
        words = file.read_text().split() + (file.with_name(second).read_text().split() if second else [])
    except OSError:
        words = []
    first, other, *_ = [*words, "", ""]
    return first, other
