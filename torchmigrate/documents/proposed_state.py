"""The state of an environment after the edits of a move: what is installed, with which Python, and beside what."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from torchmigrate.documents import base_images
from torchmigrate.documents.build_choice import requires_only_cpu
from torchmigrate.documents.package_fit import FitQuestion
from torchmigrate.documents.proposed_edits import ProposedEdits
from torchmigrate.documents.python_versions import choose_minor, find_possible_minors
from torchmigrate.documents.references import Environment, InstallRole, Reference, find_references_in
from torchmigrate.documents.related_files import RelatedEnvironment
from torchmigrate.documents.version_clauses import marker_applies
from torchmigrate.documents.wheel_pages import uses_pages
from torchmigrate.model.findings import Edit
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import package_requirements
from torchmigrate.tables.torch_builds import TorchBuild
from torchmigrate.text.source_text import SourceText
from torchmigrate.text.text_edits import apply_edits


@dataclass(frozen=True, slots=True)
class ProposedState:
    """An environment as it would be after the edits, with the related environments of other files."""

    environment: Environment
    text: str
    """The text of the environment after the edits."""
    neighbours: tuple[RelatedEnvironment, ...]
    """The related environments after their edits."""
    originals: tuple[RelatedEnvironment, ...]
    """The related environments before their edits."""
    chosen: TorchBuild
    releases: dict[str, str]
    """Package of the torch family → the release that would be installed."""
    replaced: frozenset[str]
    """The libraries whose requirements follow the new build."""
    is_whole: bool
    """Whether all edits are there; what others would change has its own reason."""
    resolves: bool = False
    """Whether packages that the tables lack, and wheels for a Python, are left to a resolver."""

    @property
    def all_environments(self) -> list[Environment]:
        """The environment and the related ones."""
        return [self.environment, *(neighbour.environment for neighbour in self.neighbours)]

    @property
    def question(self) -> FitQuestion:
        """What each package has to fit."""
        return FitQuestion(
            self.chosen,
            self.releases["torch"],
            self.oldest_python,
            not requires_only_cpu(self.all_environments),
            self.resolves,
            uses_pages(self.all_environments),
        )

    @property
    def requirements(self) -> list[Reference]:
        """All requirements as they are now, also those of the related files."""
        return find_references_in(self._originals, Sort.REQUIREMENT)

    @property
    def _originals(self) -> list[Environment]:
        return [self.environment, *(original.environment for original in self.originals)]

    def find_path(self, reference: Reference) -> str:
        """Return the path of the related file that has a reference as it is now; empty for the file of the environment itself."""
        paths = {id(original.environment): original.path for original in self.originals}
        return ({id(self.environment): ""} | paths)[id(reference.unit.environment)]

    @property
    def python_range(self) -> tuple[str, str]:
        """The oldest and the newest Python with wheels of the new torch, or twice that of its image."""
        has_image = bool(find_references_in(self.all_environments, Sort.IMAGE, "pytorch/pytorch"))
        brought = base_images.find_image_python(self.chosen) if has_image else None
        return (brought, brought) if brought else self.chosen.python

    @property
    def stated_pythons(self) -> list[Reference]:
        """The Pythons that the environments ask for today; a test with an older one follows its project."""
        every = find_references_in(self._originals, Sort.PYTHON)
        return [one for one in every if one.unit.role is not InstallRole.TEST]

    def choose_python(self) -> tuple[int, list[Reference]]:
        """Return the minor version of the Python after the move, and the references that exclude it."""
        return choose_minor(self.stated_pythons, self.python_range, self.environment)

    @property
    def oldest_python(self) -> str:
        """The Python that the environment may have after the move: of several the oldest, preferably one in the tables."""
        minor, excluding = self.choose_python()
        known = find_possible_minors(self.stated_pythons, self.python_range, self.environment)
        covered = [n for n in sorted(known) if package_requirements.has_wheel_data(f"3.{n}")]
        return f"3.{minor}" if excluding or self.resolves or not covered else f"3.{covered[0]}"


def create_state(
    own: ProposedEdits,
    edits: tuple[Edit, ...],
    beside: tuple[RelatedEnvironment, ...],
    originals: tuple[RelatedEnvironment, ...],
    others: Collection[ProposedEdits],
) -> ProposedState:
    """Return the environment as it would be after the edits."""
    elsewhere = [
        Edit(one.span.start, one.span.end, "")
        for one in own.environment.find_references(Sort.REQUIREMENT)
        if not marker_applies(one, own.chosen.python)
    ]
    every = [own, *others]
    text = _render_environment(own.source, own.environment, (*edits, *elsewhere))
    releases = {name: release for one in every for name, release in one.family_releases.items()}
    replaced = frozenset(name for one in every for name in one.replaced)
    is_whole = not any(one.reasons for one in every)
    return ProposedState(own.environment, text, beside, originals, own.chosen, releases, replaced, is_whole)


def _render_environment(source: SourceText, environment: Environment, edits: tuple[Edit, ...]) -> str:
    """Return the text of the environment after the edits."""
    if not environment.spans:
        return apply_edits(source.original, list(edits)).decode("latin-1")
    parts = []
    for span in environment.spans:
        inside = [
            Edit(edit.start - span.start, edit.end - span.start, edit.text)
            for edit in edits
            if span.start <= edit.start and edit.end <= span.end
        ]
        parts.append(apply_edits(source.original[span.start : span.end], inside).decode("latin-1"))
    return "\n".join(parts)
