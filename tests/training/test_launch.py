"""The launcher: lines for several machines, ports, and what it does when a worker ends."""

import json
import sys

import pytest

from myxtts.cli import main
from myxtts.training.cluster import cluster_of
from myxtts.training.launch import free_ports, launch, lines_for, read_hosts

# A worker that ends as its rank and its life say; lives are counted in a file.
WORKER = """
import json, os, pathlib, sys, time
rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
lives = pathlib.Path(sys.argv[1], str(rank))
lives.write_text(str(life := int(lives.read_text()) + 1 if lives.exists() else 1))
print(f"life {life}", file=sys.stderr)
code = json.loads(sys.argv[2])[rank][life - 1]
if code < 0:
    os.kill(os.getpid(), -code)
print(json.dumps({"error": {"message": f"{rank} gave up."}} if code else {"rank": rank}))
sys.exit(code)
"""


def run(folder, lives: list[list[int]], restarts: int = 3):
    """`lives`: how each worker ends, life by life."""
    command, said = [sys.executable, "-c", WORKER, str(folder), json.dumps(lives)], []
    return launch(command, len(lives), restarts, said.append, said.append), said


def test_workers_that_are_done_are_done(tmp_path):
    done, said = run(tmp_path, [[0], [0]])
    assert [attempt.codes for attempt in done.attempts] == [[0, 0]]
    assert done.code == 0
    assert done.attempts[0].printed == [{"rank": 0}, {"rank": 1}]
    assert sorted(said) == ["[0] life 1", "[1] life 1"]


def test_a_killed_worker_and_those_it_took_along_are_started_again(tmp_path):
    done, said = run(tmp_path, [[75, 0], [-9, 0]])
    assert [attempt.codes for attempt in done.attempts] == [[75, -9], [0, 0]]
    assert done.code == 0
    line = "0 gave up; worker 0 ended by the loss of another one, worker 1 ended by SIGKILL; starting again, 1 of 3"
    assert line in said


@pytest.mark.parametrize(
    ("lives", "attempts", "code"), [([[75, 75], [-9, -9]], 2, 75), ([[2], [75]], 1, 2), ([[130], [130]], 1, 130)]
)
def test_it_gives_up_after_so_many_and_where_it_would_end_the_same_way(tmp_path, lives, attempts, code):
    done, _ = run(tmp_path, lives, restarts=1)
    assert len(done.attempts) == attempts
    assert done.code == code


def test_ports_come_with_the_one_after_them():
    ports = free_ports(3)
    assert len({*ports, *(port + 1 for port in ports)}) == 6


def test_lines_for_hosts_make_one_cluster():
    hosts = read_hosts("first\n# a remark\n\nsecond:4000  # with its port\n")
    lines = lines_for(hosts, 2, "myxtts train")
    assert [host for host, _ in lines] == ["first", "first", "second", "second"]
    clusters = [cluster_of({"TF_CONFIG": line.split("'")[1]}) for _, line in lines]
    assert [each.rank for each in clusters] == [0, 1, 2, 3]
    assert len({each.addresses for each in clusters}) == 1
    assert clusters[0].addresses[2:] == ("second:4000", "second:4002")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"caf\xe9\n", "is not UTF-8"),
        (b"first:" + b"9" * 5000, "expected HOST:PORT"),
        (b"# none\n", "names no machine"),
    ],
)
def test_a_list_of_hosts_that_is_none_is_an_error(tmp_path, capsys, content, said):
    (tmp_path / "hosts.txt").write_bytes(content)
    assert main(["launch", "--hosts", str(tmp_path / "hosts.txt"), "--", "train"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "a bug in MyXTTS" not in error
