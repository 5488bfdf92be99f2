"""Findings of advice: an info that names the torch it needs, in files that are no notebooks, tests, benchmarks or copies."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from torchmigrate.api import Context, Finding, Fix, Severity, Use
from torchmigrate.model.torch_versions import OLDEST, Version, render_version

from .enclosing_nodes import enclosing_names
from .kept_code import is_kept

_TRIAL_NAME = re.compile(r"^(?:(?:manual|run)_)?test_|^conftest|(?:^|[_-])bench|(?:_test|_tests)\.py$")
_TRIAL_CODE = re.compile(
    rb"\b(?:import|from)[ \t]+(?:pytest|unittest|triton\.testing|torch\.testing|torch\.utils\.benchmark)\b|\bdo_bench"
    rb"|\bbenchmark_\w+\(|@pytest\."
)
_EXAMPLE = re.compile(r"^(?:example|demo|smoke|self_?test|sanity)(?:_|$)|_(?:example|demo|smoke)$")


def create_advice(
    use: Use,
    ctx: Context,
    message: str | None = None,
    *,
    at: ast.AST | None = None,
    since: Version | None = None,
    in_trials: bool = False,
    fix: Callable[[], Fix] | None = None,
    hint: str | None = None,
) -> Iterator[Finding]:
    """Yield a finding with ``message`` (by default the rule's) at a use, or at another node of its file.

    The finding names the torch that the advice needs: ``since``, by default the rule's. There is none if the target is
    older, if the name may stand for something else, in code that is kept as it is, or, without ``in_trials``, in a test, benchmark or example.
    """
    needed = since or ctx.rule.since or OLDEST
    if (
        needed > ctx.options.target
        or not use.named
        or (not in_trials and (is_trial(ctx) or _is_example(use)))
    ):
        return
    if is_kept(ctx):
        return
    yield ctx.finding(
        use,
        f"{message or ctx.rule.message} (torch {render_version(needed)} and newer)",
        fix=fix,
        hint=hint,
        severity=Severity.INFO,
        span=None if at is None else ctx.source.span_of(at),
    )


def is_trial(ctx: Context) -> bool:
    """Return whether the file is a notebook, or a test or benchmark by its own name and by what it imports.

    What such files do by hand, they do on purpose, to explain or to compare.
    """
    # The folder does not count: anyone's package may lie below one called `tests`.
    name = ctx.source.path.replace("\\", "/").rpartition("/")[2]
    return name.endswith(".ipynb") or bool(_TRIAL_NAME.search(name) or _TRIAL_CODE.search(ctx.source.text))


def _is_example(use: Use) -> bool:
    """Return whether a function around shows or tries how the code is used, where nothing has to be fast."""
    return any(_EXAMPLE.search(name) for name in enclosing_names(use))
