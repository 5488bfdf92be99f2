"""`--ray`: the probe once on each node of a running cluster."""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchmigrate.probe.machine_facts import parse_facts
from torchmigrate.probe.ray_cluster import RayError, collect_node_facts, zip_packages

# Without this Ray takes the machine's outer address for 127.0.0.1; it is read when ray is imported.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
ray: Any = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes on this machine, bound to the loopback interface."""
    Cluster: Any = importlib.import_module("ray.cluster_utils").Cluster  # noqa: N806

    node = {
        "num_cpus": 1,
        "node_ip_address": "127.0.0.1",
        "include_dashboard": False,
        "object_store_memory": 80 << 20,
    }
    made: Any = Cluster(initialize_head=True, head_node_args=node)
    for _ in range(2):
        made.add_node(num_cpus=1, node_ip_address="127.0.0.1", object_store_memory=80 << 20)
    made.wait_for_nodes()
    yield made
    made.shutdown()


@pytest.mark.ray
def test_every_node_answers_once(cluster: Any) -> None:
    assert cluster.address.startswith("127.0.0.1:")
    nodes = collect_node_facts(cluster.address, limit=4.5)
    assert len(nodes) == 3
    facts = [parse_facts(node) for node in nodes]
    assert all(one.python.failure is None for one in facts)
    assert socket.gethostname() not in str(nodes)


@pytest.mark.ray
def test_a_node_whose_every_cpu_is_taken_answers_too(cluster: Any) -> None:
    ray.init(address=cluster.address, log_to_driver=False)
    try:

        class Busy:
            def ready(self) -> bool:
                return True

        actor: Any = ray.remote(num_cpus=1)(Busy)
        busy = [actor.remote() for _ in range(3)]
        assert all(ray.get([one.ready.remote() for one in busy], timeout=60))
        assert len(collect_node_facts(cluster.address, limit=4.5)) == 3
    finally:
        ray.shutdown()


@pytest.mark.ray
def test_no_cluster_is_said_in_one_line() -> None:
    with pytest.raises(RayError, match=r"the Ray cluster at 127\.0\.0\.1:1 did not respond: .+"):
        collect_node_facts("127.0.0.1:1", limit=1)


def test_what_travels_needs_the_standard_library_only(tmp_path: Path) -> None:
    archive = tmp_path / "torchmigrate.zip"
    archive.write_bytes(zip_packages("probe"))
    program = f"""
import sys
sys.path.insert(0, {str(archive)!r})
import os
from torchmigrate.probe.collector import collect_facts
from torchmigrate.probe.machine_facts import facts_to_json
print(facts_to_json(collect_facts(sys.executable, os.environ))["format"])
"""
    # -S leaves site-packages out, and with it everything that is installed.
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
