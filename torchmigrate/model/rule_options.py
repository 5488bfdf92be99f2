"""The settings that rules can read."""

from __future__ import annotations

from dataclasses import dataclass

from torchmigrate.model.torch_versions import OLDEST, Version


@dataclass(frozen=True)
class RuleOptions:
    """The settings that rules can read (see `torchmigrate.settings.settings.Settings`)."""

    target: Version
    minimum: Version
    device_agnostic: bool = False
    script_replacement: str = "compile"
    keep_torchscript_support: bool = True
    export_unread_files: bool = False
    gpu_architectures: tuple[str, ...] = ()
    resolve: bool = False
    relax: bool = False
    cuda: str = ""
    allow_unverified_images: bool = False
    line_length: int | None = None
    """The line length of the project's formatter, if it names one."""
    declared: Version = OLDEST
    """The lower bound in the project's own files, which tells what its code was written for; ``minimum``, which the user can
    set, tells what it has to support."""
