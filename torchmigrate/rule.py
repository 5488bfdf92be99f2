"""What a rule is: its code, the symbols it watches, the versions it follows, and its check.

This module imports the standard library only, so that loading every rule stays cheap.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmigrate.context import Context
    from torchmigrate.documents.context import ReferenceContext
    from torchmigrate.documents.references import Reference, Sort
    from torchmigrate.findings import Finding
    from torchmigrate.uses import Use
    from torchmigrate.versions import Version

    Check = Callable[[Use, Context], Iterator[Finding]]
    ReferenceCheck = Callable[[Reference, ReferenceContext], Iterator[Finding]]
    Note = Callable[[Use, Context], Iterator[str]]


class Safety(enum.Enum):
    """How far a fix can be trusted.

    ``SAFE`` behaves the same wherever the code ran before; ``UNSAFE`` is right in the usual case, and the
    finding says when it is not; ``MANUAL`` has no rewrite, and the finding gives the recipe.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


class Severity(enum.Enum):
    """What the target version does to the code: refuses it, deprecates it, or merely knows something better."""

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
    """Asked for with ``hasattr``."""
    STRING = "string"
    """Named in a string: one that a patching function resolves, or the name of an environment variable."""


@dataclass(eq=False, slots=True)
class Rule:
    """One rule: everything the engine, the command line and the documentation know about it.

    ``symbols`` are qualified names. A segment ``()`` stands for the result of a call
    (``torch.jit.script().save``), a trailing ``*`` for any rest of a name (``torch._C._jit_*``), a leading dot
    for an attribute of any object (``.to_torchscript``), and a leading dollar sign for a string literal that names
    an environment variable (``$TORCH_NCCL_NAN_CHECK``).

    ``since`` is the version in which the replacement appeared, ``deprecated`` and ``breaks`` those in which
    torch warns and fails; severity follows from them (see `torchmigrate.versions.severity`).
    """

    code: str
    symbols: tuple[str, ...] = ()
    message: str = ""
    """One sentence on what is wrong and what to do; ``{symbol}`` is the symbol used."""
    since: Version | None = None
    deprecated: Version | None = None
    breaks: Version | None = None
    safety: Safety = Safety.MANUAL
    """Of the best fix that the rule can offer."""
    default: bool = True
    """Whether the rule runs without being selected."""
    kinds: frozenset[Kind] = frozenset(Kind)
    """The uses that the rule wants to see."""
    asks: tuple[str, ...] = ()
    """Symbols of other rules whose uses in the project this rule asks about."""
    references: tuple[Sort, ...] = ()
    """What the rule wants to see of project files: the rule looks at those and not at Python modules."""
    check_function: Check | None = None
    check_reference_function: ReferenceCheck | None = None
    note_function: Note | None = None
    name: str = ""
    """The file's name; this and the next two are set by `torchmigrate.registry`."""
    family: str = ""
    doc: str = ""

    def check(self, function: Check) -> Check:
        """Decorator: the function that turns a use into findings. Without one, every use is a finding."""
        self.check_function = function
        return function

    def check_reference(self, function: ReferenceCheck) -> ReferenceCheck:
        """Decorator: the function that turns a reference in a project file into findings."""
        self.check_reference_function = function
        return function

    def note(self, function: Note) -> Note:
        """Decorator: the function that names what a use of a symbol in ``asks`` tells about the project.

        Each name is afterwards found by `torchmigrate.project.Project.uses`, like a symbol. The function sees one
        file only, and runs whether or not the findings of any rule are wanted there.
        """
        self.note_function = function
        return function

    @property
    def watched(self) -> tuple[str, ...]:
        """Every symbol that has to be found for this rule: its own, and those that it asks about."""
        return (*self.symbols, *self.asks)

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.strip().split("\n", 1)[0]
