"""Who trains together, from TF_CONFIG or Slurm's variables."""

import json

import pytest

from myxtts.errors import ConfigError
from myxtts.training.cluster import Cluster, cluster_of


def tf_config(cluster: dict, kind: str, index: int) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


def slurm(**changes: str) -> dict[str, str]:
    step = {"NUM_TASKS": "4", "NODELIST": "gpu[08-09],big", "TASKS_PER_NODE": "1(x2),2"}
    variables = {f"SLURM_STEP_{name}": value for name, value in step.items()}
    return variables | {"SLURM_PROCID": "3", "SLURM_JOB_ID": "100"} | changes


def test_ranks_are_those_of_tf_config_the_chief_first():
    two = {"worker": ["a:10", "b:20"]}
    assert cluster_of(tf_config(two, "worker", 1)) == Cluster(("a:10", "b:20"), 1)
    named = cluster_of(tf_config({"chief": ["c:5"], **two}, "worker", 0))
    assert named == Cluster(("c:5", "a:10", "b:20"), 1)
    assert not named.chief
    assert named.meeting_point == ("c", 6)


def test_slurm_tells_the_same_and_a_batch_script_alone_nothing():
    cluster = cluster_of(slurm())
    assert [address.split(":")[0] for address in cluster.addresses] == ["gpu08", "gpu09", "big", "big"]
    assert len({*cluster.addresses}) == 4
    assert cluster.rank == 3
    assert cluster_of(slurm(SLURM_STEP_NUM_TASKS="1")) is None
    assert cluster_of({name: value for name, value in slurm().items() if "STEP" not in name}) is None


@pytest.mark.parametrize(
    "environment", [{}, {"TF_CONFIG": ""}, {"TF_CONFIG": "{}"}, tf_config({"worker": ["a:1"]}, "worker", 0)]
)
def test_one_process_is_no_cluster(environment):
    assert cluster_of(environment) is None


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TF_CONFIG": "{"}, "cannot be read"),
        ({"TF_CONFIG": '{"cluster": {}}'}, "'task'"),
        (tf_config({"worker": ["a:1", "b:2"]}, "worker", 2), "worker 2, which is not among its 2"),
        (tf_config({"worker": ["a:1", "b:2"], "ps": ["c:3"]}, "ps", 0), "parameter servers"),
        (tf_config({"worker": ["a:1", "b"]}, "worker", 0), "'b' is no address"),
        (slurm(SLURM_STEP_NODELIST="gpu[8-x]"), "Slurm's variables"),
    ],
)
def test_what_cannot_be_read_is_said(environment, said):
    with pytest.raises(ConfigError, match=said):
        cluster_of(environment)
