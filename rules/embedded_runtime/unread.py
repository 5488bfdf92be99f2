"""Sources in other languages were not looked at.

Why: C++, Java, Kotlin, Swift, Rust, C# and Go are read with grammars that torchmigrate does not bring by itself. Files in
these languages name torch here, and nothing is known of what they use. One finding stands for all of them.

What to do: `pip install "torchmigrate[embedded]"`, or leave the family out (`--ignore embedded-runtime`).

Source: `torchmigrate/foreign/grammars.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule

if TYPE_CHECKING:
    from torchmigrate.foreign.context import ForeignContext
    from torchmigrate.foreign.use import ForeignUse

from torchmigrate.foreign.use import UNREAD
from torchmigrate.model.vocabulary import Severity

_MESSAGE = "not looked at: {files} that may embed torch's runtime"

rule = Rule(
    code="ER600",
    foreign=(UNREAD,),
    recipe='`pip install "torchmigrate[embedded]"` brings the grammars',
)


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    message = _MESSAGE.replace("{files}", f"1 file ({ctx.language})")
    yield ctx.finding(use, message, severity=Severity.INFO)
