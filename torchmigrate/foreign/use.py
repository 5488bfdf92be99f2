"""One place where a file in another language names something of torch's runtime."""

from __future__ import annotations

from dataclasses import dataclass

from torchmigrate.model.findings import Span

UNREAD = "$unread"
"""The name of the use that stands for a whole file whose grammar is not installed."""

WRITES = "TorchScript file written in Python"
"""The name of a mention: Python code saves a model file, ``name``."""

RUNS = "TorchScript embedded"
"""The name of a mention: a file in another language calls the TorchScript runtime."""

READS = "TorchScript file read in another language"
"""The name of a mention: a file in another language names a model file, ``file``, with its ``language``."""

BRINGS = "LibTorch required"
"""The name of a mention: a pod or a Swift package of LibTorch is required."""

BRIDGES = "class around TorchScript"
"""The name of a mention: an Objective-C++ file that calls the runtime implements the class ``name``."""

LANGUAGES = {
    "cpp": "C++",
    "java": "Java",
    "kotlin": "Kotlin",
    "swift": "Swift",
    "rust": "Rust",
    "csharp": "C#",
    "go": "Go",
    "triton": "Triton",
    "commands": "a command",
}
"""How a language is called in a message."""


@dataclass(frozen=True, slots=True)
class ForeignUse:
    """What is named, in the spelling of its own language with all aliases undone: ``torch::jit::load``.

    ``span`` is in byte offsets into the text.
    """

    name: str
    span: Span
    file: str = ""
    """The name of the model file that is given to it, without folders; empty where none is written out."""
    handler: str = ""
    """The Python file that loads the model file; empty where none is written out."""
    version: str = ""
    """The version, and the variant, of what is required or fetched; empty where none is written out."""
    calls: bool = False
    """Whether code runs here, and nothing is only required, included or imported."""
