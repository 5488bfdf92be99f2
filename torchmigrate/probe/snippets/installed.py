"""Lists what an interpreter has installed, without importing any of it: distributions, torch's build, shared libraries.

Runs in the user's interpreter (Python 3.8 or newer), which may lack pip and setuptools.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import os
import platform
import re
import struct
import sys
import sysconfig
from typing import Dict, List, Optional, Tuple

CONCERNS_TORCH = re.compile(
    r"(torch(?!migrate$)|nvidia-(?!ml-py$)|triton|pytorch-triton|functorch|cuda-(toolkit|bindings|pathfinder)$)"
)
NOT_EXTENSIONS = re.compile(r"(torch$|nvidia-|triton|pytorch-triton)")
ARCHITECTURES = re.compile(rb"\0((?:(?:sm|compute)_\d+[af]?)(?: (?:sm|compute)_\d+[af]?)*)\0")


def normalize_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def list_distributions() -> Dict[str, Tuple[str, str]]:
    """Return normalized name → (version, metadata folder); the first on the path counts, as for imports."""
    found: Dict[str, Tuple[str, str]] = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        for entry in entries:
            match = re.match(r"([^-]+(?:-[^-]+)*?)-(\d[^-]*)(?:-[^/]*)?\.(?:dist-info|egg-info)$", entry)
            if match:
                found.setdefault(
                    normalize_name(match.group(1)), (match.group(2), os.path.join(folder, entry))
                )
    return found


def find_torch() -> Optional[str]:
    """Return the folder that ``import torch`` would load, without running any of its code."""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError, AttributeError):
        return None
    origin = spec.origin if spec else None
    return os.path.dirname(origin) if origin and origin not in ("namespace", "built-in") else None


def read_version_file(folder: str) -> Dict[str, Optional[str]]:
    """Read the plain assignments of ``torch/version.py`` by a pattern, without executing the file."""
    try:
        with open(os.path.join(folder, "version.py"), encoding="utf-8", errors="replace") as file:
            text = file.read(65536)
    except OSError:
        return {}
    pattern = r"^(__version__|cuda|hip|rocm|xpu)\b[^=\n]*=\s*(?:['\"]([^'\"]*)['\"]|None)"
    return {name: value or None for name, value in re.findall(pattern, text, re.M)}


def read_architectures(folder: str) -> List[str]:
    """Read the architectures in torch's Python binding: ``sm_90``, ``compute_120``."""
    for name in ("lib/libtorch_python.so", "lib/torch_python.dll", "lib/libtorch_cuda.so"):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if not 0 < size < 200 * 1024 * 1024:
                    continue
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                    found = [match.group(1) for match in ARCHITECTURES.finditer(view)]
        except (OSError, ValueError):
            continue
        if found:
            return max(found, key=len).decode("ascii").split()
    return []


def read_lines(file: str) -> List[str]:
    """Read a text file's lines; none where it cannot be read."""
    try:
        with open(file, encoding="utf-8", errors="replace") as text:
            return text.read().splitlines()
    except OSError:
        return []


def read_requirements(folder: str) -> List[str]:
    """Read the requirements of a distribution, without those of its extras: ``triton>=3; sys_platform == 'linux'``."""
    metadata = os.path.join(folder, "METADATA") if folder.endswith(".dist-info") else folder
    found = []
    for line in read_lines(metadata):
        if not line:
            break
        name, _, value = line.partition(":")
        if name == "Requires-Dist" and not re.search(r";.*\bextra\b", value):
            found.append(value.strip())
    return found


def list_libraries(found: Dict[str, Tuple[str, str]], on_torch: Dict[str, str]) -> List[Dict[str, object]]:
    """Return the distributions with shared libraries; those that require torch come first."""
    result = []
    for name in sorted(found, key=lambda name: (name not in on_torch, name)):
        version, folder = found[name]
        if NOT_EXTENSIONS.match(name) or not folder.endswith(".dist-info"):
            continue
        record = [line.split(",")[0] for line in read_lines(os.path.join(folder, "RECORD")) if ".so," in line]
        files = [os.path.join(os.path.dirname(folder), file) for file in record]
        if files:
            result.append(
                {"distribution": name, "version": version, "files": files, "requires": name in on_torch}
            )
    return result


def read_installer(folder: str) -> Optional[str]:
    """Return the first word of a distribution's ``INSTALLER`` file: ``pip``, ``uv``, ``conda``, ``poetry``."""
    words = " ".join(read_lines(os.path.join(folder, "INSTALLER"))).split()
    return words[0].lower() if words else None


def describe_environment(found: Dict[str, Tuple[str, str]]) -> Dict[str, object]:
    """Return the installer of this environment, and whether only the system's package manager may change it."""
    manager = None
    if any((read_installer(folder) or "") == "poetry" for _, folder in found.values()):
        manager = "poetry"
    elif os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        manager = "conda"
    elif any(re.match(r"uv\s*=", line) for line in read_lines(os.path.join(sys.prefix, "pyvenv.cfg"))):
        manager = "uv"
    marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return {"manager": manager, "managed": sys.prefix == sys.base_prefix and os.path.exists(marker)}


def find_torch_installer(folder: Optional[str]) -> Optional[str]:
    """Return what installed torch: by its ``INSTALLER`` file, else by conda's own list."""
    named = read_installer(folder) if folder else None
    try:
        records = os.listdir(os.path.join(sys.prefix, "conda-meta"))
    except OSError:
        records = []
    return named or ("conda" if any(re.match(r"(pytorch|libtorch)-\d", name) for name in records) else None)


def main() -> None:
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    found = list_distributions()
    required = {name: read_requirements(folder) for name, (_, folder) in sorted(found.items())}
    on_torch = {
        name: line
        for name, lines in required.items()
        for line in lines
        if re.match(r"torch(?![\w.-])", line) and name != "torch"
    }
    result: Dict[str, object] = {
        "python": {
            "version": platform.python_version(),
            "bits": struct.calcsize("P") * 8,
            "pip": importlib.util.find_spec("pip") is not None,
            "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
            **describe_environment(found),
        },
        "packages": {
            n: v
            for n, (v, _) in sorted(found.items())
            if (CONCERNS_TORCH.match(n) and n != "torch") or n in on_torch
        },
        "requires": on_torch,
        "libraries": list_libraries(found, on_torch),
    }
    folder = find_torch()
    if folder or "torch" in found:
        about = read_version_file(folder) if folder else {}
        metadata = found["torch"][1] if "torch" in found else None
        result["folder"] = folder
        result["torch"] = {
            "version": about.get("__version__") or found.get("torch", ("unknown",))[0],
            "cuda": about.get("cuda"),
            "hip": about.get("hip"),
            "xpu": about.get("xpu"),
            "compiled": read_architectures(folder) if folder and about.get("cuda") else [],
            "requires": [
                line for line in required.get("torch", []) if re.match(r"nvidia-|triton|pytorch-triton", line)
            ],
            "installer": find_torch_installer(metadata),
        }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(result, file)


main()
