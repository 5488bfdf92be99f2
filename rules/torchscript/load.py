"""`torch.jit.load` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.export`".

    m = torch.jit.load(path)
    →
    if str(path).endswith(".pt2"):
        m = torch.export.load(path).module()
    else:
        m = torch.jit.load(path)

    m = torch.jit.load("m.pt", map_location="cuda").eval()
    →
    m = torch.export.load("m.pt2").module().to("cuda")

Fix safety: a load whose path comes from a caller, an option or a configuration gets a second branch, which is safe: it
reads every file that exists as before, unless the project saves TorchScript under a name that ends in `.pt2`. Several such
loads of a module, and loads inside of a larger expression, share a function `load_model`. After that, what saves files can
change one by one. There is no fix where an exported program could not take the module's part: it has one entry point and no
`.code`, it cannot be frozen, and `.eval()` and `.train()` raise NotImplementedError. `.eval()` right after the load goes to
the branch for TorchScript. Loads in tests, and of files that do not outlive the program, stay as they are.

A load of a file that the code names is changed together with what saves it, which is unsafe:
- All saves and loads of the file change in one fix, in whatever modules, or none of them does. A file is identified by its
  name (`"net.pt"` at the end of any path, also where all callers of a function pass it; a constant of another module). A save
  and a load of the same name in one folder belong together; otherwise those of the whole project do.
- The loaded module is followed through variables, through `self.net` in the methods of its class, and through a function
  that returns it. There is no fix where another module may reach it, where it is called with other inputs than an export of
  the example takes, and where a load of an unclear path may read the same file and cannot read exports.
- A load whose result nothing calls only checks that the file loads, and does not count as its reader.
- Where loads of unclear paths may read the file, it gets a name that ends in `.pt2`, or there is no fix. Documents that name
  the file stay as they are.
- `load` has no `map_location`: `.module().to(device)`. Devices written into the graph
  (`torch.zeros(..., device=x.device)`) need `torch.export.passes.move_to_device_pass(program, device)` before
  `.module()`.
- `.module()` has no `.eval()` and `.train()`: drop the call; the mode was fixed at export.

A file that nothing in the project saves is still TorchScript, and `torch.export.load` raises RuntimeError for it:
- Export the model again, then load the new file.
- If only the file is left, `torchmigrate artifacts convert m.pt -o m.pt2` converts it. Where the tree has the new file beside
  the old one, the fix loads it, which is unsafe: the conversion says which outputs it compared.
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
    safety=Safety.SAFE,
    asks=ASKS,
    artifact=True,
    recipe="change what the reason names, then fix again; `torchmigrate explain TS112` lists the differences",
)
rule.check(check_member)
rule.note(collect_notes)
