"""`--ray`: the probe once on each node of a running cluster."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from torchmigrate.probe.facts import from_json
from torchmigrate.probe.ray import RayError, facts_of_nodes

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes on this machine, bound to the loopback interface."""
    from ray.cluster_utils import Cluster

    node = {
        "num_cpus": 1,
        "node_ip_address": "127.0.0.1",
        "include_dashboard": False,
        "object_store_memory": 80 << 20,
    }
    made = Cluster(initialize_head=True, head_node_args=node)
    for _ in range(2):
        made.add_node(num_cpus=1, node_ip_address="127.0.0.1", object_store_memory=80 << 20)
    made.wait_for_nodes()
    yield made
    made.shutdown()


@pytest.mark.ray
def test_every_node_answers_once(cluster: Any) -> None:
    assert cluster.address.startswith("127.0.0.1:")
    nodes = facts_of_nodes(cluster.address, limit=4.5)
    assert len(nodes) == 3
    facts = [from_json(node) for node in nodes]
    assert all(one.python.failure is None for one in facts)
    assert socket.gethostname() not in str(nodes)


@pytest.mark.ray
def test_a_node_whose_every_cpu_is_taken_answers_too(cluster: Any) -> None:
    ray.init(address=cluster.address, log_to_driver=False)
    try:

        @ray.remote(num_cpus=1)
        class Busy:
            def ready(self) -> bool:
                return True

        busy = [Busy.remote() for _ in range(3)]
        assert all(ray.get([one.ready.remote() for one in busy], timeout=60))
        assert len(facts_of_nodes(cluster.address, limit=4.5)) == 3
    finally:
        ray.shutdown()


@pytest.mark.ray
def test_no_cluster_is_said_in_one_line() -> None:
    with pytest.raises(RayError, match=r"the Ray cluster at 127\.0\.0\.1:1 did not answer: .+"):
        facts_of_nodes("127.0.0.1:1", limit=1)
