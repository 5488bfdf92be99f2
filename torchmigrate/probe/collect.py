"""What is there: asks an interpreter, the drivers and the system, all at once, each within a time limit.

Standard library only: `torchmigrate.probe.ray` ships this module to machines that have nothing else.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torchmigrate.probe import ask
from torchmigrate.probe.facts import ARCHITECTURE, Extension, Facts, Import, Python, Torch
from torchmigrate.probe.nvidia import nvidia, nvidia_smi
from torchmigrate.probe.system import amd, apple, devices, first_line, host, intel, shadowing

IMPORT_LIMIT = 60.0
"""Seconds that an import of torch may take. It takes two on an idle machine, six on a busy one, more from a network."""

READING = 4
"""What is installed, and the libraries of extensions, are read in this part of that time: they may lie there as well."""

WATCHED = (
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
    "TORCH_DISTRIBUTED_USE_TORCHCOMMS",
)


ABOUT_DEVICES = re.compile(r"CUDA|cuDNN|NCCL|GPU|NVML|driver|ROCm|HIP|XPU|MPS|NumPy")
"""The warnings that are kept: what torch says of the machine, and not of itself."""


def find_python(wanted: str | None, environ: Mapping[str, str], folder: Path) -> str | None:
    """The user's interpreter: the wanted one, else the active environment's, else ``.venv`` upward, else python3.

    A path is absolute, since questions are asked from another folder, and a symbolic link stays one: it is what makes
    an environment's interpreter.
    """
    if wanted:
        found = shutil.which(wanted, path=environ.get("PATH")) or wanted
        return os.path.abspath(folder / found) if os.path.dirname(found) else found
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := environ.get(variable):
            return str(_python_in(folder / prefix, conda=variable == "CONDA_PREFIX"))
    for parent in (folder, *folder.parents):
        candidate = _python_in(parent / ".venv")
        if candidate.exists():
            return str(candidate)
    return on_path(environ)


def on_path(environ: Mapping[str, str]) -> str | None:
    """The interpreter on ``PATH``; a relative folder there means whatever project is checked, and is passed over."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    absolute = os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
    return shutil.which("python3", path=absolute) or shutil.which("python", path=absolute)


def _python_in(prefix: Path, conda: bool = False) -> Path:
    if sys.platform == "win32":
        return prefix / "python.exe" if conda else prefix / "Scripts" / "python.exe"
    return prefix / "bin" / "python"


def collect(
    python: str,
    environ: Mapping[str, str],
    root: Path = Path("/"),
    limit: float = IMPORT_LIMIT,
) -> Facts:
    """The facts of this machine and of the interpreter ``python``; ``limit`` seconds for importing torch.

    ``root`` is where ``/sys``, ``/proc`` and ``/etc`` are looked for. Never raises for what it meets: what could not
    be found out is missing from the facts, or is in them as a failure.
    """
    reading = max(limit / READING, ask.LIMIT)
    with ThreadPoolExecutor(max_workers=6) as pool:
        installed = pool.submit(ask.ask, python, "installed", reading, environ)
        imported = pool.submit(ask.ask, python, "imported", limit, environ)
        nvml = pool.submit(ask.ask, sys.executable, "nvml", ask.LIMIT, environ)
        cuda = pool.submit(ask.ask, sys.executable, "cuda", ask.LIMIT, environ)
        smi = pool.submit(nvidia_smi, environ)
        answer = installed.result()
        libraries = pool.submit(linked, answer.data, reading, environ)
        driver, gpus = nvidia(nvml.result(), cuda.result(), smi.result(), environ, root)
        system = host(environ, root)
        cards = amd(root)
        read = libraries.result()
        return Facts(
            platform=system,
            python=interpreter(answer),
            torch=torch_facts(answer, imported.result(), read.data.get("new_abi")),
            packages=_strings(answer.data.get("packages")),
            requires=_strings(answer.data.get("requires")),
            extensions=tuple(
                Extension(**{**item, "missing": tuple(item["missing"])})
                for item in read.data.get("extensions") or []
            ),
            gpus=(*gpus, *cards, *intel(root), *apple(system)),
            driver=driver,
            devices=tuple(devices(root, system, bool(driver.version and gpus), bool(cards))),
            shadowing=tuple(shadowing(environ)),
            rocm=first_line(root / "opt/rocm/.info/version"),
            environment={name: _harmless(environ[name]) for name in WATCHED if name in environ},
        )


def linked(installed: Mapping[str, Any], limit: float, environ: Mapping[str, str]) -> ask.Answer:
    """What the libraries of extensions need, asked of the tool's own interpreter, which has pyelftools."""
    libraries = installed.get("libraries")
    if not libraries:
        return ask.Answer("ok")
    question = json.dumps({"torch": installed.get("folder"), "libraries": libraries})
    # On a node of a cluster the tool and what it needs lie in one archive, which a new process has to be told.
    spec = importlib.util.find_spec("elftools")
    home = str(Path(spec.origin).parent.parent) if spec and spec.origin else ""
    return ask.ask(sys.executable, "linked", limit, {**environ, "PYTHONPATH": home}, given=question)


def interpreter(answer: ask.Answer) -> Python:
    """What the interpreter says of itself, or why it says nothing."""
    about = answer.data.get("python")
    if answer.outcome != "ok" or not isinstance(about, dict):
        return Python(version=None, failure=answer.detail or "it gave no answer")
    return Python(**about)


def torch_facts(installed: ask.Answer, imported: ask.Answer, new_abi: bool | None = None) -> Torch | None:
    """The installed torch by its files, and by what it says once imported; None where there is none."""
    files, said = installed.data.get("torch"), imported.data
    if not isinstance(files, dict):
        return None
    build = {name: files.get(name) for name in ("version", "cuda", "hip", "xpu")}
    compiled = files.get("compiled") or []
    outcome, detail = imported.outcome, imported.detail
    if outcome == "ok" and said.get("raised"):
        outcome, detail = "raised", str(said["raised"])
    if outcome == "ok" and isinstance(said.get("version"), str):
        build = {name: _text(said.get(name)) for name in build}
        compiled = str(said.get("compiled") or "").split() or compiled
    elif outcome == "ok":
        outcome, detail = "raised", "the module that was imported has no __version__"
    warnings = said.get("warnings") if outcome == "ok" else None
    return Torch(
        version=build["version"] or "unknown",
        cuda=build["cuda"],
        hip=build["hip"],
        xpu=build["xpu"],
        compiled=tuple(name for name in compiled if not build["cuda"] or ARCHITECTURE.fullmatch(name)),
        requires=tuple(map(str, files.get("requires") or [])),
        installer=_text(files.get("installer")),
        new_abi=new_abi,
        imported=Import(
            outcome=outcome,
            detail=ask.without_paths(detail) if detail and outcome != "ok" else None,
            available=_bool(said.get("available")),
            device_count=said["device_count"] if isinstance(said.get("device_count"), int) else None,
            nccl=_text(said.get("nccl")),
            cudnn=_text(said.get("cudnn")),
            mps=_bool(said.get("mps")),
            metal=_bool(said.get("metal")),
            torchcomms_on=_bool(said.get("torchcomms_on")),
            warnings=tuple(
                ask.without_paths(str(w))[:500] for w in warnings or [] if ABOUT_DEVICES.search(str(w))
            ),
        ),
    )


def _harmless(value: str) -> str:
    """A variable's value, unless it names single GPUs by their serial identifiers."""
    return value if re.fullmatch(r"[\d,.-]*|[a-z]+", value) else "identifiers"


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _strings(value: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}
