"""The facts format: what a machine and one of its Python interpreters have, as plain data.

A facts file is a JSON object (or a list of them) with the fields of `MachineFacts`; ``facts.schema.json`` is its JSON schema. It
holds no host name, user name, serial number or path, so it may be published. Standard library only: `torchmigrate.probe.ray_cluster` ships this module to machines that have nothing else.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from dataclasses import dataclass, field
from typing import Any, Literal

FACTS_FORMAT = 1
"""The number of the format, raised whenever a field is removed or changes its meaning; a reader refuses any other."""

CAPABILITY_PATTERN = re.compile(r"\d{1,3}\.\d")
ARCHITECTURE_PATTERN = re.compile(r"(?:sm|compute)_\d{2,4}[af]?")
"""NVIDIA's names: of a GPU's compute capability, and of what code is compiled for."""


class FactsError(ValueError):
    """A facts file that does not follow the format; the message names the field."""


@dataclass(frozen=True, slots=True)
class OperatingSystem:
    """The operating system and what it runs in."""

    system: str
    """``Linux``, ``Windows`` or ``Darwin``, as `platform.system` gives it."""
    machine: str
    """``x86_64``, ``aarch64``, ``arm64`` or ``AMD64``."""
    glibc: str | None = None
    macos: str | None = None
    wsl: bool = False
    jetson: str | None = None
    """The Jetson Linux release, ``R36.4``."""
    container: bool = False


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The judged interpreter; ``version`` is None where it could not be queried, for the reason in ``failure``."""

    version: str | None
    bits: int = 64
    pip: bool = True
    manager: Literal["conda", "uv", "poetry"] | None = None
    """The installer of this environment; None for pip, and where that is unknown."""
    managed: bool = False
    """Whether only the system's package manager may install here: ``EXTERNALLY-MANAGED``, PEP 668."""
    free_threaded: bool = False
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class TorchImport:
    """The outcome of importing torch in a subprocess."""

    outcome: Literal["ok", "raised", "hung", "killed", "skipped"]
    detail: str | None = None
    """The last line of the exception, the signal, or the time limit in seconds."""
    guilty: str | None = None
    """The package that torch imports and that, imported alone, ends the interpreter in the same way."""
    available: bool | None = None
    """`torch.cuda.is_available`, or the same for the accelerator that the build is for."""
    device_count: int | None = None
    nccl: str | None = None
    cudnn: str | None = None
    mps: bool | None = None
    """`torch.backends.mps.is_available`, on macOS."""
    metal: bool | None = None
    """Whether the build has `torch._C._mps_loadMetalllib`."""
    torchcomms_on: bool | None = None
    """`torch.distributed.config.use_torchcomms`, where torch has it."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InstalledTorch:
    """The installed torch, by its files and, where it could be imported, by its own answers."""

    version: str
    cuda: str | None = None
    hip: str | None = None
    xpu: str | None = None
    compiled: tuple[str, ...] = ()
    """The architectures that it has code for: ``sm_90`` is machine code, ``compute_90`` is PTX."""
    requires: tuple[str, ...] = ()
    """The requirements in its metadata on NVIDIA's libraries and on triton, verbatim."""
    installer: str | None = None
    """The installer, by its ``INSTALLER`` file: ``pip``, ``uv``, ``conda``, ``poetry``."""
    new_abi: bool | None = None
    """Whether its libraries take strings of libstdc++'s new ABI (``_GLIBCXX_USE_CXX11_ABI=1``); None: unknown."""
    imported: TorchImport = field(default_factory=lambda: TorchImport("skipped"))


@dataclass(frozen=True, slots=True)
class CompiledExtension:
    """An installed distribution with compiled code that needs torch's libraries, or a CUDA runtime.

    A distribution with libraries for several major versions of CUDA has one entry for each.
    """

    distribution: str
    version: str
    cuda: str | None = None
    """The major version in ``libcudart.so.N``; None where it needs no CUDA runtime, or brings its own."""
    torch: str | None = None
    """The torch minor version in its own version: 2.4 for ``2.6.3+cu12torch2.4``."""
    new_abi: bool | None = None
    """Whether it passes strings of libstdc++'s new ABI to torch; None where it passes none, or was not read."""
    linked: bool = False
    """Whether its libraries were read and use torch's C++ symbols."""
    missing: tuple[str, ...] = ()
    """The first few of these symbols that the installed torch does not define."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU, whether or not the environment hides it from programs."""

    name: str
    vendor: Literal["nvidia", "amd", "intel", "apple"] = "nvidia"
    capability: str | None = None
    """NVIDIA's compute capability, ``9.0``; AMD's target, ``gfx942``."""
    memory_mib: int | None = None
    mig: bool | None = None


