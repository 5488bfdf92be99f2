"""The graph of which finding waits for which other one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from torchmigrate.model.findings import Finding, Place

Wait = tuple[Place, Place | None]
"""The place of a finding, and the place that it waits for."""


def list_waits(findings: Iterable[Finding]) -> list[Wait]:
    """Return the place of each finding that has one, with the place that it waits for."""
    return [(Place(one.path, one.location.line), one.waits_for) for one in findings if one.location]


def find_circle(waits: Iterable[Wait]) -> list[Place]:
    """Return places that wait for each other in a circle; empty if there is none.

    A finding that waits for its own line waits for another finding there, which must not wait itself.
    """
    waits = list(waits)
    final = {own for own, other in waits if other is None}
    graph: dict[Place, set[Place]] = defaultdict(set)
    for own, other in waits:
        if other is not None and (other != own or own not in final):
            graph[own].add(other)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
