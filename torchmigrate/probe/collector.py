"""The facts of this machine, from an interpreter, the drivers and the system: all at once, each within a time limit.

Standard library only: `torchmigrate.probe.ray_cluster` ships this module to machines that have nothing else.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torchmigrate.probe import processes
from torchmigrate.probe.machine_facts import (
    ARCHITECTURE_PATTERN,
    CompiledExtension,
    InstalledTorch,
    Interpreter,
    MachineFacts,
    TorchImport,
)
from torchmigrate.probe.nvidia_sources import ask_nvidia_smi, combine_nvidia_sources
from torchmigrate.probe.system_files import (
    find_amd_gpus,
    find_apple_gpus,
    find_device_files,
    find_intel_gpus,
    find_shadowing_libraries,
    read_first_line,
    read_system,
)
from torchmigrate.project.program_search import find_program

IMPORT_LIMIT = 60.0
"""Seconds that an import of torch may take: two on an idle machine, six on a busy one, more from a network."""

READING_PART = 4
"""The share of the import limit (one fourth) for reading what is installed, which may lie on the same network."""

WATCHED_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION", "ZE_AFFINITY_MASK", "TORCH_DISTRIBUTED_USE_TORCHCOMMS",
)  # fmt: skip
"""The variables that decide which GPUs and backends programs see."""

DEVICE_WARNING = re.compile(r"CUDA|cuDNN|NCCL|GPU|NVML|driver|ROCm|HIP|XPU|MPS|NumPy")
"""The warnings that are kept: about the machine, not about torch's own code."""


def find_python(wanted: str | None, environ: Mapping[str, str], folder: Path) -> str | None:
    """Find the user's interpreter: the wanted one, else the active environment's, else ``.venv`` upward, else python3."""
    # A path is made absolute, since questions are asked from another folder; but a symbolic link is not resolved, since
    # it is what makes an environment's interpreter.
    if wanted:
        found = find_program(wanted, environ) or wanted
        return os.path.abspath(folder / found) if os.path.dirname(found) else found
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := environ.get(variable):
            return str(_join_python(folder / prefix, conda=variable == "CONDA_PREFIX"))
    for parent in (folder, *folder.parents):
        candidate = _join_python(parent / ".venv")
        if candidate.exists():
            return str(candidate)
    return find_on_path(environ)


def find_on_path(environ: Mapping[str, str]) -> str | None:
    """Find the interpreter on ``PATH``."""
    return find_program("python3", environ) or find_program("python", environ)


def _join_python(prefix: Path, conda: bool = False) -> Path:
    if sys.platform == "win32":
        return prefix / "python.exe" if conda else prefix / "Scripts" / "python.exe"
    return prefix / "bin" / "python"


def collect_facts(
    python: str,
    environ: Mapping[str, str],
    root: Path = Path("/"),
    limit: float = IMPORT_LIMIT,
) -> MachineFacts:
    """Collect the facts of this machine and of the interpreter ``python``, with ``limit`` seconds for importing torch.

    ``root`` is the folder of ``/sys``, ``/proc`` and ``/etc``. Whatever is broken, nothing is raised: what could not be
    found out is missing from the facts, or is recorded as a failure.
    """
    reading = max(limit / READING_PART, processes.DEFAULT_LIMIT)
    with ThreadPoolExecutor(max_workers=6) as pool:

        def ask(name: str, interpreter: str, seconds: float) -> Future[processes.ProcessAnswer]:
            script = processes.read_snippet(name)
            return pool.submit(processes.ask_snippet, interpreter, script, seconds, environ)

        installed, imported = ask("installed", python, reading), ask("imported", python, limit)
        nvml = ask("nvml", sys.executable, processes.DEFAULT_LIMIT)
        cuda = ask("cuda", sys.executable, processes.DEFAULT_LIMIT)
        smi = pool.submit(ask_nvidia_smi, environ)
        answer = installed.result()
        libraries = pool.submit(ask_linked_libraries, answer.data, reading, environ)
        driver, gpus = combine_nvidia_sources(nvml.result(), cuda.result(), smi.result(), environ, root)
        system = read_system(environ, root)
        cards = find_amd_gpus(root)
        read = libraries.result()
        guilty = find_guilty_package(python, environ, imported.result())
        return MachineFacts(
            platform=system,
            python=build_interpreter(answer),
            torch=build_torch(answer, imported.result(), read.data.get("new_abi"), guilty),
            packages=_to_strings(answer.data.get("packages")),
            requires=_to_strings(answer.data.get("requires")),
            extensions=tuple(
                CompiledExtension(**{**item, "missing": tuple(item["missing"])})
                for item in read.data.get("extensions") or []
            ),
            gpus=(*gpus, *cards, *find_intel_gpus(root), *find_apple_gpus(system)),
            driver=driver,
            devices=tuple(find_device_files(root, system, bool(driver.version and gpus), bool(cards))),
            shadowing=tuple(find_shadowing_libraries(environ)),
            rocm=read_first_line(root / "opt/rocm/.info/version"),
            environment={
                name: _hide_identifiers(environ[name]) for name in WATCHED_VARIABLES if name in environ
            },
        )