@dataclass(frozen=True, slots=True)
class DriverSource:
    """One source of the driver version, and its answer or why it gave none."""

    name: Literal["nvml", "sys", "proc", "nvidia-smi"]
    version: str | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class NvidiaDriver:
    """The NVIDIA driver, by every source that responded."""

    version: str | None = None
    """From the first source that responded, in the order NVML, ``/sys``, ``/proc``, ``nvidia-smi --query-gpu``."""
    cuda: str | None = None
    """The newest CUDA that the loaded ``libcuda`` supports; newer than the driver's own where cuda-compat is loaded."""
    init: int | None = None
    """The result of ``cuInit``; None where there is no ``libcuda``."""
    init_failure: str | None = None
    """How the process that called ``cuInit`` ended, where it did not return."""
    compat: bool = False
    """Whether the cuda-compat package's ``libcuda`` is on the library path."""
    mismatch: bool = False
    """Whether NVML reports that the loaded kernel module and the user libraries differ."""
    bus_devices: int = 0
    """The number of NVIDIA GPUs on the PCI bus, whether or not a driver is loaded."""
    sources: tuple[DriverSource, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceFile:
    """A file in ``/dev`` that programs need for a GPU and cannot use."""

    name: str
    """``nvidia-uvm``, ``kfd``, ``dri/renderD128``."""
    state: Literal["missing", "denied"]


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Everything the verdict needs, and nothing else."""

    platform: OperatingSystem
    python: Interpreter
    torch: InstalledTorch | None = None
    packages: dict[str, str] = field(default_factory=dict)
    """Normalized name → version, for the distributions that concern torch (nvidia-*, triton, companions …)."""
    requires: dict[str, str] = field(default_factory=dict)
    """Normalized name → the distribution's requirement on torch, verbatim: ``torch==2.12.1``."""
    extensions: tuple[CompiledExtension, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    driver: NvidiaDriver = field(default_factory=NvidiaDriver)
    devices: tuple[DeviceFile, ...] = ()
    shadowing: tuple[str, ...] = ()
    """CUDA libraries in the folders of ``LD_LIBRARY_PATH``, which may be loaded instead of torch's."""
    rocm: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    """The variables that decide which GPUs and backends programs see, without identifiers of single GPUs."""
    format: int = FACTS_FORMAT


def facts_to_json(facts: MachineFacts) -> dict[str, Any]:
    """Return the facts as JSON data; fields at their default are left out, so that a file shows what matters."""
    return {"format": facts.format, **_drop_defaults(facts)}


def _drop_defaults(value: Any) -> Any:
    """Return a value as JSON data without the fields that are at their default."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        default = {
            f.name: f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
            for f in dataclasses.fields(value)
        }
        kept = {name: getattr(value, name) for name in default}
        return {name: _drop_defaults(item) for name, item in kept.items() if item != default[name]}
    if isinstance(value, tuple):
        return [_drop_defaults(item) for item in value]
    return value


def parse_facts(data: Any) -> MachineFacts:
    """Read one machine's facts. Raises `FactsError` where a field is unknown, missing or of another type."""
    if not isinstance(data, dict):
        raise FactsError("a facts file holds a JSON object, or a list of them")
    if data.get("format") != FACTS_FORMAT:
        raise FactsError(f"format is {data.get('format')!r}; this version reads format {FACTS_FORMAT}")
    facts = _parse_value(MachineFacts, data, "facts")
    assert isinstance(facts, MachineFacts)
    versions = {
        "platform.glibc": facts.platform.glibc,
        "platform.macos": facts.platform.macos,
        "python.version": facts.python.version,
        "driver.version": facts.driver.version,
        "driver.cuda": facts.driver.cuda,
        "torch.cuda": facts.torch.cuda if facts.torch else None,
    }
    for name, version in versions.items():
        if version is not None and not re.match("[0-9]", version):
            raise FactsError(f"facts.{name}: expected a version, not {version!r}")
    for i, gpu in enumerate(facts.gpus):
        if gpu.vendor == "nvidia" and gpu.capability and not CAPABILITY_PATTERN.fullmatch(gpu.capability):
            raise FactsError(
                f"facts.gpus[{i}].capability: expected a number such as 9.0, not {gpu.capability!r}"
            )
    for i, name in enumerate(facts.torch.compiled if facts.torch and facts.torch.cuda else ()):
        if not ARCHITECTURE_PATTERN.fullmatch(name):
            raise FactsError(f"facts.torch.compiled[{i}]: expected a name such as sm_90, not {name!r}")
    return facts


_get_hints = functools.cache(typing.get_type_hints)


def _parse_value(kind: Any, data: Any, where: str) -> Any:
    """Return ``data`` as a value of the type ``kind``, checked all the way down; ``where`` is for messages."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        if not isinstance(data, dict):
            raise FactsError(f"{where}: expected an object")
        hints = _get_hints(typing.cast(type, kind))
        if unknown := data.keys() - hints.keys():
            raise FactsError(f"{where}.{min(unknown)}: unknown field")
        build: Any = kind
        try:
            return build(
                **{name: _parse_value(hints[name], item, f"{where}.{name}") for name, item in data.items()}
            )
        except TypeError as error:
            raise FactsError(f"{where}: {str(error).split(') ', 1)[-1]}") from None
    if origin is tuple:
        if not isinstance(data, list):
            raise FactsError(f"{where}: expected a list")
        return tuple(_parse_value(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    if origin is dict:
        if not isinstance(data, dict):
            raise FactsError(f"{where}: expected an object")
        return {str(key): _parse_value(arguments[1], item, f"{where}.{key}") for key, item in data.items()}
    if origin is Literal:
        if data not in arguments:
            raise FactsError(f"{where}: expected one of {', '.join(arguments)}")
        return data
    if origin in (types.UnionType, typing.Union):
        return None if data is None else _parse_value(arguments[0], data, where)
    if type(data) is not kind:
        raise FactsError(f"{where}: expected {_JSON_TYPES[kind]}, not {data!r}")
    return data


_JSON_TYPES = {str: "string", int: "integer", bool: "boolean"}
