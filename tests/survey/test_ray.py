"""`--ray`: a real cluster of two nodes on this machine, of which one is killed in the middle."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.survey.made import CODE, make_repository, read_results, run_survey
from torchmigrate.survey.inspection import Limits
from torchmigrate.survey.ray_survey import answer_on_cluster
from torchmigrate.survey.repositories import list_repositories
from torchmigrate.survey.run import SurveyRequest
from torchmigrate.survey.run import run_survey as run_request
from torchmigrate.survey.store import Store

# Without this Ray takes the machine's outer address for 127.0.0.1; it is read when ray is imported.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
pytest.importorskip("ray")

LIMITS = Limits(60, 4 << 30, 1 << 30)
NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 80 << 20}


@pytest.fixture
def cluster() -> Iterator[Any]:
    Cluster: Any = importlib.import_module("ray.cluster_utils").Cluster  # noqa: N806
    made: Any = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    yield made
    made.shutdown()


@pytest.mark.ray
def test_a_node_that_dies_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    for number in range(5):
        make_repository(tmp_path / "top" / f"r{number}", CODE * (number + 1))
    other = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    addresses = [f"git+file://{tmp_path}/top/r{number}" for number in range(3)]
    listed = list_repositories([str(tmp_path / "top"), *addresses], [])

    def kill_node(done: int, total: int) -> None:
        if done == 2:
            # Both nodes are at work, and as many tasks wait for them.
            cluster.remove_node(other, allow_graceful=False)

    request = SurveyRequest((), True, False, LIMITS)
    store = Store(str(tmp_path / "on-cluster"))
    answer = functools.partial(answer_on_cluster, limits=LIMITS, address=cluster.address)
    totals = run_request(listed, request, store, answer, kill_node)
    assert (totals.looked_at, totals.failed) == (len(listed), 0)
    assert not other.any_processes_alive()
    assert run_survey("--report", store.folder).return_value == 0
    here = tmp_path / "here"
    run_survey(tmp_path / "top", *addresses, "--fix", "-o", here)
    assert len(listed) == 8
    assert read_results(Path(store.folder)) == read_results(here)


@pytest.mark.ray
def test_no_cluster_is_said_in_one_line(tmp_path: Path) -> None:
    make_repository(tmp_path / "one")
    done = run_survey(tmp_path / "one", "--ray", "127.0.0.1:1", "-o", tmp_path / "out")
    assert "the Ray cluster at 127.0.0.1:1 did not respond" in str(getattr(done.exception, "message", ""))
