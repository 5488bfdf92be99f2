"""Enumerations: how code uses a symbol, what a project file is for, how severe a finding is, and how safe a fix is."""

from __future__ import annotations

import enum

LOCAL = "local"
"""Marks a field, as in ``Annotated[…, LOCAL]``, that has a meaning only in the process that created it; elsewhere it is an
empty tuple."""

SHARED = "shared"
"""Marks, like `LOCAL`, a field with a tuple of strings that many records have in common; it travels once for all of them."""


class Safety(enum.Enum):
    """How far a fix can be trusted.

    ``SAFE`` behaves the same wherever the code ran before; ``UNSAFE`` is right in the usual case, and the
    finding says when it is not; ``MANUAL`` has no rewrite, and the finding gives the recipe.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


class Severity(enum.Enum):
    """The effect of the target version on the code: it fails, it is deprecated, or there is something better."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return ("info", "warning", "error").index(self.value)


class Kind(enum.Enum):
    """How a piece of code uses a symbol."""

    CALL = "call"
    DECORATOR = "decorator"
    """A decorator without arguments; one with arguments is a CALL whose `Use.decorated` is set."""
    REFERENCE = "reference"
    ANNOTATION = "annotation"
    BASE = "base"
    ISINSTANCE = "isinstance"
    IMPORT = "import"
    """Imported by name, and not used under that name in this file."""
    ASSIGNMENT = "assignment"
    """Assigned to, or deleted: monkeypatching."""
    GUARD = "guard"
    """Checked for with ``hasattr``."""
    STRING = "string"
    """Named in a string: one that a patching function resolves, the name of an environment variable, or a module that a
    command runs."""


class Sort(enum.Enum):
    """What a reference in a project file is about."""

    REQUIREMENT = "requirement"
    """A package, ``name``, with its specifier as the value; a package without one has an empty value."""
    INDEX = "index"
    """The URL of an index or a page of links, or uv's ``torch-backend``, that gives torch's builds."""
    WHEEL = "wheel"
    """The URL of one wheel of torch's."""
    NAME = "name"
    """The name that a file gives to an index, where it defines or uses it."""
    IMAGE = "image"
    """A container image; ``name`` is the repository and the value the tag."""
    VARIABLE = "variable"
    """A variable that means something to torch's tools, such as ``TORCH_CUDA_ARCH_LIST``."""
    MODULE = "module"
    """A module of torch's that a command runs with ``python -m``."""
    PYTHON = "python"
    """The Python versions that the project supports."""


class InstallRole(enum.Enum):
    """The kind of installation that a file describes."""

    INSTALL = "install"
    TEST = "test"
    """Continuous integration, tox, nox: old versions are often installed there on purpose."""
    LOCK = "lock"
    """Written by a resolver: reported, never edited."""
    DOC = "documentation"
