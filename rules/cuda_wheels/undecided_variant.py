"""An index whose variant this file does not tell.

Why: the variant comes from a variable, an argument without a default or a command, whose value is not in the file, so
nobody can say here whether the target torch is published for it. Values that the file does tell (`ARG CUDA=12.8`,
`${CUDA:-12.8}`, `${CUDA//./}`, `env:`, a matrix, a constant in an f-string) are followed, and reported by CU501.

    pip install torch --index-url https://download.pytorch.org/whl/$CU_VERSION

What to do: look at where the value is set, and set it to a variant that the target has (CU501 says which those are).

Source: https://pytorch.org/get-started/previous-versions/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.references import Reference

if TYPE_CHECKING:
    from torchmigrate.documents.context import ReferenceContext

rule = Rule(code="CU502", references=(Sort.INDEX,))


@rule.check_reference
def check(index: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents.spellings import INDEX_URL

    if index.undecided and INDEX_URL.match(index.text):
        yield ctx.finding(
            index,
            f"which builds this index gives depends on `{index.undecided}`, which is not set here",
            Severity.INFO,
        )
