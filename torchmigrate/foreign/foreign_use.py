"""A place where a file in another language names something of torch's runtime."""

from __future__ import annotations

from typing import NamedTuple

from torchmigrate.model.findings import Edit, Span

UNREAD = "$unread"
"""The name of the use that stands for a whole file whose grammar is not installed."""

FILE_WRITTEN = "TorchScript file written in Python"
"""The fact that Python code saves the model file ``name``."""

RUNTIME_CALLED = "TorchScript embedded"
"""The fact that a file in another language calls the TorchScript runtime."""

FILE_READ = "TorchScript file read in another language"
"""The fact that a file in another language, ``language``, names the model file ``file``."""

LIBTORCH_REQUIRED = "LibTorch required"
"""The fact that a pod or a Swift package of LibTorch is required."""

CLASS_BRIDGED = "class around TorchScript"
"""The fact that an Objective-C++ file that calls the runtime implements the class ``name``."""

FORKED_PACKAGE, FORKED_POD, FORKED_HEADER = "forked package ", "forked pod ", "forked header "
"""What the names of uses begin with that belong to a fork of PyTorch Mobile under another name."""

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
"""The names of languages in messages."""


class ForeignUse(NamedTuple):
    """One use, in the spelling of its language with all aliases resolved: ``torch::jit::load``.

    ``span`` is in byte offsets into the text.
    """

    name: str
    span: Span
    file: str = ""
    """The name, without folders, of the model file in the arguments; empty where it is not a literal."""
    handler: str = ""
    """The Python file that loads the model file; empty where it is not a literal."""
    version: str = ""
    """The required or fetched version and variant; empty where it is not a literal."""
    arguments: int = 0
    """The number of arguments of a call in C++."""
    calls: bool = False
    """Whether the use runs code, instead of only requiring, including or importing something."""
    edits: tuple[Edit, ...] = ()
    """The edits that replace it, where its tokens tell all that is needed."""
    unsafe: str = ""
    """Why the replacement may be wrong; empty if it never is."""
