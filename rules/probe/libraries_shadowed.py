"""`LD_LIBRARY_PATH` has CUDA libraries that may take the place of torch's own.

Why: torch's wheels bring their CUDA libraries, and the loader looks into the folders of `LD_LIBRARY_PATH` before
it looks beside them. A toolkit of another version there gives errors such as `libcusparse.so.12: undefined symbol:
__nvJitLinkAddData_12_1`. The folder `stubs` of a toolkit has a libcuda that is made for linking only: no driver
starts with it. It is an error where an import fails by it, a warning where a library of another version runs, and
information elsewhere.

What to do: Unset `LD_LIBRARY_PATH`, or leave the toolkit's folders out of it where torch runs.

Source: https://github.com/pytorch/pytorch/issues/111469; https://man7.org/linux/man-pages/man8/ld.so.8.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT037")
