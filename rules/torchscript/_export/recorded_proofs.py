"""What the proofs of recorded runs mean for the fix that exports a module."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, NoFix, Safety
from torchmigrate.record.record_facts import ExportProof, ScriptCall

if TYPE_CHECKING:
    from .result_chain import ResultChain


_EXPORTS = "Use `torch.export`"
"""The beginning of the titles of fixes that export, which the proofs are about."""


def judge_by_proof(fix: Fix, chain: ResultChain) -> Fix:
    """Return the fix, safe if a recorded run has proved it. Raise NoFix where a run has shown that it does not work.

    It is proved where the export gives equal results for all recorded inputs, each call of the result has run, no gradients flow,
    and no file changes.
    """
    if not fix.title.startswith(_EXPORTS):
        return fix
    evidence, call = chain.ctx.recorded, chain.call
    lines = call.lineno, call.end_lineno or call.lineno
    proofs = evidence.find_facts(ExportProof, *lines) if evidence.is_own else []
    for proof in proofs:
        if proof.decided and not proof.holds:
            at = proof.refused_at
            where = f" ({at.path}:{at.line})" if at is not None else ""
            raise NoFix(f"a recorded run has tried the export, and it fails: {proof.reason}{where}")
    if not proofs or chain.saves or not all(proof.holds for proof in proofs):
        return fix
    calls = evidence.find_facts(ScriptCall, *lines)
    ran = {
        evidence.find_line(one.caller)
        for one in calls
        if one.caller is not None and one.of is not None and one.caller.path == one.of.path
    }
    is_covered = all(
        ran.intersection(range(one.lineno, (one.end_lineno or one.lineno) + 1)) for one in chain.find_calls()
    )
    if not is_covered or not calls or any(one.grad for one in calls):
        return fix
    number = sum(proof.compared for proof in proofs)
    inputs = "input" if number == 1 else f"{number} inputs"
    return replace(
        fix, safety=Safety.SAFE, title=f"{fix.title}; a recorded run has proved equal results for {inputs}"
    )
