"""The graph of which finding waits for which other one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from torchmigrate.model.findings import Finding, Place


def find_circle(findings: Iterable[Finding]) -> list[Place]:
    """Return places that wait for each other in a circle; empty if there is none.

    A finding that waits for its own line waits for another finding there, which must not wait itself.
    """
    findings = list(findings)
    final = {Place(one.path, one.location.line) for one in findings if one.location and one.waits_for is None}
    graph: dict[Place, set[Place]] = defaultdict(set)
    for finding in findings:
        if finding.waits_for is not None and finding.location is not None:
            own = Place(finding.path, finding.location.line)
            if finding.waits_for != own or own not in final:
                graph[own].add(finding.waits_for)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