def ask_linked_libraries(
    installed: Mapping[str, Any], limit: float, environ: Mapping[str, str]
) -> processes.ProcessAnswer:
    """Find out what the libraries of extensions need, in the tool's own interpreter, which has pyelftools."""
    libraries = installed.get("libraries")
    if not libraries:
        return processes.ProcessAnswer("ok")
    question = json.dumps({"torch": installed.get("folder"), "libraries": libraries})
    # On a node of a cluster the tool and its libraries are in one archive, which is not on a new process's path.
    spec = importlib.util.find_spec("elftools")
    home = str(Path(spec.origin).parent.parent) if spec and spec.origin else ""
    return processes.ask_snippet(
        sys.executable,
        processes.read_snippet("linked"),
        limit,
        {**environ, "PYTHONPATH": home},
        given=question,
    )


IMPORTED_BY_TORCH = ("numpy",)
"""Packages with compiled code that every import of torch also imports, where they are installed."""


def find_guilty_package(
    python: str, environ: Mapping[str, str], imported: processes.ProcessAnswer
) -> str | None:
    """Return the package that kills the interpreter as torch does, but without it; None where torch itself does."""
    if imported.outcome != "killed":
        return None
    for name in IMPORTED_BY_TORCH:
        alone = processes.ask_snippet(python, f"import {name}", processes.DEFAULT_LIMIT, environ)
        if alone.outcome == "killed":
            return name
    return None


def build_interpreter(answer: processes.ProcessAnswer) -> Interpreter:
    """Return the interpreter's facts, or why it gave none."""
    about = answer.data.get("python")
    if answer.outcome != "ok" or not isinstance(about, dict):
        return Interpreter(version=None, failure=answer.detail or "it did not answer")
    return Interpreter(**about)


def build_torch(
    installed: processes.ProcessAnswer,
    imported: processes.ProcessAnswer,
    new_abi: bool | None = None,
    guilty: str | None = None,
) -> InstalledTorch | None:
    """Combine what torch's files and its import tell about the installed torch; None where none is installed."""
    files, answer = installed.data.get("torch"), imported.data
    if not isinstance(files, dict):
        return None
    build = {name: files.get(name) for name in ("version", "cuda", "hip", "xpu")}
    compiled = files.get("compiled") or []
    outcome, detail = imported.outcome, imported.detail
    if outcome == "ok" and answer.get("raised"):
        outcome, detail = "raised", str(answer["raised"])
    if outcome == "ok" and isinstance(answer.get("version"), str):
        build = {name: _to_text(answer.get(name)) for name in build}
        compiled = str(answer.get("compiled") or "").split() or compiled
    elif outcome == "ok":
        outcome, detail = "raised", "the imported module has no __version__"
    warnings = [str(text) for text in answer.get("warnings") or []] if outcome == "ok" else []
    flags = ("available", "mps", "metal", "torchcomms_on")
    return InstalledTorch(
        version=build.pop("version") or "unknown",
        **build,
        compiled=tuple(
            name for name in compiled if not build["cuda"] or ARCHITECTURE_PATTERN.fullmatch(name)
        ),
        requires=tuple(map(str, files.get("requires") or [])),
        installer=_to_text(files.get("installer")),
        new_abi=new_abi,
        imported=TorchImport(
            outcome=outcome,
            detail=processes.shorten_paths(detail) if detail and outcome != "ok" else None,
            guilty=guilty,
            device_count=answer["device_count"] if isinstance(answer.get("device_count"), int) else None,
            nccl=_to_text(answer.get("nccl")),
            cudnn=_to_text(answer.get("cudnn")),
            warnings=tuple(processes.shorten_paths(w)[:500] for w in warnings if DEVICE_WARNING.search(w)),
            **{name: answer[name] for name in flags if isinstance(answer.get(name), bool)},
        ),
    )


def _hide_identifiers(value: str) -> str:
    """Return a variable's value, unless it names single GPUs by their serial identifiers."""
    return value if re.fullmatch(r"[\d,.-]*|[a-z]+", value) else "identifiers"


def _to_text(value: Any) -> str | None:
    return None if value is None else str(value)


def _to_strings(value: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}
