r"""MAGMA as the preferred library for linear algebra on CUDA, which torch 2.12 deprecates.

Why: torch 2.12 deprecates MAGMA on CUDA and uses cuSOLVER; from 2.12 on `linalg.eigh` calls `syevj_batched` whatever
library is preferred. The switch was a workaround for slow solvers in older releases. Now it keeps other operations on the
slower library, or does nothing.

    torch.backends.cuda.preferred_linalg_library("magma")
    →
    torch.backends.cuda.preferred_linalg_library("default")

Needs: torch 2.12.

Brings: a batched `eigh` that is up to 100 times as fast, according to the release blog.

When not: the project still supports older releases on which the switch measurably helps; then test the version. ROCm
keeps MAGMA. Calls below a test of the version or of ROCm are not reported.

Measure: this, with and without the switch behind `import torch;`:

    python -m timeit -s "import torch; a = torch.randn(500, 32, 32, device='cuda'); a = a + a.mT" \
        "torch.linalg.eigh(a); torch.cuda.synchronize()"

What to do: remove the call, or guard it with a test of `torch.__version__`.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.12 and 2.15 wheels: torch/backends/cuda/__init__.py
(`preferred_linalg_library`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import string_value
from torchmigrate.semantics.version_guards import find_reach

from ._analyses.advice_findings import create_advice

rule = Rule(
    code="AD902",
    symbols=("torch.backends.cuda.preferred_linalg_library",),
    message="MAGMA is deprecated on CUDA; let torch choose the library, which is cuSOLVER",
    since=(2, 12),
    kinds=frozenset({Kind.CALL}),
)

_GUARDS = re.compile(r"(?i)rocm|hip(?![a-z])|torch_?(?:[gl][te]e?|version|\d)")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    given = find_argument(use.call, 0, "backend") if use.call is not None else None
    if isinstance(given, ast.Name):
        given = ctx.uses.data_flow.find_definition(given, use.place.scope)
    if given is None or string_value(given) != "magma":
        return
    if find_reach(use, ctx.uses).includes_version(ctx.options.target) and not _is_guarded(use):
        yield from create_advice(use, ctx, in_trials=True)


def _is_guarded(use: Use) -> bool:
    """Return whether an enclosing test names ROCm, which keeps MAGMA, or a range of versions in the project's own words."""
    tests = [outer.test for outer in use.place.enclosing_statements() if isinstance(outer, ast.If)]
    return any(_GUARDS.search(ast.unparse(test)) for test in tests)
