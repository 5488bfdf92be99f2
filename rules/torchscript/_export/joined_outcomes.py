"""Chains that change together, since only one of them runs: they save one file, or go on in one variable.

if uses_script:
    module = torch.jit.script(net)
else:
    module = torch.jit.trace(net, example)
module.save(path)
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from torchmigrate.api import Fix, NoFix

from .module_origins import explain_origin
from .result_chain import ResultChain


@dataclass(frozen=True, slots=True)
class ChainOutcome:
    """The fix of a chain, or the reason why there is none."""

    chain: ResultChain
    fix: Fix | None
    reason: str | None
    lacks_inputs: bool = False
    """Whether only example inputs are missing."""


def join_outcomes(outcomes: dict[int, ChainOutcome]) -> dict[int, ChainOutcome]:
    """Return the outcomes, by the `id` of each member, where chains that change together have one fix."""
    return _join_alternatives(_join_peers(outcomes))


def _join_peers(outcomes: dict[int, ChainOutcome]) -> dict[int, ChainOutcome]:
    """Return the outcomes, with one fix for the chains of different branches of an ``if`` whose results go to the same places."""
    return {
        key: _join_branches(outcome, outcomes) if outcome.chain.peers else outcome
        for key, outcome in outcomes.items()
    }


def _join_branches(outcome: ChainOutcome, outcomes: Mapping[int, ChainOutcome]) -> ChainOutcome:
    chain = outcome.chain
    for peer in chain.peers:
        other = outcomes[id(peer.node)]
        if other.fix is None and outcome.fix is not None:
            reason = f"line {peer.node.lineno} makes the same result in another branch and has no fix: {other.reason}"
            return replace(outcome, fix=None, reason=reason)
    if outcome.fix is None:
        return outcome
    lead = outcomes[id(chain.leader.node)]
    every = [lead, *(outcomes[id(peer.node)] for peer in lead.chain.peers)]
    for one in every[1:]:
        lead.chain.needs_eval |= one.chain.needs_eval
    changes = [change for one in every if one.fix is not None for change in one.fix.changes]
    assert lead.fix is not None
    return replace(lead, fix=replace(lead.fix, changes=tuple(changes)))


def _join_alternatives(outcomes: dict[int, ChainOutcome]) -> dict[int, ChainOutcome]:
    """Return the outcomes, with one fix for the chains that save one file in several branches of an ``if``."""
    return {key: _join_outcome(outcome, outcomes) for key, outcome in outcomes.items()}


def _join_outcome(outcome: ChainOutcome, outcomes: Mapping[int, ChainOutcome]) -> ChainOutcome:
    fix, chain = outcome.fix, outcome.chain
    for save in chain.alternatives if fix is not None else ():
        other = outcomes.get(id(save.node))
        if other is None or other.fix is None:
            why = other.reason if other is not None else explain_origin(save, chain.ctx)
            reason = f"line {save.node.lineno} also saves this file and has no fix: {why}"
            return replace(outcome, fix=None, reason=reason)
        assert fix is not None
        fix = replace(fix, changes=(*fix.changes, *other.fix.changes))
        chain.needs_eval |= other.chain.needs_eval
    return replace(outcome, fix=fix)


def check_peers(chain: ResultChain) -> None:
    """Raise NoFix where the results of several branches are not saved, or used in different ways."""
    for peer in chain.peers:
        other = ResultChain(peer, chain.ctx)
        with contextlib.suppress(NoFix):
            other.follow_value(other.call)
        if not chain.saves or chain.mobile_saves or other.places != chain.places:
            line = peer.node.lineno
            raise NoFix(
                f"line {line} gives the variable another value in another branch; use a variable for each"
            )
