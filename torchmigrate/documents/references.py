"""What a project file says about an installation, whatever its format: a flat list of references."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field

from torchmigrate.documents.purposes import Purpose
from torchmigrate.documents.values import Value
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort


class Role(enum.Enum):
    """What the installation that a reference belongs to is for."""

    INSTALL = "install"
    TEST = "test"
    """Continuous integration, tox, nox: old versions are often installed there on purpose."""
    LOCK = "lock"
    """Written by a resolver: reported, never edited."""
    DOC = "documentation"


IN_DOCUMENTATION = "documentation says what was tried: it follows the project's own files"
"""Why there is no fix in a file of `Role.DOC`."""


class Style(enum.Enum):
    """How versions are written."""

    PEP508 = "pep508"
    POETRY = "poetry"
    CONDA = "conda"


@dataclass(eq=False, slots=True)
class Environment:
    """What ends up in one Python: a list of requirements, the stages of an image, a job, a script.

    It moves as a whole from one state in which everything fits to another, or not at all.
    """

    units: list[Unit] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    """Where it is written; empty: the whole file."""
    includes: list[str] = field(default_factory=list)
    """The files whose requirements it installs too, as it names them; a project is its folder with a ``/`` at the end."""
    held: str = ""
    """Why nothing may move that is installed into it; empty if it may."""
    copied: dict[str, str] = field(default_factory=dict)
    """Where the files lie that are copied into an image, by their names in it."""
    unread: str = ""
    """A command that could not be read; empty if there is none."""
    of_image: bool = False
    """Whether it is made on top of an image, which brings a Python."""
    around: Environment | None = None
    """What is set before any of several environments in a file begins."""

    def of(self, sort: Sort, *names: str) -> list[Reference]:
        """The references of a sort, with one of the names where any is given."""
        return [reference for unit in self.units for reference in unit.of(sort, *names)]

    def text(self, view: str) -> str:
        """Its text in that of the file."""
        return "\n".join(view[span.start : span.end] for span in self.spans) if self.spans else view


@dataclass(eq=False, slots=True)
class Unit:
    """What is installed together: one command, or one file that states requirements."""

    role: Role
    environment: Environment
    fixed: str = ""
    """Why it may not be edited; empty if it may."""
    references: list[Reference] = field(default_factory=list)

    def of(self, sort: Sort, *names: str) -> list[Reference]:
        """The references of a sort, with one of the names where any is given."""
        return [r for r in self.references if r.sort is sort and (not names or r.name in names)]


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """One thing that a project file states. Spans are byte offsets into the document's text."""

    sort: Sort
    name: str
    value: Value
    span: Span
    """The reference as it is written, its option or quotes left out."""
    unit: Unit
    option: str = ""
    """How a command or a file introduces it: ``--index-url``, ``FROM``, ``ARG``; empty where it just stands there."""
    removal: Span | None = None
    """What has to go where the reference goes; None where it cannot simply go."""
    undecided: str = ""
    """What the value depends on and the file does not tell: a variable or an expression."""
    several: bool = False
    """Whether this is one of several values that the file gives."""
    style: Style = Style.PEP508
    marker: str = ""
    """The environment marker of a requirement."""
    fixed: str = ""
    """Why it may not be edited here: its hash is pinned, …; empty if it may."""
    purpose: Purpose = Purpose.RUN
    """Who needs a requirement."""
    extras: str = ""
    """The extras that a requirement asks for, in their brackets."""

    @property
    def text(self) -> str:
        """The value."""
        return self.value.text

    @property
    def decided(self) -> bool:
        """Whether the value is known."""
        return not self.undecided


def normalized(name: str) -> str:
    """A package's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
