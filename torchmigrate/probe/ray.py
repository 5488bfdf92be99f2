"""`--ray`: runs the probe once on each node of a running Ray cluster.

The nodes need no torchmigrate: the modules that collect facts import the standard library and pyelftools only, and travel
with these as a zip file. Each node judges the interpreter that its Ray worker runs in.
"""

from __future__ import annotations

import importlib
import io
import os
import socket
import zipfile
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Traversable

SHIPPED = ("__init__.py", "ask.py", "collect.py", "facts.py", "nvidia.py", "system.py")
SHIPPED_SNIPPETS = ("__init__.py", "cuda.py", "imported.py", "installed.py", "linked.py", "nvml.py")
SHIPPED_LIBRARY = "elftools"
"""What the snippets need besides the standard library: pure Python, for every version."""


class RayError(Exception):
    """The cluster could not be asked; the message is for the user."""


def facts_of_nodes(address: str, limit: float, seconds: float = 120.0) -> list[dict[str, Any]]:
    """The facts of every living node, as JSON data, in the order of the nodes' ids.

    ``limit`` is the time for importing torch on a node, ``seconds`` the time for the whole cluster. Raises `RayError`.
    """
    try:
        ray: Any = importlib.import_module("ray")
        strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
    except ImportError:
        raise RayError("ray is not installed; install torchmigrate[ray]") from None

    def collect_on_node(package: bytes, limit: float) -> dict[str, Any]:
        # Travels by value, so that a node needs nothing: only what it imports itself is there.
        import os
        import sys
        import tempfile

        environ = dict(os.environ)
        # Ray hides the GPUs from a task that asks for none; the node's own programs see them.
        for variable in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
            if environ.get(variable) == "":
                del environ[variable]
        with tempfile.TemporaryDirectory() as folder:
            archive = os.path.join(folder, "torchmigrate.zip")
            with open(archive, "wb") as file:
                file.write(package)
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchmigrate"]:
                del sys.modules[name]
            sys.path.insert(0, archive)
            try:
                from torchmigrate.probe.collect import collect
                from torchmigrate.probe.facts import to_json

                return to_json(collect(sys.executable, environ, limit=limit))
            finally:
                sys.path.remove(archive)

    started = not ray.is_initialized()
    try:
        if started:
            reach(address)
            ray.init(address=address, log_to_driver=False, logging_level="error")
        nodes = sorted(node["NodeID"] for node in ray.nodes() if node["Alive"])
        # No CPU is asked for: the probe also runs on a node whose every CPU is taken.
        task = ray.remote(num_cpus=0, max_retries=0)(collect_on_node)
        package = shipped()
        answers = [
            task.options(
                scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node, soft=False)
            ).remote(package, limit)
            for node in nodes
        ]
        facts: list[dict[str, Any]] = ray.get(answers, timeout=seconds)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise RayError(f"the Ray cluster at {address} did not answer: {reason}") from None
    finally:
        if started:
            ray.shutdown()
    return facts


def reach(address: str) -> None:
    """Raises OSError where nothing listens at ``HOST:PORT``: Ray itself waits for minutes before it says so."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=5).close()


def zipped(files: Sequence[str], library: str = "") -> bytes:
    """A zip file to import from: ``files`` of this package, by their paths in it, and all of a ``library``.

    The packages around them are empty, unless their ``__init__.py`` is among the files.
    """
    package = resources.files("torchmigrate")
    around = {f"{os.path.dirname(name)}/__init__.py".lstrip("/") for name in files} | {"__init__.py"}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(around - set(files)):
            archive.writestr(f"torchmigrate/{name}", "")
        for name in files:
            archive.writestr(f"torchmigrate/{name}", (package / name).read_bytes())
        if library:
            _add(archive, resources.files(library), library)
    return out.getvalue()


def _add(archive: zipfile.ZipFile, folder: Traversable, name: str) -> None:
    """Adds the Python files of a package to an archive."""
    for entry in folder.iterdir():
        if entry.is_dir():
            _add(archive, entry, f"{name}/{entry.name}")
        elif entry.name.endswith(".py"):
            archive.writestr(f"{name}/{entry.name}", entry.read_bytes())


def shipped() -> bytes:
    """The package as a zip file, as far as it takes to collect facts."""
    names = (*SHIPPED, *(f"snippets/{name}" for name in SHIPPED_SNIPPETS))
    return zipped([f"probe/{name}" for name in names], SHIPPED_LIBRARY)
