"""The graph of which finding waits for which other one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from torchmigrate.model.findings import Finding, Place


def find_circle(findings: Iterable[Finding]) -> list[Place]:
    """Return places that wait for each other in a circle; empty if there is none."""
    graph: dict[Place, set[Place]] = defaultdict(set)
    for finding in findings:
        if finding.waits_for is not None and finding.location is not None:
            graph[Place(finding.path, finding.location.line)].add(finding.waits_for)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
