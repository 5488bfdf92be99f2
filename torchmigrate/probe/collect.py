"""What is there: asks an interpreter, the drivers and the system, all at once, each within a time limit.

Standard library only: `torchmigrate.probe.ray` ships this module to machines that have nothing else.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torchmigrate.probe import ask
from torchmigrate.probe.facts import Driver, Extension, Facts, Gpu, Import, Platform, Python, Source, Torch

IMPORT_LIMIT = 4.5
"""Seconds that an import of torch may take; the whole probe stays under five."""
ASK_LIMIT = 3.0
"""Seconds for every other question."""

WATCHED = (
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
    "TORCH_DISTRIBUTED_USE_TORCHCOMMS",
    "TORCH_DIST_USE_NCCL2",
)


def find_python(wanted: str | None, environ: Mapping[str, str], folder: Path) -> str | None:
    """The user's interpreter: the wanted one, else the active environment's, else ``.venv`` upward, else python3."""
    if wanted:
        return shutil.which(wanted, path=environ.get("PATH")) or wanted
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := environ.get(variable):
            return str(_python_in(Path(prefix), conda=variable == "CONDA_PREFIX"))
    for parent in (folder, *folder.parents):
        candidate = _python_in(parent / ".venv")
        if candidate.exists():
            return str(candidate)
    return shutil.which("python3", path=environ.get("PATH")) or shutil.which(
        "python", path=environ.get("PATH")
    )


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
    with ThreadPoolExecutor(max_workers=5) as pool:
        installed = pool.submit(ask.ask, python, "installed", ASK_LIMIT, environ)
        imported = pool.submit(ask.ask, python, "imported", limit, environ)
        nvml = pool.submit(ask.ask, sys.executable, "nvml", ASK_LIMIT, environ)
        cuda = pool.submit(ask.ask, sys.executable, "cuda", ASK_LIMIT, environ)
        smi = pool.submit(nvidia_smi, environ)
        driver, gpus = nvidia(nvml.result(), cuda.result(), smi.result(), environ, root)
        answer = installed.result()
        system = host(environ, root)
        return Facts(
            platform=system,
            python=interpreter(answer),
            torch=torch_facts(answer, imported.result()),
            packages=_strings(answer.data.get("packages")),
            extensions=tuple(Extension(**item) for item in answer.data.get("extensions") or []),
            gpus=(*gpus, *amd(root), *apple(system)),
            driver=driver,
            rocm=_first_line(root / "opt/rocm/.info/version"),
            environment={name: _harmless(environ[name]) for name in WATCHED if name in environ},
        )


def interpreter(answer: ask.Answer) -> Python:
    """What the interpreter says of itself, or why it says nothing."""
    about = answer.data.get("python")
    if answer.outcome != "ok" or not isinstance(about, dict):
        return Python(version=None, failure=answer.detail or "it gave no answer")
    return Python(**about)


def torch_facts(installed: ask.Answer, imported: ask.Answer) -> Torch | None:
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
        compiled=tuple(compiled),
        imported=Import(
            outcome=outcome,
            detail=ask.without_paths(detail) if detail and outcome != "ok" else None,
            available=said["available"] if isinstance(said.get("available"), bool) else None,
            device_count=said["device_count"] if isinstance(said.get("device_count"), int) else None,
            nccl=_text(said.get("nccl")),
            cudnn=_text(said.get("cudnn")),
            metal=said["metal"] if isinstance(said.get("metal"), bool) else None,
            torchcomms_on=said["torchcomms_on"] if isinstance(said.get("torchcomms_on"), bool) else None,
            warnings=tuple(ask.without_paths(str(w)) for w in warnings or []),
        ),
    )


def host(environ: Mapping[str, str], root: Path) -> Platform:
    """The operating system, and whether it is WSL, a container or a Jetson."""
    system = platform.system()
    kernel = (_first_line(root / "proc/version") or "").lower()
    tegra = re.match(r"# R(\d+).*REVISION: ([\d.]+)", _first_line(root / "etc/nv_tegra_release") or "")
    contained = any((root / name).exists() for name in (".dockerenv", "run/.containerenv", ".singularity.d"))
    return Platform(
        system=system,
        machine=platform.machine(),
        glibc=_glibc() if system == "Linux" else None,
        macos=platform.mac_ver()[0] or None,
        wsl="microsoft" in kernel,
        jetson=f"R{tegra[1]}.{tegra[2]}" if tegra else None,
        container=contained or "KUBERNETES_SERVICE_HOST" in environ or "container" in environ,
    )


def _glibc() -> str | None:
    try:
        answer = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        return None
    return answer.split()[-1] if answer else None


def nvidia_smi(environ: Mapping[str, str]) -> ask.Answer | None:
    """Asks ``nvidia-smi --query-gpu``; never its banner, whose wording has changed. None where it is not there.

    The data has ``version`` and ``gpus``, as the NVML snippet's has.
    """
    program = _on_path("nvidia-smi", environ)
    if program is None:
        return None
    plain = {**environ, "LC_ALL": "C", "LANGUAGE": ""}
    answer = ask.Answer("raised", detail="it printed nothing")
    for fields in (
        "name,compute_cap,memory.total,mig.mode.current,driver_version",
        "name,memory.total,driver_version",
    ):
        query = [program, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
        answer = ask.run(query, ASK_LIMIT, plain)
        if answer.outcome in ("hung", "killed"):
            return answer
        if answer.outcome == "ok" and (rows := _smi_rows(answer.output, fields.split(","))):
            gpus = [
                {
                    "name": row["name"],
                    "capability": _match(r"\d+\.\d+", row.get("compute_cap")),
                    "memory_mib": int(row["memory.total"]) if row["memory.total"].isdigit() else None,
                    "mig": {"Enabled": True, "Disabled": False}.get(row.get("mig.mode.current", "")),
                }
                for row in rows
            ]
            return ask.Answer("ok", {"version": rows[0]["driver_version"], "gpus": gpus})
    # nvidia-smi says on stdout what went wrong, and may exit with 0 after it.
    said = ask.last_line(answer.output) or (answer.detail if answer.outcome == "raised" else None)
    mismatch = "version mismatch" in answer.output
    return ask.Answer("raised", {"mismatch": mismatch}, detail=said or "it printed nothing")


def _smi_rows(output: str, fields: list[str]) -> list[dict[str, str]]:
    """The lines that have as many fields as were asked for and end with a driver version."""
    rows = []
    for line in output.splitlines():
        values = [value.strip() for value in line.split(",")]
        # Only a GPU's name, the first field, could hold a comma itself.
        extra = len(values) - len(fields)
        if extra >= 0 and re.fullmatch(r"\d+\.\d+(\.\d+)?", values[-1]):
            rows.append(dict(zip(fields, [",".join(values[: extra + 1]), *values[extra + 1 :]], strict=True)))
    return rows


def nvidia(
    nvml: ask.Answer, cuda: ask.Answer, smi: ask.Answer | None, environ: Mapping[str, str], root: Path
) -> tuple[Driver, list[Gpu]]:
    """The NVIDIA driver and GPUs, by every source that is there."""
    sources = []
    there = nvml.data.get("failure") != "not there"
    if there:
        failure = nvml.data.get("failure") or (nvml.detail if nvml.outcome != "ok" else None)
        sources.append(Source("nvml", nvml.data.get("version"), failure))
    if module := _first_line(root / "sys/module/nvidia/version"):
        sources.append(Source("sys", module))
    if loaded := _match(
        r"Kernel Module(?: for \S+)?\s+(\d+\.[\d.]+)", _first_line(root / "proc/driver/nvidia/version")
    ):
        sources.append(Source("proc", loaded))
    if smi is not None:
        sources.append(
            Source("nvidia-smi", smi.data.get("version"), smi.detail if smi.outcome != "ok" else None)
        )
    cuda_ok = cuda.outcome == "ok"
    driver = Driver(
        version=next((source.version for source in sources if source.version), None),
        cuda=cuda.data.get("cuda"),
        init=cuda.data.get("init"),
        init_failure=None if cuda_ok else cuda.detail,
        compat=_compat(environ, root),
        mismatch=bool(nvml.data.get("mismatch") or (smi is not None and smi.data.get("mismatch"))),
        bus_devices=_on_bus(root, "0x10de"),
        sources=tuple(sources),
    )
    smi_gpus = smi.data.get("gpus") if smi is not None else None
    found = nvml.data.get("gpus") or smi_gpus or cuda.data.get("gpus") or _proc_gpus(root)
    return driver, [Gpu(**gpu) for gpu in found]


def _proc_gpus(root: Path) -> list[dict[str, str]]:
    """The GPUs that the kernel module lists: names only, but also where the libraries fail."""
    files = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
    models = [_match(r"Model:\s+(.+)", _read(file)) for file in files]
    return [{"name": model.strip()} for model in models if model]


def amd(root: Path) -> list[Gpu]:
    """AMD GPUs, by the kernel's compute topology."""
    gpus = []
    for file in sorted((root / "sys/class/kfd/kfd/topology/nodes").glob("*/properties")):
        target = _match(r"^gfx_target_version (\d+)$", _read(file))
        if target and int(target):
            number = int(target)
            gfx = f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"
            gpus.append(Gpu(f"AMD GPU ({gfx})", "amd", gfx))
    return gpus


