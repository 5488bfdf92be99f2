"""How the probe's findings are worded: a finding about a machine has no file, and names GPUs in a few words."""

from __future__ import annotations

from collections.abc import Iterable

from torchmigrate.model.findings import Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.probe.facts import Facts, Gpu
from torchmigrate.tables.matrix import Build


def error(code: str, message: str, hint: str | None = None) -> Finding:
    """Something that does not work."""
    return Finding(code, message, Severity.ERROR, path="", hint=hint)


def warning(code: str, message: str, hint: str | None = None) -> Finding:
    """Something that will not work, or that cannot be relied on."""
    return Finding(code, message, Severity.WARNING, path="", hint=hint)


def info(code: str, message: str, hint: str | None = None) -> Finding:
    """Something to know."""
    return Finding(code, message, Severity.INFO, path="", hint=hint)


def name(gpu: Gpu) -> str:
    """``NVIDIA H200 (9.0)``."""
    return f"{gpu.name} ({gpu.capability})" if gpu.vendor == "nvidia" and gpu.capability else gpu.name


def names(gpus: Iterable[Gpu]) -> str:
    """``2 x NVIDIA H200 (9.0) and Tesla T4 (7.5)``."""
    counts: dict[str, int] = {}
    for gpu in gpus:
        counts[name(gpu)] = counts.get(name(gpu), 0) + 1
    parts = [text if count == 1 else f"{count} x {text}" for text, count in counts.items()]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def driver_text(facts: Facts) -> str:
    """``driver 570.86.10``."""
    return f"driver {facts.driver.version}" if facts.driver.version else "an unknown driver"


def unread(build: Build) -> str:
    """What a reader has to know about where a row comes from."""
    return {
        "wheel": "",
        "documented": "; documented, not read in a wheel",
        "named": "; only named by torch, whether it was published is not known",
    }[build.evidence]
