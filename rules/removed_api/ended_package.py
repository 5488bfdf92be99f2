"""An import of torchtext, whose development has ended.

Why: torchtext 0.18, its last release, was built for torch 2.3. With a newer torch, importing it fails, because its library
needs symbols that torch no longer has.

    from torchtext.vocab import build_vocab_from_iterator

What to do: take tokenizers and data sets from the packages tokenizers, transformers and datasets, or copy what you need:
vocabularies, pipelines and iterators of torchtext are pure Python. Stay with torch 2.3 otherwise.

Source: torchtext 0.18 wheel: METADATA and torchtext/lib; `import torchtext` under torch 2.13 raises an OSError.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.version_guards import find_reach

from ._changes.missing_names import expects_absence, has_alternative

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="RM761",
    symbols=("torchtext", "torchtext.*"),
    message="torchtext has no release for torch 2.4 and newer, so this import fails; replace what you use of it",
    breaks=(2, 4),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.options.target < (2, 4) or ctx.uses.compute_once(rule.code, lambda: use) is not use:
        return  # the imports are reported with the first use
    for place in ctx.uses.scopes.places:
        statement = place.statement
        alias = _find_import(statement)
        if alias is None:
            continue
        one = replace(use, kind=Kind.IMPORT, node=alias, parents=(statement,), place=place)
        reached = find_reach(one, ctx.uses)
        if not has_alternative(one, ctx, reached) and not expects_absence(one, reached):
            yield ctx.finding(one, span=ctx.source.span_of(statement))


def _find_import(statement: ast.stmt) -> ast.alias | None:
    """Return the first name that a statement imports from the package, or the package; None if it imports neither."""
    if isinstance(statement, ast.ImportFrom):
        package = (statement.module or "").partition(".")[0]
        return statement.names[0] if package == "torchtext" and not statement.level else None
    names = statement.names if isinstance(statement, ast.Import) else ()
    return next((alias for alias in names if alias.name.partition(".")[0] == "torchtext"), None)
