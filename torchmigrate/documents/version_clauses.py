"""Version specifiers of pip, Poetry and conda, clause by clause, with the offset of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.documents.references import Reference, VersionStyle
from torchmigrate.tables.torch_builds import parse_number

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_CLAUSE = re.compile(
    r"(?P<operator>===|==|~=|!=|<=|>=|<|>|\^|~|=)?[ \t]*v?(?P<version>\d+(?:\.(?:\d+|\*))*[\w.!-]*(?P<local>\+[\w.]+)?)",
    re.ASCII,
)
_UPPER = ("==", "===", "<", "<=", "~=", "^", "~", "=", "")
"""The operators that can exclude a newer version."""


@dataclass(frozen=True, slots=True)
class VersionClause:
    """One condition; ``start`` and ``end`` are the offsets of its version in the text of the reference."""

    operator: str
    version: str
    local: str
    start: int
    end: int
    style: VersionStyle

    @property
    def public_version(self) -> str:
        """The version without its local part."""
        return self.version.partition("+")[0]

    def allows_any(self, versions: Iterable[str]) -> bool:
        """Return whether the condition holds for any of the versions; True for a condition that is not understood."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            specifier = SpecifierSet(self.convert_to_pep508())
        except (InvalidSpecifier, ValueError):
            return True
        return any(specifier.contains(version, prereleases=True) for version in versions)

    def convert_to_pep508(self) -> str:
        """Return the condition in the syntax of PEP 508, without the local part."""
        if self.operator == "^" or (self.operator == "~" and self.style is VersionStyle.POETRY):
            return f">={self.public_version},<{self._find_bound()}"
        if self.style is VersionStyle.CONDA and self.operator in ("=", ""):
            return f"=={self.public_version.removesuffix('.*')}.*"
        operator = "==" if self.operator in ("", "=", "===") else self.operator
        return f"{operator}{self.public_version}"

    def _find_bound(self) -> str:
        """Return the first version that ``^`` or Poetry's ``~`` excludes.

        Source: https://python-poetry.org/docs/dependency-specification/.
        """
        numbers = [int(number) for number in re.findall(r"(?:^|(?<=\.))\d+(?![^.])", self.public_version)]
        last = len(numbers) - 1
        at = min(1, last)
        if self.operator == "^":
            at = next((place for place, number in enumerate(numbers) if number), last)
        return ".".join(map(str, [*numbers[:at], numbers[at] + 1]))

    @property
    def is_upper(self) -> bool:
        """Whether the condition can exclude a newer version."""
        return self.operator in _UPPER

    @property
    def is_exact(self) -> bool:
        """Whether the condition allows one version only."""
        return self.operator in ("==", "===", "=", "") and "*" not in self.version

    @property
    def minor_version(self) -> tuple[int, int] | None:
        """The first two numbers of the version."""
        found = re.match(r"(\d+)\.(\d+)", self.version)
        return (int(found[1]), int(found[2])) if found else None

    def raise_version(self, release: str, local: str = "") -> str:
        """Return the version to write in the place of this one so that ``release`` is allowed, in the same form."""
        major, minor, *_ = release.split(".")
        short = f"{major}.{minor}"
        if self.operator == "<":
            return f"{major}.{int(minor) + 1}"
        if self.public_version.endswith(".*"):
            return f"{short}.*"
        if self.operator == "~=":
            return f"{short}.0"
        is_loose = self.operator in ("~", "^", "=") or (
            self.style is VersionStyle.CONDA and not self.operator
        )
        if is_loose and self.public_version.count(".") == 1:
            return short
        if self.operator in ("~", "^"):
            return f"{short}.0"
        return release + (f"+{local}" if local else "")


def parse_clauses(reference: Reference) -> list[VersionClause]:
    """Return the conditions of a requirement; none if its value is undecided."""
    if reference.undecided:
        return []
    return [
        VersionClause(
            match["operator"] or "",
            match["version"],
            (match["local"] or "").lstrip("+"),
            match.start("version"),
            match.end("version"),
            reference.style,
        )
        for match in _CLAUSE.finditer(_strip_build(reference))
    ]


