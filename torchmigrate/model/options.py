"""The settings that rules can read."""

from __future__ import annotations

from dataclasses import dataclass

from torchmigrate.model.versions import Version


@dataclass(frozen=True)
class Options:
    """The settings that rules can read (see `torchmigrate.settings.settings.Settings`)."""

    target: Version
    minimum: Version
    device_agnostic: bool = False
    script_replacement: str = "compile"
    keep_torchscript_support: bool = True
    gpu_architectures: tuple[str, ...] = ()
    resolve: bool = False
