"""The names in a pickle, sorted by risk: those that run code when it is loaded, and those of unknown packages."""

from __future__ import annotations

from collections.abc import Iterable

from torchmigrate.artifacts.pickle_reader import ImportedName


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RUNNING_MODULES = _split_words(
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

RUNNING_BUILTINS = _split_words(
    "__import__ apply breakpoint compile delattr eval exec execfile exit getattr globals input locals map open "
    "print quit reduce setattr vars"
)
"""The builtins whose only use in a pickle is to run code."""

HARMLESS_NAMES = _split_words(
    "torch.serialization._get_layout "
    "pathlib.Path pathlib.PosixPath pathlib.PurePath pathlib.PurePosixPath pathlib.PureWindowsPath "
    "pathlib.WindowsPath types.SimpleNamespace uuid.UUID"
)
"""Classes and functions of these modules that honest checkpoints use."""

KNOWN_PACKAGES = _split_words(
    "torch __torch__ collections numpy _codecs builtins __builtin__ copy_reg copyreg"
)
"""The packages that pickles of torch's and NumPy's data name."""


def find_running_names(names: Iterable[ImportedName]) -> list[ImportedName]:
    """Return the names through which loading a pickle runs other code."""
    return [name for name in names if _is_running(name)]


def find_foreign_names(names: Iterable[ImportedName]) -> list[ImportedName]:
    """Return the classes and functions of unknown packages, which loading would import."""
    return [name for name in names if name.module.partition(".")[0] not in KNOWN_PACKAGES]


def _is_running(name: ImportedName) -> bool:
    """Return whether calling a name could run programs or code, or read or write files."""
    if name.module in ("builtins", "__builtin__", "__builtins__"):
        return name.name.partition(".")[0] in RUNNING_BUILTINS
    if str(name) in HARMLESS_NAMES or name.module == "torch.jit._pickle":  # the latter is TorchScript's own
        return False
    # A dotted name may also lead from one module to another: torch, "serialization.os.system".
    parts = str(name).split(".")
    if any(".".join(parts[:count]) in RUNNING_MODULES for count in range(1, len(parts) + 1)):
        return True
    inner = name.name.split(".")
    return len(inner) > 1 and any(part in RUNNING_MODULES or part in RUNNING_BUILTINS for part in inner)
