"""A package has compiled code that does not fit the installed torch.

Why: torch's C++ interface changes with every minor version, and an extension (flash-attn, xformers, vllm, apex,
torch-scatter, …) calls what the torch had that it was compiled with. Importing it then fails with `undefined
symbol: _ZN3c10…`. Older wheels of torch were also built with the old C++ ABI of strings
(`_GLIBCXX_USE_CXX11_ABI=0`). The probe imports none of the packages: it reads which symbols their libraries need,
and which torch's define. A warning where only the version names another torch and the libraries could not be read.

What to do: Install the release, or the wheel, that is made for the installed torch, or build the package again:
the hint is the command for the latter.

Source: the symbol tables of the installed libraries, as `torchmigrate/probe/snippets/linked.py` reads them;
https://github.com/pytorch/pytorch/pull/146200
"""

from torchmigrate.api import Rule

rule = Rule(code="RT041")
