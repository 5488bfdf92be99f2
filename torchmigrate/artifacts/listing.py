"""Model files as lines for a reader, and as JSON for a program."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable

from torchmigrate.artifacts.artifact import Artifact, ArtifactKind
from torchmigrate.console.terminal import escape_controls, escape_line

MAX_LINE_LENGTH = 200
"""The most characters of one line: a method may have hundreds of arguments."""

MAX_NOTE_LENGTH = 500
"""The most characters of a note, which may have code to copy."""


def render_artifact(artifact: Artifact) -> list[str]:
    """Return the lines about a file: what it is, then a line for each method and each note."""
    if artifact.kind in (ArtifactKind.UNREADABLE, ArtifactKind.OTHER):
        return [escape_line(f"{artifact.path}: {artifact.kind.value}: {artifact.error}")]
    about = [artifact.kind.value]
    if artifact.torch:
        about.append(f"torch {artifact.torch}")
    if artifact.producer and artifact.producer.partition(" ")[2] != artifact.torch:
        about.append(f"by {artifact.producer}")
    about += [part for part in (artifact.format, artifact.opset and f"opset {artifact.opset}") if part]
    about.append(format_size(artifact.size))
    if artifact.tensors:
        kinds = f" of {', '.join(artifact.dtypes)}" if artifact.dtypes else ""
        tensors = f"{artifact.tensors:,} tensor{'s' if artifact.tensors != 1 else ''}"
        about.append(f"{artifact.elements:,} elements in {tensors}{kinds}")
    text = [f"{artifact.path}: {', '.join(about)}"]
    text += [f"  {_shorten_line(str(method))}" for method in artifact.methods]
    text += [f"  {_shorten_line(note, MAX_NOTE_LENGTH)}" for note in artifact.notes]
    if artifact.error:
        text.append(f"  warning: {artifact.error}")
    return [escape_line(line) for line in text]


def render_text(artifacts: Iterable[Artifact]) -> str:
    """Render all files as lines."""
    return "".join(f"{line}\n" for artifact in artifacts for line in render_artifact(artifact))


def render_json(artifacts: Iterable[Artifact]) -> str:
    """Render all files as JSON; a field that a file does not state is null or empty."""
    files = []
    for artifact in artifacts:
        entry = dataclasses.asdict(artifact)
        entry["path"] = escape_controls(artifact.path)
        entry["kind"] = artifact.kind.name.lower()
        entry["signatures"] = [str(method) for method in artifact.methods]
        files.append(entry)
    return json.dumps({"version": 1, "files": files}, indent=2) + "\n"


def format_size(count: int) -> str:
    """Return a number of bytes in a readable unit: ``1.5 MiB``."""
    amount, unit = float(count), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{count} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"


def _shorten_line(text: str, most: int = MAX_LINE_LENGTH) -> str:
    return text if len(text) <= most else f"{text[: most - 2]} …"
