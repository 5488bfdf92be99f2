"""`torch.jit.save` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.export`".

    torch.jit.save(traced, "m.pt", _extra_files={"a.txt": "1"})
    →
    torch.export.save(exported, "m.pt2", extra_files={"a.txt": "1"})

Fix safety: unsafe. There is a fix where the project also loads the file; it exports the saved module (see `torchmigrate
explain TS102`) and changes all loads (see `torchmigrate explain TS112`). There is none where other programs may load the
file (C++, Java, Swift, Rust, .NET, Go or JavaScript sources, Triton configurations, excluded modules, `pnnx`,
`torch-model-archiver`): the reason names the place. The file keeps its name where other code or documents name it.
- Where no call shows the inputs of a scripted module, the hint is an export to complete, with the parameters of `forward`.
- Neither format can read the other: make existing files again from the Python model. If only the file is left,
  `torch._export.converter.TS2EPConverter(torch.jit.load(p), example_args).convert()` converts it (private; torch 2.4 and
  newer).
- C++, Java, LibTorch or Triton servers that read the `.pt` file need AOTInductor
  (`torch._inductor.aoti_compile_and_package`) instead.
- Names should end in `.pt2`; with another suffix, torch 2.8 and newer log a warning. Where a load of the project tells the
  two formats apart by the name, and the caller or the user chooses the name, the fix gives it that suffix above the save.
- `extra_files` takes str only (bytes raise), comes back as str (`torch.jit.load` returns bytes), and `torch.export.load`
  fills in all files, not only those that it is asked for.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/export.html;
torch 2.13 wheel: torch/export/__init__.py, torch/jit/_serialization.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule, Safety
from torchmigrate.semantics.model_files import SAVES

from ._export.chain_fixes import ASKS, check_member, collect_notes

rule = Rule(
    code="TS111",
    symbols=SAVES,
    message='`{symbol}` has been deprecated since torch {deprecated}; export the module and use `torch.export.save(exported, "….pt2")`',
    since=(2, 3),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=ASKS,
    artifact=True,
    recipe="change what the reason names, then fix again; `torchmigrate explain TS111` lists the differences",
)
rule.check(check_member)
rule.note(collect_notes)
