"""Who trains together: the workers of a run and this process' rank, from what a launcher left in the environment.

`TF_CONFIG` is what every launcher can fill: `myxtts launch`, Kubernetes operators, a line typed by hand. Under `srun`
Slurm's own variables say the same. Neither: this process trains alone.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from myxtts.errors import ConfigError

_JOBS = ("chief", "worker")
_FIRST_PORT, _PORTS = 20_000, 20_000  # of a Slurm job: by its number, so that two jobs on a machine do not meet
_EXAMPLE = '{"cluster": {"worker": ["first:2222", "second:2222"]}, "task": {"type": "worker", "index": 0}}'


@dataclass(frozen=True)
class Cluster:
    """Addresses host:port by rank. The chief, rank 0, writes checkpoints, and hears the others at the port after its
    own."""

    addresses: tuple[str, ...]
    rank: int

    @property
    def size(self) -> int:
        return len(self.addresses)

    @property
    def chief(self) -> bool:
        return self.rank == 0

    @property
    def meeting_point(self) -> tuple[str, int]:
        host, port = split_address(self.addresses[0])
        return host, port + 1


def split_address(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or len(port) > 5 or not 0 < int(port) < 65535:
        raise ConfigError(f"'{address}' is no address of a worker: expected HOST:PORT with a port below 65535")
    return host.strip("[]"), int(port)


def cluster_of(environment: Mapping[str, str] = os.environ) -> Cluster | None:
    """None where this process trains alone."""
    if environment.get("TF_CONFIG", "").strip() not in ("", "{}"):
        cluster = _of_tf_config(environment["TF_CONFIG"])
    elif int(environment.get("SLURM_STEP_NUM_TASKS") or 1) > 1:  # what srun sets, and a batch script alone has not
        cluster = _of_slurm(environment)
    else:
        return None
    for address in cluster.addresses:
        split_address(address)
    return cluster if cluster.size > 1 else None


def _of_tf_config(text: str) -> Cluster:
    try:
        body = json.loads(text)
        jobs, task = body["cluster"], body["task"]
        members = [(job, n, address) for job in _JOBS for n, address in enumerate(jobs.get(job, []))]
        own = [rank for rank, (job, n, _) in enumerate(members) if (job, n) == (task["type"], int(task["index"]))]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"TF_CONFIG cannot be read ({error}): expected for example {_EXAMPLE}") from None
    if not own:
        raise ConfigError(
            f"TF_CONFIG says that this is {task['type']} {task['index']}, which is not among its {len(members)} "
            f"chief and workers: parameter servers and evaluators are not used; expected for example {_EXAMPLE}"
        )
    return Cluster(tuple(address for _, _, address in members), own[0])


def _of_slurm(environment: Mapping[str, str]) -> Cluster:
    """Several tasks on a node have ports two apart: the one between is where a chief hears the others."""
    try:
        hosts = list(_hosts(environment["SLURM_STEP_NODELIST"]))
        counts = list(_counts(environment["SLURM_STEP_TASKS_PER_NODE"]))
        rank, job = int(environment["SLURM_PROCID"]), int(environment["SLURM_JOB_ID"])
    except (KeyError, ValueError) as error:
        raise ConfigError(f"Slurm's variables cannot be read ({error}): set TF_CONFIG instead") from None
    first = _FIRST_PORT + job * 16 % _PORTS
    places = [(host, n) for host, count in zip(hosts, counts, strict=True) for n in range(count)]
    return Cluster(tuple(f"{host}:{first + 2 * n}" for host, n in places), rank)


def _hosts(text: str) -> Iterator[str]:
    """node[01-03,7],other -> node01 node02 node03 node7 other"""
    for name, ranges in re.findall(r"([^,\[\]]+)(?:\[([^\]]+)\])?", text):
        if not ranges:
            yield name
            continue
        for part in ranges.split(","):
            low, _, high = part.partition("-")
            for number in range(int(low), int(high or low) + 1):
                yield f"{name}{number:0{len(low)}d}"


def _counts(text: str) -> Iterator[int]:
    """2(x3),1 -> 2 2 2 1"""
    for part in text.split(","):
        count, _, times = part.partition("(x")
        yield from itertools.repeat(int(count), int(times.rstrip(")") or 1))
