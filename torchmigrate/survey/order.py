"""Which repositories wait for which: libraries are upgraded before what requires them."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torchmigrate.survey.store import Kept


@dataclass(frozen=True, slots=True)
class Order:
    """The dependencies among the repositories of a survey, by name."""

    waits_for: Mapping[str, tuple[str, ...]]
    """The repositories whose packages a repository requires."""
    needed_by: Mapping[str, tuple[str, ...]]
    """The reverse."""
    waves: Mapping[str, int]
    """The wave in which a repository is upgraded, from 1; those that require each other are in one."""


def order_repositories(kept: Iterable[Kept]) -> Order:
    """Return the order of some repositories, from the packages that each defines and requires."""
    providers: dict[str, set[str]] = {}
    required: dict[str, list[str]] = {}
    for one in kept:
        for package in one.result.get("packages", ()):
            providers.setdefault(package, set()).add(one.name)
        required[one.name] = one.result.get("requires", [])
    # A package that several repositories define is a copy or a fork, and says nothing about who waits for whom.
    only = {package: next(iter(names)) for package, names in providers.items() if len(names) == 1}
    waits = {
        name: tuple(sorted({only[package] for package in packages if package in only} - {name}))
        for name, packages in required.items()
    }
    needed: dict[str, list[str]] = {name: [] for name in waits}
    for name, others in waits.items():
        for other in others:
            needed[other].append(name)
    return Order(waits, {name: tuple(sorted(names)) for name, names in needed.items()}, _find_waves(waits))


def _find_waves(waits: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    group = {name: name for name in waits}
    while True:
        graph: dict[str, set[str]] = {group[name]: set() for name in waits}
        for name, others in waits.items():
            graph[group[name]] |= {group[other] for other in others} - {group[name]}
        sorter = graphlib.TopologicalSorter(graph)
        try:
            order = list(sorter.static_order())
            break
        except graphlib.CycleError as circle:
            first, *rest = dict.fromkeys(circle.args[1])
            group = {name: first if its in rest else its for name, its in group.items()}
    waves: dict[str, int] = {}
    for one in order:
        waves[one] = 1 + max((waves[other] for other in graph[one]), default=0)
    return {name: waves[group[name]] for name in waits}
