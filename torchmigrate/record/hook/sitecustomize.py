"""The beginning of a recorded Python process: once torch is imported, the recording begins.

`site` imports this module at the start of every process that has its folder on PYTHONPATH. A process that never imports
torch pays for one more finder of modules, and for nothing else.
"""

import os
import sys

MYPY = False
if MYPY:  # `typing` would be imported in every process
    from typing import Any  # noqa: F401 -- of the comments

_HERE = os.path.dirname(os.path.abspath(__file__))
_START = os.getcwd()


def _begin_recording():  # type: () -> None
    """Import the recording package from this folder, which is not on `sys.path` any more, and start it."""
    try:
        from importlib import import_module
        from importlib.util import module_from_spec, spec_from_file_location

        name = "_torchmigrate_record"
        folder = os.path.join(_HERE, name)
        spec = spec_from_file_location(
            name, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        if spec is None or spec.loader is None:
            return
        package = module_from_spec(spec)
        sys.modules[name] = package
        spec.loader.exec_module(package)
        import_module(name + ".start").start_recording(_START)
    except Exception as error:  # the program must not notice
        if os.environ.get("TORCHMIGRATE_RECORD_DEBUG"):
            print("torchmigrate record: {!r}".format(error), file=sys.stderr)


class _Loader:
    """The loader of torch, which begins the recording when torch is complete."""

    def __init__(self, loader):  # type: (Any) -> None
        self._loader = loader

    def __getattr__(self, name):  # type: (str) -> Any
        return getattr(self._loader, name)

    def create_module(self, spec):  # type: (Any) -> Any
        return self._loader.create_module(spec)

    def exec_module(self, module):  # type: (Any) -> None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _begin_recording()


class _Finder:
    """A finder that notices the import of torch, and finds nothing else."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # type: (str, Any, Any) -> Any
        if name != "torch":
            return None
        for finder in [*sys.meta_path]:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is _Finder or find is None else find(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


def _run_hidden_module():  # type: () -> None
    """Run the environment's own module of this name, which this one hides; `site` deals with what it raises."""
    own = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", own)


sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]
if "TORCHMIGRATE_RECORD" in os.environ:
    if "torch" in sys.modules:
        _begin_recording()
    else:
        sys.meta_path.insert(0, _Finder)
_run_hidden_module()
