"""`LD_LIBRARY_PATH` has CUDA libraries that may replace torch's own.

Why: torch's wheels bring their CUDA libraries, but the loader searches `LD_LIBRARY_PATH` first. A toolkit of
another version there causes errors such as `libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1`. The
libcuda in a toolkit's folder `stubs` is for linking only, and cannot start a driver. The finding is an error if
an import fails because of it, a warning if a library of another version is in use, and information otherwise.

What to do: Unset `LD_LIBRARY_PATH`, or remove the toolkit's folders from it where torch runs.

Source: https://github.com/pytorch/pytorch/issues/111469; https://man7.org/linux/man-pages/man8/ld.so.8.html
"""

from torchmigrate.api import Rule

rule = Rule(code="RT037")
