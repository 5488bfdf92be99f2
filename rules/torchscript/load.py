"""`torch.jit.load` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.export`".

    m = torch.jit.load("m.pt", map_location="cuda").eval()
    →
    m = torch.export.load("m.pt2").module().to("cuda")

Fix safety: unsafe, and offered only where the project exports that very file. Any other file is still TorchScript:
`torch.export.load` raises RuntimeError for it. Export the model again, then change the loading code.
- All saves and loads of the file change in one fix, in whatever modules, or none of them does. A file is identified by its
  name (`"net.pt"` at the end of any path; the default of an option, or a command that the module shows; a constant of
  another module). A save and a load of the same name in one folder belong together; otherwise those of the whole project do.
- The loaded module is followed through variables, through `self.net` in the methods of its class, and through a function
  that returns it. There is no fix where another module may reach it, where it is called with other inputs than an
  export of the example takes, or where a load with an unclear path may read the same file.
- A load whose result nothing calls only checks that the file loads, and does not count as its reader.
- `load` has no `map_location`: `.module().to(device)`. Devices written into the graph
  (`torch.zeros(..., device=x.device)`) need `torch.export.passes.move_to_device_pass(program, device)` before
  `.module()`.
- `.module()` has no `.eval()` and `.train()` (NotImplementedError): drop the call; the mode was fixed at export.
- If only the file is left, `torch._export.converter.TS2EPConverter(torch.jit.load(p), example_args).convert()` converts it
  (private; torch 2.4 and newer).
- `torch.load` of a TorchScript file also goes through `torch.jit.load`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/export.html;
torch 2.13 wheel: torch/export/__init__.py, torch/jit/_serialization.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule, Safety

from ._authoring.torchscript_makers import LOADING
from ._export.chain_fixes import ASKS, check_member, collect_notes

rule = Rule(
    code="TS112",
    symbols=LOADING,
    message="`{symbol}` has been deprecated since torch {deprecated}; export the file again, then use "
    "`torch.export.load(path).module()`",
    since=(2, 3),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=ASKS,
    artifact=True,
    recipe="change what the reason names, then fix again; `torchmigrate explain TS112` lists the differences",
)
rule.check(check_member)
rule.note(collect_notes)
