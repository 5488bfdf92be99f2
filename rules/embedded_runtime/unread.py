"""Files in other languages could not be read.

Why: Kotlin, Swift, Rust, C# and Go are read with grammars that are not installed by default (those of C++ and Java are). Files
in these languages name torch here, and torchmigrate cannot tell whether they use TorchScript. One finding counts all such files of
a run.

What to do: run `pip install 'torchmigrate[embedded]'`, or leave the family out (`--ignore embedded-runtime`).

Source: `torchmigrate/foreign/grammars.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import UNREAD, ForeignUse
from torchmigrate.foreign.grammars import describe_unread

rule = Rule(
    code="ER600",
    foreign=(UNREAD,),
    recipe="run `pip install 'torchmigrate[embedded]'` to read them",
)


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    yield ctx.finding(use, describe_unread([ctx.language]), severity=Severity.INFO)
