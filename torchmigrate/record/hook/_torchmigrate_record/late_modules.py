"""Modules that the program imports after the recording has begun."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any


def act_after_import(name: str, act: Callable[[Any], None]) -> None:
    """Call ``act`` with a module, at once or right after the program has imported it."""
    if name in sys.modules:
        act(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, act))


class _Finder:
    """A finder that notices the import of one module, and finds nothing else."""

    def __init__(self, name: str, act: Callable[[Any], None]) -> None:
        self._name, self._act = name, act

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec that the other finders have for the module, with another loader."""
        if name != self._name:
            return None
        sys.meta_path[:] = [one for one in sys.meta_path if one is not self]
        for finder in [*sys.meta_path]:
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self._act)
                return spec
        return None


class _Loader:
    """The loader of a module, after which something is done with it."""

    def __init__(self, loader: Any, act: Callable[[Any], None]) -> None:
        self._loader, self._act = loader, act

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        """Create the module as its own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Execute the module as its own loader does, and act."""
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        with contextlib.suppress(Exception):
            self._act(module)
