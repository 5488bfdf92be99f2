"""Name lookup in C++: the namespaces of a source, their aliases, and ``using`` directives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

JIT = "torch::jit"
"""The namespace of torch's TorchScript runtime."""
_BARE = frozenset(
    {"load", "freeze", "optimize_for_inference", "Module", "ModulePtr", "Method", "Function", "Graph"}
    | {"CompilationUnit", "ExtraFilesMap", "_load_for_mobile"}
)
"""The names that ``using namespace torch::jit`` makes available; other words are too common to be taken for torch's."""
_EVERYTHING = "*"
"""The key, among the names that a header exports, of the namespaces that the header uses."""


@dataclass(slots=True)
class BraceScope:
    """The declarations in one pair of braces; ``namespace`` is empty unless the braces belong to a namespace."""

    namespace: str = ""
    aliases: dict[str, str] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)
    handed: list[str] = field(default_factory=list)
    """The namespaces that headers use. Other declarations of those headers, which would come first, are unknown."""


class NamespaceStack:
    """The scopes at one place of a source, from the whole file to the innermost braces, and all its namespaces.

    ``included`` are the names that its headers export, ``own`` the namespaces that it opens: inside another namespace,
    a namespace of its own that is called ``torch`` hides torch's.
    """

    def __init__(self, included: Mapping[str, str], own: frozenset[str]) -> None:
        self._own = own
        self._known: dict[str, BraceScope] = {}
        for name, target in included.items():
            around, _, last = name.rpartition("::")
            scope = self._known.setdefault(around, BraceScope())
            if last == _EVERYTHING:
                scope.handed.append(target)
            else:
                scope.aliases[last] = target
        self._scopes = [self._known.setdefault("", BraceScope())]

    @property
    def innermost(self) -> BraceScope:
        """The scope that the cursor is in."""
        return self._scopes[-1]

    def open_scope(self, namespace: str) -> None:
        """Begin a scope: of a namespace, which may be opened several times, or one without a name."""
        if not namespace:
            self._scopes.append(BraceScope())
            return
        whole = "::".join([*(scope.namespace for scope in self._scopes if scope.namespace), namespace])
        known = self._known.setdefault(whole, BraceScope())
        self._scopes.append(BraceScope(namespace, known.aliases, known.used, known.declared, known.handed))

    def close_scope(self) -> None:
        """End the innermost scope, unless that is the file."""
        if len(self._scopes) > 1:
            self._scopes.pop()

    @property
    def exports(self) -> dict[str, str]:
        """The names of torch that an including file gets from this one: ``app::Module`` → ``torch::jit::Module``."""
        made: dict[str, str] = {}
        for whole, scope in self._known.items():
            used = [(_EVERYTHING, name) for name in reversed((*scope.used, *scope.handed))]
            for name, target in (*scope.aliases.items(), *used):
                if target == "torch" or target.startswith(JIT):
                    made[f"{whole}::{name}" if whole else name] = target
        return made

    def resolve_name(self, names: Sequence[str], *, absolute: bool) -> str | None:
        """Return the full name of something in torch, without leading colons; None for anything else."""
        if not names:
            return None
        first, rest = names[0], list(names[1:])
        if absolute:
            return _join_official(names) if first == "torch" else None
        around = [scope.namespace for scope in self._scopes if scope.namespace]
        for depth in range(len(around), 0, -1):
            inside = "::".join([*around[:depth], first])
            if inside in self._own and not inside.startswith("torch"):
                return None
        for scope in reversed(self._scopes):
            if first in scope.aliases:
                target = scope.aliases[first]
                return None if target.startswith("::") else _join_official([*target.split("::"), *rest])
            if first in scope.declared:
                return None
        if first == "torch":
            return _join_official(names)
        for length in range(len(names) - 1, 0, -1):
            opened = self._known.get("::".join(names[:length]))
            target = opened.aliases.get(names[length], "::") if opened is not None else "::"
            if not target.startswith("::"):
                return _join_official([*target.split("::"), *names[length + 1 :]])
        for scope in reversed(self._scopes):
            for used in (*scope.used, *scope.handed):
                # Inside a namespace, a header's `using` is not enough: the namespace may declare the word in a file not read.
                is_bare = first in _BARE and (used in scope.used or not around)
                if used == "torch" and first == "jit":
                    return _join_official(["torch", *names])
                if used.startswith(JIT) and (is_bare or (rest and first in ("script", "mobile"))):
                    return _join_official([*used.split("::"), *names])
        return _join_official(["torch", *names]) if around == ["torch"] and first == "jit" and rest else None


def _join_official(names: Sequence[str]) -> str:
    """Join a name without the old namespace ``script``, which is an alias of its parent."""
    if list(names[:3]) == ["torch", "jit", "script"]:
        names = ["torch", "jit", *names[3:]]
    return "::".join(names)