def apple(system: Platform) -> list[Gpu]:
    """The GPU that every Apple-silicon Mac has."""
    return [Gpu("Apple GPU", "apple")] if system.system == "Darwin" and system.machine == "arm64" else []


def _compat(environ: Mapping[str, str], root: Path) -> bool:
    """Whether cuda-compat's ``libcuda`` comes before the driver's: on LD_LIBRARY_PATH, or in the linker's own list."""
    for entry in environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if entry.rstrip("/").endswith("compat") and list(Path(entry).glob("libcuda.so*")):
            return True
    listed = list((root / "etc/ld.so.conf.d").glob("*compat*.conf"))
    return bool(listed and list((root / "usr/local").glob("cuda*/compat/libcuda.so*")))


def _on_bus(root: Path, vendor: str) -> int:
    """GPUs of a vendor on the PCI bus: display controllers, class 0x03."""
    count = 0
    for device in (root / "sys/bus/pci/devices").glob("*"):
        if _first_line(device / "vendor") == vendor and (_first_line(device / "class") or "").startswith(
            "0x03"
        ):
            count += 1
    return count


def _on_path(name: str, environ: Mapping[str, str]) -> str | None:
    """A program on PATH, also one that may not be executed: that is worth a finding."""
    if found := shutil.which(name, path=environ.get("PATH")):
        return found
    for folder in environ.get("PATH", "").split(os.pathsep):
        candidate = Path(folder, name)
        try:
            if stat.S_ISREG(candidate.stat().st_mode):
                return str(candidate)
        except OSError:
            continue
    return None


def _harmless(value: str) -> str:
    """A variable's value, unless it names single GPUs by their serial identifiers."""
    return value if re.fullmatch(r"[\d,.-]*|[a-z]+", value) else "identifiers"


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _first_line(file: Path) -> str | None:
    return _read(file).strip().split("\n", 1)[0].strip() or None


def _match(pattern: str, text: str | None) -> str | None:
    found = re.search(pattern, text or "", re.M)
    return (found[1] if found.re.groups else found[0]) if found else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _strings(value: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}
