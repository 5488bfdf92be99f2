"""The moves of environments to another torch, each once and as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchmigrate.model.findings import Finding, Proposal, TorchMove

_LABELS = (
    ("relaxed", "relaxed"),
    ("deleted", "deleted"),
    ("blocked", "blocked"),
    ("choices", "or"),
    ("checks", "check"),
    ("left", "stays"),
    ("commands", "then run"),
)
"""Part of a proposal → the word before each of its lines."""


def collect_proposals(findings: Iterable[Finding]) -> list[Proposal]:
    """Return the proposals of findings, each once, in their order; of several files, as the first of them tells it."""
    found: dict[object, Proposal] = {}
    for one in (finding.proposal for finding in findings):
        if one is not None:
            found.setdefault((one.title, one.paths) if len(one.paths) > 1 else one, one)
    return [*found.values()]


def describe_proposal(proposal: TorchMove) -> Iterator[str]:
    """Yield the lines about a proposal: its title with its files, and what belongs to it, indented."""
    yield f"{proposal.title}: {', '.join(proposal.paths)}"
    for name, label in _LABELS:
        for text in dict.fromkeys(getattr(proposal, name)):
            yield f"  {label}: {text.removeprefix('blocked ')}"
    if isinstance(proposal, Proposal) and proposal.instead is not None:
        title, *lines = describe_proposal(proposal.instead)
        yield f"  instead: {title}"
        yield from (f"  {line}" for line in lines)
