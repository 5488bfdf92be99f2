"""What the proofs of recorded runs mean for the fixes that export a module, or compile a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from torchmigrate.api import Context, Fix, NoFix, Safety
from torchmigrate.record.record_facts import ExportProof, ScriptCall


def judge_by_proof(
    fix: Fix, tried: str, made: ast.expr, ctx: Context, have_run: Callable[[Sequence[ScriptCall]], bool]
) -> Fix:
    """Return the fix, safe if a recorded run has proved it. Raise NoFix where a run has shown that it does not work.

    ``tried`` is what the fix does, as `ExportProof` names it, and ``made`` the call or decorator that scripts or traces.
    It is proved where the results are equal for all recorded inputs, no gradients flow, and ``have_run`` finds all calls of
    the result among the recorded ones.
    """
    proofs = ctx.recorded.find_own_facts(ExportProof, made)
    if not proofs or any(proof.tried != tried for proof in proofs):
        return fix
    for proof in proofs:
        if proof.decided and not proof.holds:
            at = proof.refused_at
            where = f" ({at.path}:{at.line})" if at is not None else ""
            raise NoFix(f"a recorded run has tried to {tried} it, and failed: {proof.reason}{where}")
    calls = ctx.recorded.find_own_facts(ScriptCall, made)
    if not calls or any(one.grad for one in calls) or not all(proof.holds for proof in proofs):
        return fix
    if not have_run(calls):
        return fix
    number = sum(proof.compared for proof in proofs)
    inputs = "1 input" if number == 1 else f"{number} inputs"
    return replace(
        fix, safety=Safety.SAFE, title=f"{fix.title}; a recorded run has proved equal results for {inputs}"
    )


def is_covered(calls: Iterable[ast.Call], ran: set[int]) -> bool:
    """Return whether each of the calls has one of the lines that a run has called from."""
    return all(ran.intersection(range(one.lineno, (one.end_lineno or one.lineno) + 1)) for one in calls)
