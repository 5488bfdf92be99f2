"""The builds that conda needs for another Python: each release of a package of conda has builds for some Pythons only."""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.documents import resolver
from torchmigrate.documents.blocker import Blocker
from torchmigrate.documents.package_fit import FAMILY
from torchmigrate.documents.proposed_state import ProposedState
from torchmigrate.documents.references import Reference, VersionStyle
from torchmigrate.documents.relaxations import find_python_build
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.tables import package_requirements


def list_pins_of_builds(state: ProposedState) -> list[Reference]:
    """Return the pins of conda that need a build for another Python than today's; none if the Python stays.

    A build that names no Python is for all of them.
    """
    _, excluding = state.choose_python()
    if not any(one.option == "conda" and one.unit.environment is state.environment for one in excluding):
        return []
    return [
        one
        for one in state.requirements
        if one.style is VersionStyle.CONDA
        and one.name not in FAMILY | state.replaced
        and any(clause.is_upper for clause in parse_clauses(one))
        and (one.text.count("=") < 2 or "==" in one.text or find_python_build(one))
    ]


def find_unbuilt_pins(state: ProposedState) -> Iterator[Blocker]:
    """Yield the pins of conda without a build for the new Python, as far as wheels tell.

    The release that fits is the nearest series that has wheels: conda builds one for the Pythons that its project supported.
    """
    if len(_list_other_builds(state)) > _MOST_BUILDS:
        return  # which has its own reason
    python = f"3.{state.choose_python()[0]}"
    exact = {
        (one.name, clause.public_version): one
        for one in list_pins_of_builds(state)
        for clause in [c for c in parse_clauses(one) if not c.version.endswith("*")][:1]
    }
    nearest = {
        pin: package_requirements.find_first_wheel(pin[0], python)
        for pin in exact
        if package_requirements.has_wheel(*pin, python) is False
    }
    if state.resolves:
        nearest |= resolver.find_nearest_wheels(exact.keys() - nearest, python)
    for pin, one in exact.items():
        if nearest.get(pin):
            shown = one.shown
            reason = f"blocked by `{shown}`: it has no wheel for Python {python}, and most likely no conda build either"
            yield Blocker(reason, one, ".".join(nearest[pin].split(".")[:2]))


def find_other_builds(state: ProposedState) -> Iterator[Blocker]:
    """Yield the pins of builds of conda for another Python than the new one."""
    minor, _ = state.choose_python()
    found = _list_other_builds(state)
    if len(found) > _MOST_BUILDS:
        yield Blocker(
            f"conda exported the list with {len(found)} builds for Python 3.{found[0][1]}, and other releases have those"
            f" for 3.{minor}; create the environment anew with Python 3.{minor}, and export that"
        )
        return
    for one, built in found:
        reason = f"blocked by `{one.shown}`: its build is for Python 3.{built}"
        yield Blocker(reason, one, is_build=True)


def _list_other_builds(state: ProposedState) -> list[tuple[Reference, str]]:
    """Return the pins of builds for another Python than the new one, each with the minor version of that Python."""
    minor, _ = state.choose_python()
    return [
        (one, build["minor"])
        for one in (state.requirements if state.stated_pythons else ())
        if (build := find_python_build(one))
        and int(build["minor"]) != minor
        and one.name not in FAMILY | state.replaced
    ]


_MOST_BUILDS = 5
"""The number of builds for another Python up to which each of their releases may well have one for the new Python."""
