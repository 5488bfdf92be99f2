"""A pin in one file that holds back the torch of another one.

Why: files that are installed together get one torch. A list without torch can pin something that requires an older
one, or was built for it; the torch that another file requires cannot move without it.

    requirements-torch.txt: torch==2.4.0
    requirements.txt: xformers==0.0.27.post2
    →
    requirements-torch.txt: torch==2.13.0
    requirements.txt: xformers==0.0.35

The pin is reported in its own file, as info: the finding about torch names the reason.

Fix safety: unsafe, and only with `--relax`. It is this file's part of the move of the whole environment.

Source: `torchmigrate/tables/data/requirements.json`, read from the published wheels.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU516", references=(Sort.REQUIREMENT, Sort.PYTHON, Sort.VARIABLE), safety=Safety.UNSAFE)


@rule.check_reference
def check(pin: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if not ctx.options.relax or not ctx.may_hold_torch(pin):
        return
    fix = ctx.find_relaxing_fix(pin)
    if fix is not None:
        shown = pin.text if pin.option == "FROM" or pin.sort is Sort.VARIABLE else pin.shown
        message = f"`{shown}` is relaxed in the same move as the torch of another file"
        yield ctx.finding(pin, message, Severity.INFO, fix=lambda: fix)
