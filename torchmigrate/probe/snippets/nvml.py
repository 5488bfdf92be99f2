"""Asks the NVIDIA management library for the driver version and every GPU.

Runs in the tool's own interpreter, in a process of its own: loading the library or calling it can hang or crash.
Uses nvidia-ml-py where it is installed, else the library itself.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import sys
from typing import Any, Callable, Dict, List


class Library:
    """The few functions of ``libnvidia-ml`` that the probe needs, under nvidia-ml-py's names and behavior."""

    class NVMLError(Exception):
        def __init__(self, value: int) -> None:
            super().__init__(f"NVML error {value}")
            self.value = value

    class Memory(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]

    def __init__(self) -> None:
        self.library = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")

    def call_function(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            raise self.NVMLError(status)

    def read_text(self, name: str, *arguments: Any) -> str:
        buffer = ctypes.create_string_buffer(96)
        self.call_function(name, *arguments, buffer, ctypes.c_uint(len(buffer)))
        return buffer.value.decode("utf-8", "replace")

    def read_integers(self, name: str, *arguments: Any, count: int = 1) -> List[int]:
        values = [ctypes.c_int() for _ in range(count)]
        self.call_function(name, *arguments, *map(ctypes.byref, values))
        return [value.value for value in values]

    def nvmlInit(self) -> None:
        self.call_function("nvmlInit_v2")

    def nvmlSystemGetDriverVersion(self) -> str:
        return self.read_text("nvmlSystemGetDriverVersion")

    def nvmlDeviceGetCount(self) -> int:
        return self.read_integers("nvmlDeviceGetCount_v2")[0]

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        handle = ctypes.c_void_p()
        self.call_function("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
        return handle

    def nvmlDeviceGetName(self, handle: Any) -> str:
        return self.read_text("nvmlDeviceGetName", handle)

    def nvmlDeviceGetCudaComputeCapability(self, handle: Any) -> List[int]:
        return self.read_integers("nvmlDeviceGetCudaComputeCapability", handle, count=2)

    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> Any:
        memory = self.Memory()
        self.call_function("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
        return memory

    def nvmlDeviceGetMigMode(self, handle: Any) -> List[int]:
        return self.read_integers("nvmlDeviceGetMigMode", handle, count=2)


def try_query(question: Callable[..., Any], *arguments: Any) -> Any:
    """Return the answer to a question that some GPUs or drivers do not support; None from these."""
    try:
        return question(*arguments)
    except Exception:
        return None


def decode_text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def main() -> Dict[str, Any]:
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        try:
            nvml = Library()
        except OSError:
            return {"failure": "not there"}
    try:
        nvml.nvmlInit()
        version = decode_text(nvml.nvmlSystemGetDriverVersion())
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        # 18: NVML_ERROR_LIB_RM_VERSION_MISMATCH, 12: NVML_ERROR_LIBRARY_NOT_FOUND
        if error.value == 12:
            return {"failure": "not there"}
        return {"failure": f"error {error.value}", "mismatch": error.value == 18}
    gpus = []
    for index in range(count):
        handle = try_query(nvml.nvmlDeviceGetHandleByIndex, index)
        if handle is None:
            continue
        capability = try_query(nvml.nvmlDeviceGetCudaComputeCapability, handle)
        memory = try_query(nvml.nvmlDeviceGetMemoryInfo, handle)
        mig = try_query(nvml.nvmlDeviceGetMigMode, handle)
        gpus.append(
            {
                "name": decode_text(try_query(nvml.nvmlDeviceGetName, handle)) or "NVIDIA GPU",
                "capability": "{}.{}".format(*capability) if capability else None,
                "memory_mib": int(memory.total) // (1 << 20) if memory else None,
                "mig": bool(mig[0]) if mig else None,
            }
        )
    return {"version": version, "gpus": gpus}


with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(main(), file)
