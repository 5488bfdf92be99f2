"""A package has compiled code that does not fit the installed torch.

Why: torch's C++ interface changes with every minor version, and an extension (flash-attn, xformers, vllm, apex,
torch-scatter, …) uses the symbols of the torch that it was compiled with. With another torch, importing it
fails with `undefined symbol: _ZN3c10…`. Older wheels of torch also used the old C++ ABI of strings
(`_GLIBCXX_USE_CXX11_ABI=0`). The probe imports none of the packages: it reads which symbols their libraries
need, and which of them torch defines. The finding is a warning where only the version of the package names
another torch and its libraries could not be read.

What to do: Install the release or the wheel for the installed torch, or build the package again: the hint is
the command for the latter.

Source: the symbol tables of the installed libraries, as `torchmigrate/probe/snippets/linked.py` reads them;
https://github.com/pytorch/pytorch/pull/146200
"""

from torchmigrate.api import Rule

rule = Rule(code="RT041")
