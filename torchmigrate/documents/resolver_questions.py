"""The questions to a resolver: an environment as the lines of a requirements file, with the pins that should stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torchmigrate.documents.references import Reference, VersionStyle, normalize_name
from torchmigrate.documents.upgrade_rules import find_cuda_tag
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.documents.wheel_pages import is_page
from torchmigrate.model.vocabulary import Sort


@dataclass(frozen=True, slots=True)
class ResolverQuestion:
    """What a resolver is asked: the lines of a requirements file, and the releases that stay where they can."""

    lines: tuple[str, ...]
    preferred: tuple[str, ...]
    python: str
    kept: tuple[str, ...] = ()
    """The pins that are given up only where a conflict names them; uv gives up preferred ones without need."""
    lowest: bool = False
    """Whether the oldest releases are wanted, not the newest."""
    alone: bool = False
    """Whether each package is asked about by itself, without what it requires."""
    ignored: tuple[str, ...] = ()
    """The packages that others require, and that nothing is known about, since they never had a wheel."""


class ResolverNotApplicable(Exception):
    """The exception for an environment that no resolver can be asked about; its text is the reason."""


def create_question(
    references: Iterable[Reference],
    own_names: frozenset[str],
    python: str,
    *,
    held: Mapping[str, str] | None = None,
    preferred: Iterable[str] = (),
    bounded: bool = False,
) -> ResolverQuestion:
    """Return the question about references. Raises ResolverNotApplicable.

    Packages in ``held`` have exactly that release, or are left out if it is empty; upper bounds hold only if ``bounded``. The
    index is never asked for ``own_names``, the projects in these files: whoever registered such a name there would
    answer, and what their extras install is among the references.
    """
    held = held or {}
    lines = dict.fromkeys(f"{name}=={release}" for name, release in held.items() if release)
    pins: dict[str, None] = {}
    for one in references:
        if one.sort is Sort.REQUIREMENT and one.name in (own_names | held.keys()):
            continue
        line, pin = _render_line(one, bounded=bounded)
        lines[line] = None
        pins[pin] = None
    known = {*held, *map(find_name, pins)}
    pins |= dict.fromkeys(pin for pin in preferred if find_name(pin) not in known)
    # Files that are installed together ask the same, whichever of them is asked about.
    return ResolverQuestion(tuple(sorted(filter(None, lines))), tuple(sorted(filter(None, pins))), python)


def find_name(line: str) -> str:
    """Return the name of the package in a line of a requirements file; empty for an option."""
    found = re.match(r"\w[\w.-]*", line)
    return normalize_name(found[0]) if found else ""


def _render_line(reference: Reference, *, bounded: bool) -> tuple[str, str]:
    """Return the line that asks for a reference, and the pin that is preferred. Raises ResolverNotApplicable.

    A line has the lower bounds only, unless the reference may not change, or is ``bounded`` and no pin. Both are empty for
    what a resolver does not need.
    """
    if reference.sort is Sort.INDEX and reference.option:
        if find_cuda_tag(reference) or _TORCH_INDEX.search(reference.text) or _MIRROR.match(reference.text):
            return "", ""
        if reference.undecided:
            raise ResolverNotApplicable(f"the index depends on `{reference.undecided}`")
        if reference.option == "--torch-backend":
            return "", ""
        return (
            f"{'--extra-index-url' if reference.option == 'index' else reference.option} {reference.text}",
            "",
        )
    if reference.sort is Sort.WHEEL and not is_page(reference):
        raise ResolverNotApplicable("it requires one specific wheel")
    if reference.sort is not Sort.REQUIREMENT or reference.style is VersionStyle.CONDA:
        return "", ""
    if reference.undecided:
        raise ResolverNotApplicable(f"the version of {reference.name} depends on `{reference.undecided}`")
    clauses = parse_clauses(reference)
    marker = f" ; {reference.marker}" if reference.marker else ""
    if reference.fixed or reference.several or any(clause.local for clause in clauses):
        kept = [clause.convert_to_pep508() for clause in clauses]
        return f"{reference.name}{reference.extras}{','.join(dict.fromkeys(kept))}{marker}", ""
    exact = [clause.public_version for clause in clauses if clause.is_exact]
    loose = [
        clause.convert_to_pep508() if bounded and not clause.is_exact else _loosen(clause.convert_to_pep508())
        for clause in clauses
    ]
    specifier = ",".join(dict.fromkeys(filter(None, loose)))
    pin = f"{reference.name}=={exact[0]}" if len(exact) == 1 else ""
    return f"{reference.name}{reference.extras}{specifier}{marker}", pin


_TORCH_INDEX = re.compile(r"download(?:-r2)?\.pytorch\.org/whl|/pytorch-wheels/")
_MIRROR = re.compile(
    r"https?://(?:(?:pypi\.|mirrors\.)?tuna\.tsinghua\.edu\.cn|mirrors\.(?:aliyun|cloud\.tencent|163)\.com"
    r"|(?:pypi\.)?mirrors\.ustc\.edu\.cn|pypi\.douban(?:io)?\.com|repo\.huaweicloud\.com)/(?!.*pytorch)"
)
"""A mirror of the default index, which has the same releases.

Sources: https://iotword.com/36329.html, http://www.dtcms.com/a/372286.html, https://jiangyoupai.com/p/HREL-_EhKRBYx_tgK_EdK.
"""


def _loosen(specifier: str) -> str:
    """Return a specifier without its upper bounds: ``==1.2`` becomes ``>=1.2``, ``<2`` nothing."""
    parts = []
    for part in specifier.split(","):
        if part.startswith(("==", "~=")):
            parts.append(">=" + part[2:].removesuffix(".*"))
        elif not part.startswith("<"):
            parts.append(part)
    return ",".join(parts)
