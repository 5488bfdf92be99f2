"""Asks the CUDA driver library whether it starts, which CUDA it supports, and which GPUs it sees.

Runs in the tool's own interpreter, in a process of its own: ``cuInit`` can hang. Creates no context, and
so uses no memory on a GPU.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any, Dict


def main() -> Dict[str, Any]:
    try:
        cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return {}
    version, count = ctypes.c_int(), ctypes.c_int()
    result: Dict[str, Any] = {"init": cuda.cuInit(0), "gpus": []}
    if cuda.cuDriverGetVersion(ctypes.byref(version)) == 0 and version.value:
        result["cuda"] = f"{version.value // 1000}.{version.value % 1000 // 10}"
    if result["init"] == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
        for index in range(count.value):
            name, value, device = ctypes.create_string_buffer(100), ctypes.c_int(), ctypes.c_int()
            cuda.cuDeviceGet(ctypes.byref(device), index)
            cuda.cuDeviceGetName(name, len(name), device)
            numbers = []
            for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
                cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
                numbers.append(str(value.value))
            gpu = {"name": name.value.decode("utf-8", "replace"), "capability": ".".join(numbers)}
            result["gpus"].append(gpu)
    return result


with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(main(), file)
