"""The wording that the probe's findings share: a finding about a machine has no file, and names GPUs and builds briefly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from torchmigrate.model.findings import Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.probe.facts import Facts, Gpu
from torchmigrate.tables.matrix import Build


def error(code: str, message: str, hint: str | None = None) -> Finding:
    """Create a finding about something that does not work."""
    return Finding(code, message, Severity.ERROR, path="", hint=hint)


def warning(code: str, message: str, hint: str | None = None) -> Finding:
    """Create a finding about something that will stop working, or that is unreliable."""
    return Finding(code, message, Severity.WARNING, path="", hint=hint)


def info(code: str, message: str, hint: str | None = None) -> Finding:
    """Create a finding that only informs."""
    return Finding(code, message, Severity.INFO, path="", hint=hint)


def name(gpu: Gpu) -> str:
    """Return a GPU's name with its compute capability: ``NVIDIA H200 (9.0)``."""
    return f"{gpu.name} ({gpu.capability})" if gpu.vendor == "nvidia" and gpu.capability else gpu.name


def names(gpus: Iterable[Gpu]) -> str:
    """Return the names of several GPUs, equal ones counted: ``2 x NVIDIA H200 (9.0) and Tesla T4 (7.5)``."""
    counts = Counter(map(name, gpus))
    parts = [text if count == 1 else f"{count} x {text}" for text, count in counts.items()]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def driver_text(facts: Facts) -> str:
    """Return the NVIDIA driver with its version: ``driver 570.86.10``."""
    return f"driver {facts.driver.version}" if facts.driver.version else "an unknown driver"


def describe_build(build: Build, version: str | None = None) -> str:
    """Return a build as ``2.14 (cu126)``, with a note where nobody has read its wheel."""
    note = {"wheel": "", "documented": ", documented but not verified", "named": ", possibly never published"}
    return f"{version or build.torch} ({build.variant}{note[build.evidence]})"