def marker_applies(
    reference: Reference, pythons: tuple[str, str] | None, system: tuple[str, str] | None = None
) -> bool:
    """Return whether a requirement's marker holds on a platform of torch's wheels, for one of a range of Pythons.

    ``pythons`` are the oldest and the newest. ``system`` restricts this to one platform, named as
    `platform.system` and `platform.machine` do.
    """
    if not reference.marker or pythons is None:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    try:
        marker = Marker(reference.marker)
        extras = {"", *re.findall(r"extra *[=!]= *['\"]([^'\"]+)", reference.marker)}
        first, last = (int(version.split(".")[1]) for version in pythons)
        return any(
            marker.evaluate(
                {**platform, "python_version": f"3.{n}", "python_full_version": f"3.{n}.9", "extra": extra}
            )
            for platform in _PLATFORMS
            if system is None or system == (platform["platform_system"], platform["platform_machine"])
            for n in range(first, last + 1)
            for extra in extras
        )
    except (InvalidMarker, UndefinedEnvironmentName, ValueError):
        return True


_PLATFORMS = tuple(
    {
        "sys_platform": system,
        "platform_system": name,
        "platform_machine": machine,
        "os_name": "nt" if system == "win32" else "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    for system, name, machine in (
        ("linux", "Linux", "x86_64"),
        ("linux", "Linux", "aarch64"),
        ("win32", "Windows", "AMD64"),
        ("darwin", "Darwin", "arm64"),
    )
)
"""The platforms that torch has wheels for, according to `torchmigrate/tables/data/wheels_read.json`."""


def list_patches(release: str) -> list[str]:
    """Return the patch releases that a minor version may have."""
    major, minor, *_ = release.split(".")
    return [f"{major}.{minor}.{patch}" for patch in range(10)]


def find_lower_bound(specifier: SpecifierSet) -> str:
    """Return the lower bound of a specifier; empty if it has none."""
    from packaging.version import Version

    bounds = [part.version for part in specifier if part.operator in ("==", ">=", "~=")]
    return max(bounds, key=Version, default="")


def list_allowed_versions(clause: VersionClause) -> list[str]:
    """Return typical versions among those that an upper bound allows."""
    public = clause.public_version.removesuffix(".*")
    if clause.operator in ("==", "===", "=", ""):
        return [public, f"{public}.99"] if clause.public_version.endswith(".*") else [public]
    if clause.operator == "<":
        numbers = [*parse_number(public)]
        while numbers and numbers[-1] == 0:
            numbers.pop()
        return [".".join(map(str, [*numbers[:-1], numbers[-1] - 1, 999]))] if numbers else []
    return [public, ".".join([*public.split(".")[:-1], "999"])] if clause.operator == "~=" else [public]


def find_lowest_minor(reference: Reference) -> tuple[int, int] | None:
    """Return the lowest minor version that a requirement allows; None if it has no lower bound.

    Of alternatives (``^2.4 || ^2.6``) the lowest counts.
    """
    bounds = []
    for alternative in re.split(r"\|\|?", "" if reference.undecided else _strip_build(reference)):
        found = [
            (int(number[1]), int(number[2] or 0))
            for clause in _CLAUSE.finditer(alternative)
            if clause["operator"] not in ("<", "<=", "!=")
            if (number := re.match(r"(\d{1,4})(?:\.(\d{1,4}))?(?!\d)", clause["version"]))
        ]
        if not found:
            return None
        bounds.append(max(found))
    return min(bounds)


def _strip_build(reference: Reference) -> str:
    """Return the text of a requirement, without the build string that conda has after the version."""
    if reference.style is VersionStyle.CONDA and (
        found := re.match(r"(={0,2}\s*[^=<>!~,\s]+)=[^=]", reference.text)
    ):
        return found[1]
    return reference.text
