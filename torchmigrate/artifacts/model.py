"""What there is to say about a model file."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Unreadable(Exception):
    """A file, or a part of it, is not what it claims to be, or nobody should open it; the message says why."""


class Kind(str, Enum):
    """What a file is."""

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
class Method:
    """One function that a file offers, in the notation of its own format."""

    name: str
    arguments: tuple[str, ...] = ()
    returns: str = ""

    def __str__(self) -> str:
        arrow = f" -> {self.returns}" if self.returns else ""
        return f"{self.name}({', '.join(self.arguments)}){arrow}"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A model file, as far as its bytes tell. What is None or empty is not written in the file."""

    path: str
    kind: Kind
    size: int
    """In bytes."""
    torch: str | None = None
    """The torch that wrote it: its version, or ``2.1 or newer`` where only the layout tells."""
    producer: str | None = None
    format: str | None = None
    opset: str | None = None
    methods: tuple[Method, ...] = ()
    tensors: int = 0
    elements: int = 0
    """Of all its tensors."""
    dtypes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What else its user should know."""
    error: str | None = field(default=None)
    """Why it cannot be read, or should not be loaded."""
