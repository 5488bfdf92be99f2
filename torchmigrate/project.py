"""What is known about all checked files together: what they export, and where they use which symbol."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from torchmigrate.names import Links
from torchmigrate.rule import Kind
from torchmigrate.symbols import join, segments


@dataclass(frozen=True, slots=True)
class Mention:
    """One use of a watched symbol somewhere in the project; ``line`` is 1-based."""

    symbol: str
    kind: Kind
    path: str
    line: int


class Project:
    """The facts that rules may ask about, complete before the last rule runs. Paths are absolute."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self.exports: dict[str, dict[str, str]] = {}
        """For each file, its global names that stand for something of torch's, with torch's name for it."""
        self._mentions: dict[str, list[Mention]] = {}
        self._by_stem: dict[str, list[str]] = {}
        for path in paths:
            self._by_stem.setdefault(os.path.basename(module_path(path)), []).append(path)

    def export(self, path: str, names: Mapping[str, str]) -> bool:
        """Records what a file exports; True if that was not known."""
        if is_torch_itself(path):
            return False  # its absolute names are torch's already
        known = self.exports.get(path, {})
        if names.items() <= known.items():
            return False
        self.exports[path] = {**known, **names}
        return True

    def mention(self, mentions: Iterable[Mention]) -> None:
        """Records uses."""
        for mention in mentions:
            self._mentions.setdefault(mention.symbol, []).append(mention)

    def uses(self, *symbols: str, kinds: Iterable[Kind] = Kind) -> list[Mention]:
        """Every use of the symbols (or of the names that rules note) in the project, of the given kinds."""
        wanted = frozenset(kinds)
        return [m for symbol in symbols for m in self._mentions.get(symbol, ()) if m.kind in wanted]

    def links(self, path: str) -> ProjectLinks:
        """What names mean that the file at ``path`` imports from other files of the project."""
        return ProjectLinks(self, path)

    def modules(self, parts: list[str]) -> list[str]:
        """The files that an absolute import of the module ``parts`` may mean, wherever they lie."""
        suffix = os.sep + os.path.join(*parts)
        return [path for path in self._by_stem.get(parts[-1], ()) if module_path(path).endswith(suffix)]


class ProjectLinks(Links):
    """The links of one file; see `Links`."""

    def __init__(self, project: Project, path: str) -> None:
        self._project = project
        self._path = path
        self._known: dict[str, str | None] = {}

    def resolve(self, name: str) -> str | None:
        """Torch's name for a qualified name of the project, or None."""
        if not self._project.exports:
            return None
        if name not in self._known:
            self._known[name] = self._resolve(name)
        return self._known[name]

    def _resolve(self, name: str) -> str | None:
        for path, attribute, rest in self.places(name):
            target = self._project.exports.get(path, {}).get(attribute)
            if target is not None:
                return join([target, *rest])
        return None

    def places(self, name: str) -> Iterator[tuple[str, str, list[str]]]:
        """The ways to split ``pkg.module.x.y`` into a module's file, a global name of it, and the rest."""
        dots = len(name) - len(name.lstrip("."))
        parts = segments(name[dots:])
        for length in range(len(parts) - 1, -1 if dots else 0, -1):
            for path in self.files(dots, parts[:length]):
                yield path, parts[length], parts[length + 1 :]

    def leads(self, name: str) -> bool:
        """Whether a qualified name is a module of the project that exports something of torch's, or above one."""
        dots = len(name) - len(name.lstrip("."))
        tops = [module_path(path) for path in self.files(dots, segments(name[dots:]))]
        return any(is_within(module_path(path), top) for path in self._project.exports for top in tops)

    def exported(self, module: str) -> Iterable[str]:
        """The names that ``from module import *`` brings and that stand for something of torch's."""
        dots = len(module) - len(module.lstrip("."))
        for path in self.files(dots, segments(module[dots:])):
            yield from (name for name in self._project.exports.get(path, ()) if not name.startswith("_"))

    def files(self, dots: int, parts: list[str]) -> Iterator[str]:
        """The files that a module may be: relative to this file's folder, or absolute from a folder above."""
        folder = os.path.dirname(self._path)
        if dots:
            for _ in range(dots - 1):
                folder = os.path.dirname(folder)
            base = os.path.join(folder, *parts)
            yield base + ".py"
            yield os.path.join(base, "__init__.py")
        elif parts:
            for path in self._project.modules(parts):
                root = module_path(path)
                for _ in parts:
                    root = os.path.dirname(root)
                if len(parts) > 1 or is_within(folder, root) or is_within(folder, _project_of(root)):
                    yield path


def module_path(path: str) -> str:
    """The path without ``.py``, and a package's folder for its ``__init__.py``."""
    stem = os.path.splitext(path)[0]
    return os.path.dirname(stem) if os.path.basename(stem) == "__init__" else stem


def _project_of(root: str) -> str:
    """The folder whose files can import from ``root``: the one above a ``src`` folder, else itself."""
    return os.path.dirname(root) if os.path.basename(root) in ("src", "lib", "python") else root


def is_within(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def is_torch_itself(path: str) -> bool:
    """Whether the file belongs to the sources of torch."""
    top, inside, _ = path.rpartition(f"{os.sep}torch{os.sep}")
    return bool(inside) and os.path.exists(os.path.join(top, "torch", "_jit_internal.py"))
