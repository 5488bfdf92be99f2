"""An index whose variant is not defined in this file.

Why: the variant comes from a variable, an argument without a default or a command whose value is not in the file, so
it is unclear whether the target torch is published for it. Values in the file (`ARG CUDA=12.8`, `${CUDA:-12.8}`,
`${CUDA//./}`, `env:`, a matrix, a constant in an f-string) are followed, and reported by CU501.

    pip install torch --index-url https://download.pytorch.org/whl/$CU_VERSION

What to do: find where the value is set, and set it to a variant that the target has (CU501 names them).

Source: https://pytorch.org/get-started/previous-versions/
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU502", references=(Sort.INDEX,))


@rule.check_reference
def check(index: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents.reference_patterns import INDEX_URL

    if index.undecided and INDEX_URL.match(index.text):
        yield ctx.finding(
            index,
            f"which build this index serves depends on `{index.undecided}`, which is not set in this file",
            Severity.INFO,
        )
