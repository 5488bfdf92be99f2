"""Whether a required package fits a build of torch: why it does not, or may not, and which release of it does.

One rule holds for ``x``, ``x>=4``, ``x>=4,<5`` and ``x==4.5``: the newest release that the requirement admits is judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchmigrate.documents.references import Reference, VersionStyle
from torchmigrate.documents.version_clauses import VersionClause, parse_clauses
from torchmigrate.tables import package_conflicts, package_requirements, page_wheels
from torchmigrate.tables.package_requirements import find_newest, is_built_for_one_torch
from torchmigrate.tables.torch_builds import TorchBuild, get_major, parse_number

FAMILY = package_requirements.FAMILY | {"pytorch"}
RESOLVER_ADVICE = "; --resolve asks the index"
"""The end of a check that a resolver makes unnecessary."""


@dataclass(frozen=True, slots=True)
class FitQuestion:
    """What a package has to fit."""

    chosen: TorchBuild
    torch: str
    """The release of torch that would be installed."""
    python: str
    """The oldest Python that the environment may have."""
    needs_gpu: bool = True
    """Whether the environment uses more than the CPU build."""
    resolves: bool = False
    """Whether packages that the tables lack are left to a resolver, unless they are built for one torch."""
    has_pages: bool = False
    """Whether packages come from PyG's or DGL's pages of wheels."""


def explain_refusal(one: Reference, asked: FitQuestion) -> str:
    """Return why a package does not support the new torch, or may not; empty if it does."""
    if library := re.fullmatch(r"nvidia-[\w-]+-cu(\d\d)", one.name):
        if library[1] != get_major(asked.chosen.cuda):
            return f"it is a library for CUDA {library[1]}"
        pinned = any(clause.is_upper for clause in parse_clauses(one)) and not asked.chosen.default
        build = f"torch {asked.chosen.version} ({asked.chosen.variant})"
        return f"it is unclear which release {build} requires" if pinned else ""
    if one.undecided:
        return f"its version depends on `{one.undecided}`"
    if page_wheels.is_on_pages(one.name):
        return _explain_missing_page(one, asked)
    if local := next((clause.local for clause in parse_clauses(one) if clause.local), ""):
        return f"it is a custom build (`+{local}`)"
    if one.style is VersionStyle.CONDA:
        return _explain_conda_refusal(one, asked)
    return _explain_release_refusal(one, asked)


def _explain_missing_page(one: Reference, asked: FitQuestion) -> str:
    """Return why a package whose wheels are on PyG's or DGL's pages does not fit a torch without such wheels."""
    variant = asked.chosen.variant if asked.needs_gpu else "cpu"
    if release := page_wheels.find_release(one.name, asked.chosen.torch, variant):
        # A pin of a wheel has moved with its page.
        admits = asked.has_pages or _admits(one, release)
        return "" if admits else f"its release for torch {asked.chosen.torch} is {release}"
    last = page_wheels.find_last_torch(one.name)
    build = f"torch {asked.chosen.torch}" + (
        f" and {asked.chosen.variant}" if last == asked.chosen.torch else ""
    )
    known = f"; the last ones are for torch {last}" if last and last != asked.chosen.torch else ""
    reason = f"no wheels of it for {build} are known{known}"
    if one.name in _IN_PYG_LIB:
        return f"{reason}; pyg-lib has its functions since 0.6"
    return reason


_IN_PYG_LIB = ("torch-cluster", "torch-spline-conv")
"""Packages that became parts of pyg-lib (https://pytorch-geometric.readthedocs.io/en/2.8.0/install/installation.html)."""


def _explain_release_refusal(one: Reference, asked: FitQuestion) -> str:
    """Return why the newest release that a requirement admits does not support the new torch, or may not."""
    name, upper = one.name, [clause for clause in parse_clauses(one) if clause.is_upper]
    wanted = find_newest_allowed(name, upper) if upper else ""
    before = any(clause.operator == "<" and clause.public_version == wanted for clause in upper)
    if reason := explain_conflict(name, wanted, asked, before=before):
        return reason
    is_known = is_built_for_one_torch(name) or package_requirements.has_known_requirements(name, wanted)
    free = not upper and (package_conflicts.names_cuda(name) or not _GPU_PACKAGE.search(name))
    if not is_known and (asked.resolves or free):
        return ""  # without a bound, an installer takes a release that fits
    if upper:
        return package_requirements.explain_refusal(name, wanted, asked.torch)
    newest = find_newest(name)
    if newest is None and is_built_for_one_torch(name):
        return "it is compiled against one torch, and it is unclear for which versions there are builds"
    reason = package_requirements.explain_refusal(name, newest or "", asked.torch)
    if reason and package_requirements.find_release_for(name, asked.torch):
        return ""  # an installer takes that one
    return f"{reason} (newest release: {newest})" if reason and newest else reason


def explain_no_release(name: str, asked: FitQuestion) -> str:
    """Return why even the newest release of a package does not fit; empty if it does, or is not known."""
    if reason := explain_conflict(name, "", asked):
        return reason
    newest = find_newest(name)
    if newest and package_requirements.has_wheel(name, newest, asked.python) is False:
        return f"{name} {newest} has no wheel for Python {asked.python} either"
    reason = package_requirements.explain_refusal(name, newest, asked.torch) if newest else ""
    return (
        reason.replace("it requires", f"{name} {newest} requires", 1)
        if reason.startswith("it requires")
        else ""
    )


_GPU_PACKAGE = re.compile(r"torch|cuda|cu1\d|gpu|triton|flash|attn|nvidia")
"""Words in the names of packages that may be built for one torch or one CUDA."""


def explain_conflict(name: str, release: str, asked: FitQuestion, *, before: bool = False) -> str:
    """Return why a release fails with the new torch or its CUDA although its metadata does not say so; empty if it does not."""
    if reason := package_conflicts.explain_failure(name, release, asked.torch, before=before):
        return reason
    if not asked.needs_gpu:
        return ""
    return package_conflicts.explain_cuda_conflict(name, release, asked.chosen.cuda or "", before=before)


def find_newest_allowed(name: str, upper: list[VersionClause]) -> str:
    """Return the newest release that upper bounds allow."""
    lowest = min(upper, key=lambda clause: parse_number(clause.public_version))
    bound = lowest.public_version.removesuffix(".*")
    newest = find_newest(name)
    exact = any(clause.operator in ("==", "===") for clause in upper)
    return newest if newest and not exact and parse_number(newest) < parse_number(bound) else bound


def _explain_conda_refusal(one: Reference, asked: FitQuestion) -> str:
    """Return why a conda package does not support the new torch, or may not; empty if it does."""
    if one.name in ("pytorch", "pytorch-cuda", "cudatoolkit", "cuda") or one.name.startswith("cuda-"):
        named = re.search(r"\d+", one.text)
        return f"it selects CUDA {named[0]}" if named and named[0] != get_major(asked.chosen.cuda) else ""
    return "it is unclear which torch conda's builds support" if is_built_for_one_torch(one.name) else ""


def depends_on_torch(name: str) -> bool:
    """Return whether a package requires torch or is built for one, as far as the tables know."""
    return is_built_for_one_torch(name) or package_requirements.requires_torch(name)


def is_pure_dependent(one: Reference, torch: str) -> bool:
    """Return whether a package of conda is one of pip's too, without code that is built for one torch, and fits ``torch``."""
    upper = [clause for clause in parse_clauses(one) if clause.is_upper]
    release = find_newest_allowed(one.name, upper) if upper else find_newest(one.name) or ""
    refusal = package_requirements.explain_refusal(one.name, release, torch)
    known = package_requirements.requires_torch(one.name) and not is_built_for_one_torch(one.name)
    return known and not refusal and not package_conflicts.explain_failure(one.name, release, torch)


@dataclass(frozen=True, slots=True)
class Fitting:
    """The release of a package that fits; see `Blocker.release` and `Blocker.check`."""

    release: str | None = None
    check: str = ""


def find_fitting(one: Reference, asked: FitQuestion) -> Fitting:
    """Return which release of a package fits, as far as the tables know."""
    if page_wheels.is_on_pages(one.name):
        return _find_fitting_source(one, asked)
    local = any(clause.local for clause in parse_clauses(one))
    if one.style is VersionStyle.CONDA and one.name == "cudatoolkit":
        return Fitting(
            None,
            "cudatoolkit: torch from pip has its own libraries; remove it unless something else needs it",
        )
    if one.style is VersionStyle.CONDA or one.undecided or local:
        return Fitting()
    newest = find_newest(one.name)
    if explain_conflict(one.name, "", asked):
        newest = package_conflicts.find_release_with_cuda(one.name, asked.chosen.cuda or "")
        if newest is None or explain_conflict(one.name, newest, asked):
            return Fitting()
    has_bound = any(clause.is_upper for clause in parse_clauses(one))
    unsure = f"{one.name}: nothing says which torch its builds are for; import it after the move"
    if newest is None:
        if is_built_for_one_torch(one.name):
            return Fitting("" if has_bound else None, unsure)
        return Fitting(None, f"{one.name}: it is not known which torch it requires{RESOLVER_ADVICE}")
    if package_requirements.has_wheel(one.name, newest, asked.python) is False:
        return Fitting()
    reason = package_requirements.explain_refusal(one.name, newest, asked.torch)
    if reason.startswith("it requires torch"):
        older = package_requirements.find_release_for(one.name, asked.torch)
        fits = older and package_requirements.has_wheel(one.name, older, asked.python) is not False
        return (
            Fitting(older)
            if fits and has_bound and not explain_conflict(one.name, older or "", asked)
            else Fitting()
        )
    return Fitting(newest if has_bound else None, unsure if reason else "")


def _find_fitting_source(one: Reference, asked: FitQuestion) -> Fitting:
    """Return which release of a package from PyG's pages fits where it is compiled on installation instead."""
    if asked.has_pages or one.name not in page_wheels.COMPILED or one.undecided:
        return Fitting()
    newest = page_wheels.find_newest_release(one.name)
    check = f"{one.name}: there is no wheel; compile it after torch with `pip install --no-build-isolation`"
    return Fitting(None if _admits(one, newest) else newest, check)


def _admits(one: Reference, release: str) -> bool:
    """Return whether the upper bounds of a requirement admit a release."""
    return all(clause.allows_any([release]) for clause in parse_clauses(one) if clause.is_upper)
