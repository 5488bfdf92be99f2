"""`torch.jit.save` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.export`".

    torch.jit.save(traced, "m.pt", _extra_files={"a.txt": "1"})
    →
    torch.export.save(exported, "m.pt2", extra_files={"a.txt": "1"})

Fix safety: unsafe, and offered with the export of what is saved (see `torchmigrate explain TS102`) where the project
also loads the file, together with what loads it (see `torchmigrate explain TS112`). There is none where nothing in the
project does, and where C++, Java, Swift, Rust, .NET, Go or JavaScript sources, Triton configurations, excluded modules,
`pnnx` or `torch-model-archiver` may: the reason names the place. The file keeps its name where something else spells it.
- A scripted module of which no inputs are known gets a line to complete: the export, with the parameters of `forward`.
- The two formats do not read each other: existing files must be made anew from the Python model. Where only the file is
  left, `torch._export.converter.TS2EPConverter(torch.jit.load(p), example_args).convert()` converts it (private; torch
  2.4 and newer).
- C++, Java, LibTorch or Triton servers that read the `.pt` file need AOTInductor
  (`torch._inductor.aoti_compile_and_package`) instead.
- Names must end in `.pt2`; another suffix works, with a logged warning (torch 2.8 and newer).
- `extra_files` holds str only (bytes raise), comes back as str (`torch.jit.load` gives bytes), and `torch.export.load`
  fills in every file, not only those asked for.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/export.html;
torch 2.13 wheel: torch/export/__init__.py, torch/jit/_serialization.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule, Safety
from torchmigrate.semantics.model_files import SAVES

from ._export.fixes import ASKS, checked, note

rule = Rule(
    code="TS111",
    symbols=SAVES,
    message='`{symbol}` is deprecated since torch {deprecated}; export the module and use `torch.export.save(exported, "….pt2")`',
    since=(2, 3),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=ASKS,
    artifact=True,
)
rule.check(checked)
rule.note(note)
