"""The names in a pickle, sorted by risk: those that run code when it is loaded, and those of unknown packages."""

from __future__ import annotations

from collections.abc import Iterable

from torchmigrate.artifacts.pickles import Global


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RUNNING = _words(
    "_io _pickle _posixsubprocess _thread asyncio bdb cffi code codeop commands concurrent cProfile ctypes dill "
    "cloudpickle distutils doctest ensurepip ftplib gc http idlelib imp importlib inspect io joblib lib2to3 linecache logging.config marshal "
    "multiprocessing nt ntpath numpy.f2py numpy.testing operator os pathlib pdb pickle pip pkgutil platform popen2 posix "
    "posixpath profile pty pydoc requests runpy setuptools shelve shutil signal site smtplib socket socketserver "
    "ssl subprocess sys tempfile test threading timeit torch._dynamo.guards torch._inductor torch.fx.experimental torch.hub torch.jit torch.library torch.load "
    "torch.ops torch.package torch.serialization torch.utils.bottleneck torch.utils.collect_env "
    "torch.utils.cpp_extension torch.utils.data.datapipes trace types urllib uuid venv webbrowser "
    "winreg zipimport"
)
"""Modules whose functions run programs or code, read or write files, or give access to others that do."""

BUILTINS = _words(
    "__import__ apply breakpoint compile delattr eval exec execfile exit getattr globals input locals map open "
    "print quit reduce setattr vars"
)
"""The builtins that a pickle needs only to run something."""

HARMLESS = _words(
    "torch.serialization._get_layout "
    "pathlib.Path pathlib.PosixPath pathlib.PurePath pathlib.PurePosixPath pathlib.PureWindowsPath "
    "pathlib.WindowsPath types.SimpleNamespace uuid.UUID"
)
"""Classes and functions of these modules that honest checkpoints use."""

KNOWN = _words("torch __torch__ collections numpy _codecs builtins __builtin__ copy_reg copyreg")
"""The packages that pickles of torch's and NumPy's data name."""


def running(names: Iterable[Global]) -> list[Global]:
    """Return the names that are in a pickle to run something."""
    return [name for name in names if _runs(name)]


def foreign(names: Iterable[Global]) -> list[Global]:
    """Return the classes and functions of unknown packages, which loading would import."""
    return [name for name in names if name.module.partition(".")[0] not in KNOWN]


def _runs(name: Global) -> bool:
    """Whether calling a name could run programs or code, or read or write files."""
    if name.module in ("builtins", "__builtin__", "__builtins__"):
        return name.name.partition(".")[0] in BUILTINS
    if str(name) in HARMLESS or name.module == "torch.jit._pickle":  # the latter is TorchScript's own
        return False
    # A dotted name may also lead from one module to another: torch, "serialization.os.system".
    parts = str(name).split(".")
    if any(".".join(parts[:count]) in RUNNING for count in range(1, len(parts) + 1)):
        return True
    inner = name.name.split(".")
    return len(inner) > 1 and any(part in RUNNING or part in BUILTINS for part in inner)
