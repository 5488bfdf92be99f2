"""The references that a project file makes to torch's installation: one flat list, whatever the format of the file."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from torchmigrate.documents.expanded_values import ExpandedValue
from torchmigrate.documents.requirement_purposes import Purpose
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import InstallRole as InstallRole
from torchmigrate.model.vocabulary import Sort

IN_DOCUMENTATION = "documentation records what was tried; update it after the project's own files"
"""The reason for no fix in a file of `InstallRole.DOC`."""


class VersionStyle(enum.Enum):
    """The syntax of a version specifier."""

    PEP508 = "pep508"
    POETRY = "poetry"
    CONDA = "conda"


@dataclass(eq=False, slots=True)
class Environment:
    """Everything that is installed into one Python: a list of requirements, the stages of an image, a job, a script.

    An upgrade moves all of an environment, or nothing of it.
    """

    units: list[InstallUnit] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    """The parts of the file that describe the environment, in bytes; empty: the whole file."""
    includes: list[str] = field(default_factory=list)
    """Other files whose requirements are installed too, as written here; a project is its folder with a ``/`` at the end."""
    blocker: str = ""
    """The reason why nothing in the environment may be upgraded; empty if there is none."""
    copied: dict[str, str] = field(default_factory=dict)
    """The files that are copied into an image: name in the image → path in the project."""
    unread: str = ""
    """The first command that could not be read; empty if there is none."""
    of_image: bool = False
    """Whether the environment is built on top of an image, which brings a Python."""
    around: Environment | None = None
    """The environment of the settings that the file makes before any of its several environments begins."""

    def find_references(self, sort: Sort, *names: str) -> list[Reference]:
        """Return the references of a sort; with ``names``, only the ones that have one of these names."""
        return [reference for unit in self.units for reference in unit.find_references(sort, *names)]

    def extract_text(self, view: str) -> str:
        """Return the part of a file's text ``view`` that describes the environment."""
        return "\n".join(view[span.start : span.end] for span in self.spans) if self.spans else view


@dataclass(eq=False, slots=True)
class InstallUnit:
    """The references that are installed together: those of one command, or of one file that states requirements."""

    role: InstallRole
    environment: Environment
    fixed: str = ""
    """The reason why nothing in the unit may be edited; empty if there is none."""
    ignores_indexes: bool = False
    """Whether pip ignores the index options of the unit, which stand after a requirement."""
    references: list[Reference] = field(default_factory=list)

    def find_references(self, sort: Sort, *names: str) -> list[Reference]:
        """Return the references of a sort; with ``names``, only the ones that have one of these names."""
        return [r for r in self.references if r.sort is sort and (not names or r.name in names)]


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """One requirement, index, image, variable or Python version in a project file. Spans are byte offsets."""

    sort: Sort
    name: str
    value: ExpandedValue
    span: Span
    """The reference as written, without its option or quotes."""
    unit: InstallUnit
    option: str = ""
    """The option or key before the value: ``--index-url``, ``FROM``, ``ARG``; empty where there is none."""
    removal: Span | None = None
    """The text to delete in order to delete the reference; None where deleting is not possible."""
    undecided: str = ""
    """The variable or expression that the value depends on and the file does not define."""
    several: bool = False
    """Whether this is one of several values that the file gives."""
    style: VersionStyle = VersionStyle.PEP508
    marker: str = ""
    """The environment marker of a requirement."""
    fixed: str = ""
    """The reason why the reference may not be edited: its hash is pinned, …; empty if there is none."""
    purpose: Purpose = Purpose.RUN
    """The purpose of a requirement: who needs it."""
    extras: str = ""
    """The extras of a requirement, in brackets."""
    spelling: str = ""
    """The name of a package as written; empty where that is its normalized name."""

    @property
    def text(self) -> str:
        """The value, all variables replaced."""
        return self.value.text

    @property
    def shown(self) -> str:
        """The requirement as messages show it."""
        return f"{self.shown_name}{self.text}"

    @property
    def shown_name(self) -> str:
        """The name as messages show it."""
        return self.spelling or self.name


def normalize_name(name: str) -> str:
    """Normalize a package's name as PEP 503 does."""
    return re.sub(r"[-_.]+", "-", name).lower()


def find_references_in(environments: Iterable[Environment], sort: Sort, *names: str) -> list[Reference]:
    """Return the references of a sort in several environments; with ``names``, only the ones that have one of these names."""
    return [found for one in environments for found in one.find_references(sort, *names)]
