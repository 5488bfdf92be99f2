"""A header of TorchScript is included in a source that does not use TorchScript.

Why: `torch/script.h` and `torch/csrc/jit/` declare TorchScript's C++ API, deprecated since torch 2.10.

    #include <torch/script.h>
    →
    #include <torch/torch.h>

What to do: a source that only registers operators or classes needs `<torch/library.h>` or `<torch/custom_class.h>`; one that only
works with tensors, `<torch/torch.h>`. Sources that use TorchScript have a finding where they do so (`torchmigrate explain ER601`
names the header of the replacement).

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html;
torch 2.13 wheel: torch/include/torch/script.h, torch/include/torch/csrc/api/include/torch/jit.h, torch/include/torch/library.h.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import ForeignUse

rule = Rule(
    code="ER605",
    foreign=("<torch/script.h>", "<torch/jit.h>", "<torch/csrc/jit/*"),
    message="`{symbol}` declares TorchScript, deprecated since torch {deprecated}, and nothing here uses it; tensors are in "
    "`<torch/torch.h>`, the registration of operators in `<torch/library.h>`",
    since=(2, 6),
    deprecated=(2, 10),
)


_USE = r"\b(?:torch::jit\b|jit::)"
_INCLUDE = r"""(?m)^[ \t]*#[ \t]*(?:include|import)[ \t]*["<](?!torch/)(?:[^"<>\n]*/)?%s[">]"""


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    if any(name.startswith("torch::jit") for name in ctx.names):
        return
    if not _is_included_with_use(ctx):
        yield ctx.finding(use, severity=Severity.INFO)


def _is_included_with_use(ctx: ForeignContext) -> bool:
    """Return whether a file that this one includes, or one that includes it, uses TorchScript: it gets its names from the header."""
    name = os.path.basename(ctx.source.path)
    if ctx.find_text((("jit", name), (_USE, _INCLUDE % re.escape(name)))):
        return True
    using = ctx.project.find_spellings((("jit",), (_USE,)), beside=ctx.source.path)
    included = set(re.findall(_INCLUDE % r"([^\"<>/\n]+)", os.fsdecode(ctx.source.text)))
    return any(os.path.basename(path) in included for path, _ in using)
