"""The description of a model file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class UnreadableArtifact(Exception):
    """A file, or a part of it, is damaged, or is not what it claims to be, or is unsafe; the message says why."""


class ArtifactKind(str, Enum):
    """The kind of a model file."""

    TORCHSCRIPT = "TorchScript archive"
    LITE = "TorchScript archive for the Lite interpreter"
    EXPORTED = "exported program"
    AOTI = "AOTInductor package"
    EXECUTORCH = "ExecuTorch program"
    ONNX = "ONNX model"
    MAR = "TorchServe model archive"
    STATE = "state dict"
    SAVED = "saved object"
    MODULE = "pickled module"
    PACKAGE = "torch.package archive"
    POINTER = "Git LFS pointer"
    OTHER = "not a model"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class ArtifactMethod:
    """One function in a model file, in the notation of the file's format."""

    name: str
    arguments: tuple[str, ...] = ()
    returns: str = ""

    def __str__(self) -> str:
        arrow = f" -> {self.returns}" if self.returns else ""
        return f"{self.name}({', '.join(self.arguments)}){arrow}"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A model file, as its bytes describe it; a field that the file does not state is None or empty."""

    path: str
    kind: ArtifactKind
    size: int
    """In bytes."""
    torch: str | None = None
    """The version of torch that wrote it, or ``2.1 or newer`` where only the layout tells."""
    producer: str | None = None
    format: str | None = None
    opset: str | None = None
    methods: tuple[ArtifactMethod, ...] = ()
    tensors: int = 0
    elements: int = 0
    """The number of elements of all its tensors."""
    dtypes: tuple[str, ...] = ()
    weights_only: bool | None = None
    """Whether `torch.load` loads it with ``weights_only=True``; None for a file that is not loaded so."""
    needs: tuple[str, ...] = ()
    """The classes and functions that `torch.serialization.safe_globals` has to allow for that, as expressions of Python."""
    notes: tuple[str, ...] = ()
    """Other notes for the user of the file, as clauses."""
    error: str | None = None
    """Why it cannot be read, or should not be loaded, as a clause."""
