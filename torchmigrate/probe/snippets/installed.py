"""What an interpreter has installed, without importing any of it: distributions, torch's build, compiled extensions.

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
from typing import Dict, List, Optional, Set, Tuple

CONCERNS_TORCH = re.compile(
    r"(torch(?!migrate$)|nvidia-(?!ml-py$)|triton|pytorch-triton|functorch|cuda-(toolkit|bindings|pathfinder)$)"
)
NOT_EXTENSIONS = re.compile(r"(torch$|nvidia-|triton|pytorch-triton)")
ARCHITECTURES = re.compile(rb"\0((?:(?:sm|compute)_\d+[af]?)(?: (?:sm|compute)_\d+[af]?)*)\0")
MOST_LIBRARIES = 300


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions() -> Dict[str, Tuple[str, str]]:
    """Normalized name → (version, metadata folder), the first on the path winning, as imports do."""
    found: Dict[str, Tuple[str, str]] = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        for entry in entries:
            match = re.match(r"([^-]+(?:-[^-]+)*?)-(\d[^-]*)(?:-[^/]*)?\.(?:dist-info|egg-info)$", entry)
            if match:
                found.setdefault(normalized(match.group(1)), (match.group(2), os.path.join(folder, entry)))
    return found


def torch_folder() -> Optional[str]:
    """Where ``import torch`` would load it from, without running any of its code."""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None:
        return None
    if spec.origin and spec.origin not in ("namespace", "built-in"):
        return os.path.dirname(spec.origin)
    return None


def version_file(folder: str) -> Dict[str, Optional[str]]:
    """The plain assignments of ``torch/version.py``, by pattern: the file is never executed."""
    try:
        with open(os.path.join(folder, "version.py"), encoding="utf-8", errors="replace") as file:
            text = file.read(65536)
    except OSError:
        return {}
    pattern = r"^(__version__|cuda|hip|rocm|xpu)\b[^=\n]*=\s*(?:['\"]([^'\"]*)['\"]|None)"
    return {name: value or None for name, value in re.findall(pattern, text, re.M)}


def compiled(folder: str) -> List[str]:
    """The architecture string in torch's Python binding."""
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


def needed(path: str) -> List[str]:
    """The names in an ELF file's DT_NEEDED entries; empty for any other file."""
    with open(path, "rb") as file:
        header = file.read(64)
        if header[:6] != b"\x7fELF\x02\x01":
            return []
        (sections_at,) = struct.unpack_from("<Q", header, 40)
        entry_size, count, _ = struct.unpack_from("<HHH", header, 58)
        if not 0 < count * entry_size < 1 << 20:
            return []
        file.seek(sections_at)
        table = file.read(entry_size * count)
        sections = [struct.unpack_from("<IIQQQQIIQQ", table, i * entry_size) for i in range(count)]
        for section in sections:
            if section[1] != 6:  # SHT_DYNAMIC
                continue
            strings = sections[section[6]]
            file.seek(strings[4])
            names = file.read(min(strings[5], 1 << 24))
            file.seek(section[4])
            dynamic = file.read(min(section[5], 1 << 20))
            offsets = [
                value
                for tag, value in struct.iter_unpack("<QQ", dynamic[: len(dynamic) // 16 * 16])
                if tag == 1
            ]
            return [names[o : names.index(b"\0", o)].decode("ascii", "replace") for o in offsets]
    return []


def extensions(found: Dict[str, Tuple[str, str]]) -> List[Dict[str, str]]:
    """Distributions that require torch and whose compiled code needs a CUDA runtime: name, version, CUDA major."""
    result, budget = [], MOST_LIBRARIES
    for name, (version, folder) in sorted(found.items()):
        if NOT_EXTENSIONS.match(name) or not folder.endswith(".dist-info"):
            continue
        try:
            with open(os.path.join(folder, "METADATA"), encoding="utf-8", errors="replace") as file:
                if not re.search(r"^Requires-Dist: *torch\b", file.read(), re.M):
                    continue
            with open(os.path.join(folder, "RECORD"), encoding="utf-8", errors="replace") as file:
                libraries = [line.split(",")[0] for line in file if ".so," in line]
        except OSError:
            continue
        majors: Set[str] = set()
        for library in libraries[:budget]:
            budget -= 1
            try:
                names = needed(os.path.join(os.path.dirname(folder), library))
            except (OSError, struct.error, IndexError, ValueError):
                continue
            majors.update(m.group(1) for m in map(re.compile(r"libcudart\.so\.(\d+)").match, names) if m)
        result += [{"distribution": name, "version": version, "cuda": major} for major in sorted(majors)]
    return result


def main() -> None:
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    found = distributions()
    result = {
        "python": {
            "version": platform.python_version(),
            "bits": struct.calcsize("P") * 8,
            "pip": importlib.util.find_spec("pip") is not None,
            "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        },
        "packages": {n: v for n, (v, _) in sorted(found.items()) if CONCERNS_TORCH.match(n) and n != "torch"},
        "extensions": extensions(found),
    }
    folder = torch_folder()
    if folder or "torch" in found:
        about = version_file(folder) if folder else {}
        result["torch"] = {
            "version": about.get("__version__") or found.get("torch", ("unknown",))[0],
            "cuda": about.get("cuda"),
            "hip": about.get("hip"),
            "xpu": about.get("xpu"),
            "compiled": compiled(folder) if folder and about.get("cuda") else [],
        }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(result, file)


main()
