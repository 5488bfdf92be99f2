"""`--ray`: runs the probe once on each node of a running Ray cluster.

The nodes need no torchmigrate: the modules that collect facts import the standard library only, and travel with the
task. Each node judges its own interpreter, the one that its Ray worker runs in.
"""

from __future__ import annotations

from typing import Any


class RayError(Exception):
    """The cluster could not be asked; the message is for the user."""


def facts_of_nodes(address: str, limit: float, seconds: float = 120.0) -> list[dict[str, Any]]:
    """The facts of every living node, as JSON data, in the order of the nodes' ids.

    ``limit`` is the time for importing torch on a node, ``seconds`` the time for the whole cluster. Raises `RayError`.
    """
    try:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
    except ImportError:
        raise RayError("ray is not installed; install torchmigrate[ray]") from None
    import torchmigrate

    started = not ray.is_initialized()
    try:
        if started:
            ray.init(
                address=address,
                log_to_driver=False,
                logging_level="error",
                runtime_env={"py_modules": [torchmigrate]},
            )
        nodes = sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])
        # No CPU is asked for: the probe also runs on a node whose every CPU is taken.
        task = ray.remote(num_cpus=0, max_retries=0)(_collect)
        answers = [
            task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(limit)
            for node in nodes
        ]
        facts: list[dict[str, Any]] = ray.get(answers, timeout=seconds)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise RayError(
            f"the Ray cluster at {address} did not answer: {str(error).strip().splitlines()[0]}"
        ) from None
    finally:
        if started:
            ray.shutdown()
    return facts


def _collect(limit: float) -> dict[str, Any]:
    """Runs on a node: the facts of its machine and of the interpreter that the worker runs in."""
    import os
    import sys

    from torchmigrate.probe.collect import collect
    from torchmigrate.probe.facts import to_json

    environ = dict(os.environ)
    # Ray hides the GPUs from a task that asks for none; the node's own programs see them.
    for variable in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        if environ.get(variable) == "":
            del environ[variable]
    return to_json(collect(sys.executable, environ, limit=limit))
