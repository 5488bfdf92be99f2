"""Saving a TorchScript module with its own method is deprecated.

Why: the file holds TorchScript, deprecated since torch 2.10. Only `torch.jit.save` warns; `m.save(path)` does not.

    traced.save("m.pt", _extra_files={"a.txt": "1"})
    →
    torch.export.save(exported, "m.pt2", extra_files={"a.txt": "1"})

Fix safety: unsafe, and offered together with the export of the saved module (see `torchmigrate explain TS102`). For the
limits of the new format, see `torchmigrate explain TS111`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/export.html;
torch 2.13 wheel: torch/export/__init__.py, torch/jit/_script.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule, Safety
from torchmigrate.semantics.module_methods import SCRIPTED_RESULTS

from ._export.chain_fixes import ASKS, check_member, collect_notes

rule = Rule(
    code="TS113",
    symbols=tuple(
        f"{result}.{method}" for result in SCRIPTED_RESULTS for method in ("save", "save_to_buffer")
    ),
    message='saving a TorchScript module has been deprecated since torch {deprecated}; use `torch.export.save(exported, "….pt2")`',
    since=(2, 3),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=ASKS,
    artifact=True,
    recipe="change what the reason names, then fix again; `torchmigrate explain TS113` lists the differences",
)
rule.check(check_member)
rule.note(collect_notes)
