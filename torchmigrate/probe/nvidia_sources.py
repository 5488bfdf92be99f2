"""The NVIDIA driver and its GPUs, by every source that responds, each within a time limit.

Standard library only: `torchmigrate.probe.ray_cluster` ships this module to machines that have nothing else.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from torchmigrate.probe import processes
from torchmigrate.probe.machine_facts import DriverSource, Gpu, NvidiaDriver
from torchmigrate.probe.system_files import find_bus_devices, find_match, read_first_line, read_text_file
from torchmigrate.project.program_search import find_program


def ask_nvidia_smi(environ: Mapping[str, str]) -> processes.ProcessAnswer | None:
    """Ask ``nvidia-smi`` for ``version`` and ``gpus``, as the NVML snippet answers them; None where it is not installed."""
    program = _find_program("nvidia-smi", environ)
    if program is None:
        return None
    plain = {**environ, "LC_ALL": "C", "LANGUAGE": ""}
    answer = processes.ProcessAnswer("raised", detail="it printed nothing")
    # The query, never the banner, whose wording has changed. An old driver does not know all of the fields.
    for fields in (
        "name,compute_cap,memory.total,mig.mode.current,driver_version",
        "name,memory.total,driver_version",
    ):
        query = [program, f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
        answer = processes.run_program(query, processes.DEFAULT_LIMIT, plain)
        if answer.outcome in ("hung", "killed"):
            return answer
        if answer.outcome == "ok" and (rows := _parse_smi_rows(answer.output, fields.split(","))):
            gpus = [
                {
                    "name": row["name"],
                    "capability": find_match(r"\d+\.\d+", row.get("compute_cap")),
                    "memory_mib": int(row["memory.total"]) if row["memory.total"].isdigit() else None,
                    "mig": {"Enabled": True, "Disabled": False}.get(row.get("mig.mode.current", "")),
                }
                for row in rows
            ]
            return processes.ProcessAnswer("ok", {"version": rows[0]["driver_version"], "gpus": gpus})
    # nvidia-smi reports errors on stdout, and may exit with 0 after them.
    detail = processes.find_last_line(answer.output) or (
        answer.detail if answer.outcome == "raised" else None
    )
    mismatch = "version mismatch" in answer.output
    return processes.ProcessAnswer("raised", {"mismatch": mismatch}, detail=detail or "it printed nothing")


def _parse_smi_rows(output: str, fields: list[str]) -> list[dict[str, str]]:
    """Return the lines that have as many fields as were asked for and end with a driver version."""
    rows = []
    for line in output.splitlines():
        values = [value.strip() for value in line.split(",")]
        # Only a GPU's name, the first field, could hold a comma itself.
        extra = len(values) - len(fields)
        if extra >= 0 and re.fullmatch(r"\d+\.\d+(\.\d+)?", values[-1]):
            rows.append(dict(zip(fields, [",".join(values[: extra + 1]), *values[extra + 1 :]], strict=True)))
    return rows


def combine_nvidia_sources(
    nvml: processes.ProcessAnswer,
    cuda: processes.ProcessAnswer,
    smi: processes.ProcessAnswer | None,
    environ: Mapping[str, str],
    root: Path,
) -> tuple[NvidiaDriver, list[Gpu]]:
    """Combine what every source reports about the NVIDIA driver and its GPUs."""
    sources = []
    if nvml.data.get("failure") != "not there":
        failure = nvml.data.get("failure") or (nvml.detail if nvml.outcome != "ok" else None)
        sources.append(DriverSource("nvml", nvml.data.get("version"), failure))
    if module := read_first_line(root / "sys/module/nvidia/version"):
        sources.append(DriverSource("sys", module))
    if loaded := find_match(
        r"Kernel Module(?: for \S+)?\s+(\d+\.[\d.]+)", read_first_line(root / "proc/driver/nvidia/version")
    ):
        sources.append(DriverSource("proc", loaded))
    if smi is not None:
        failure = smi.detail if smi.outcome != "ok" else None
        sources.append(DriverSource("nvidia-smi", smi.data.get("version"), failure))
    driver = NvidiaDriver(
        version=next((source.version for source in sources if source.version), None),
        cuda=cuda.data.get("cuda"),
        init=cuda.data.get("init"),
        init_failure=None if cuda.outcome == "ok" else cuda.detail,
        compat=_is_compat_loaded(environ, root),
        mismatch=bool(nvml.data.get("mismatch") or (smi is not None and smi.data.get("mismatch"))),
        bus_devices=len(find_bus_devices(root, "0x10de")),
        sources=tuple(sources),
    )
    smi_gpus = smi.data.get("gpus") if smi is not None else None
    found = nvml.data.get("gpus") or smi_gpus or cuda.data.get("gpus") or _read_proc_gpus(root)
    return driver, [Gpu(**gpu) for gpu in found]


def _read_proc_gpus(root: Path) -> list[dict[str, str]]:
    """Read the names of the GPUs that the kernel module lists, even where the libraries fail."""
    files = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
    models = [find_match(r"Model:\s+(.+)", read_text_file(file)) for file in files]
    return [{"name": model.strip()} for model in models if model]


def _is_compat_loaded(environ: Mapping[str, str], root: Path) -> bool:
    """Return whether cuda-compat's ``libcuda`` comes before the driver's: on LD_LIBRARY_PATH, or in the linker's own list."""
    for entry in environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if entry.rstrip("/").endswith("compat") and list(Path(entry).glob("libcuda.so*")):
            return True
    listed = list((root / "etc/ld.so.conf.d").glob("*compat*.conf"))
    return bool(listed and list((root / "usr/local").glob("cuda*/compat/libcuda.so*")))


def _find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Find a program on PATH, even one that may not be executed, since that deserves a finding."""
    if found := find_program(name, environ):
        return found
    for folder in filter(os.path.isabs, environ.get("PATH", "").split(os.pathsep)):
        candidate = Path(folder, name)
        try:
            if stat.S_ISREG(candidate.stat().st_mode):
                return str(candidate)
        except OSError:
            continue
    return None
