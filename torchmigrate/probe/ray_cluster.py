"""`--ray`: runs the probe once on each node of a running Ray cluster.

The nodes need no torchmigrate: the modules that collect facts import the standard library and pyelftools only, and travel
with these as a zip file. Each node judges the interpreter that its Ray worker runs in.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import socket
import sys
import zipfile
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any

from torchmigrate.probe.collector import collect_facts
from torchmigrate.probe.machine_facts import facts_to_json

if TYPE_CHECKING:
    from importlib.abc import Traversable


class RayError(Exception):
    """The cluster could not be used; the message is for the user."""


@contextlib.contextmanager
def connect_to_ray(address: str) -> Iterator[Any]:
    """Connect to a running cluster, and yield the module `ray`. Raises `RayError`, also for what fails while connected."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise RayError("ray is not installed; install torchmigrate[ray]") from None
    started = not ray.is_initialized()
    try:
        if started:
            host, _, port = address.rpartition(":")
            if host and port.isdigit():
                # Where nothing listens, Ray itself tries for minutes before it reports that.
                socket.create_connection((host, int(port)), timeout=5).close()
            ray.init(address=address, log_to_driver=False, logging_level="error")
        yield ray
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise RayError(f"the Ray cluster at {address} did not respond: {first_error_line(error)}") from None
    finally:
        if started:
            ray.shutdown()


def first_error_line(error: Exception) -> str:
    """Return the first line of an error's message; its type where it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def create_remote_call(ray: Any, **options: Any) -> Any:
    """Return a remote task that calls a function of torchmigrate on a node: `(package, module, name, *arguments)`."""

    def call_on_node(package: bytes, module: str, name: str, *arguments: Any) -> Any:
        # An inner function is pickled by value, so that a node needs nothing: it may use only what it imports itself.
        import importlib
        import os
        import sys
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            archive = os.path.join(folder, "torchmigrate.zip")
            with open(archive, "wb") as file:
                file.write(package)
            for loaded in [one for one in sys.modules if one.partition(".")[0] == "torchmigrate"]:
                del sys.modules[loaded]
            sys.path.insert(0, archive)
            try:
                return getattr(importlib.import_module(module), name)(*arguments)
            finally:
                sys.path.remove(archive)

    return ray.remote(**options)(call_on_node)


def collect_on_node(limit: float) -> dict[str, Any]:
    """Collect the facts of this node as JSON data, with ``limit`` seconds for importing torch."""
    # Ray hides the GPUs from a task that asks for none; the node's own programs see them.
    hidden = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
    environ = {name: value for name, value in os.environ.items() if value or name not in hidden}
    return facts_to_json(collect_facts(sys.executable, environ, limit=limit))


def collect_node_facts(address: str, limit: float, seconds: float = 120.0) -> list[dict[str, Any]]:
    """Collect the facts of every living node as JSON data, in the order of the nodes' ids. Raises `RayError`.

    ``limit`` is the time for importing torch on a node, ``seconds`` the time for the whole cluster.
    """
    with connect_to_ray(address) as ray:
        strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
        nodes = sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])
        # No CPU is requested: the probe also runs on a node whose every CPU is taken.
        task, package = create_remote_call(ray, num_cpus=0, max_retries=0), zip_packages("probe")
        places = [strategies.NodeAffinitySchedulingStrategy(node, soft=False) for node in nodes]
        function = (collect_on_node.__module__, collect_on_node.__name__)
        answers = [
            task.options(scheduling_strategy=place).remote(package, *function, limit) for place in places
        ]
        facts: list[dict[str, Any]] = ray.get(answers, timeout=seconds)
        return facts


_SHARED = ("project/__init__.py", "project/program_search.py")
"""Modules of other packages that the probe needs."""


def zip_packages(*packages: str) -> bytes:
    """Return a zip file to import from: ``packages`` of torchmigrate, and pyelftools, which is pure Python."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("torchmigrate/__init__.py", "")
        for module in _SHARED:
            archive.writestr(
                f"torchmigrate/{module}", (resources.files("torchmigrate") / module).read_bytes()
            )
        for name in packages:
            _add_package(archive, resources.files("torchmigrate") / name, f"torchmigrate/{name}")
        _add_package(archive, resources.files("elftools"), "elftools")
    return out.getvalue()


def _add_package(archive: zipfile.ZipFile, folder: Traversable, name: str) -> None:
    """Add the Python files of a package to an archive."""
    for entry in folder.iterdir():
        if entry.is_dir():
            _add_package(archive, entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            archive.writestr(f"{name}/{entry.name}", entry.read_bytes())
