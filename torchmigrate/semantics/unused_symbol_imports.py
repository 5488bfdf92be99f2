"""Symbols that an import names although nothing else in the file uses them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from torchmigrate.model.qualified_names import COMPANION_PACKAGES
from torchmigrate.model.vocabulary import Kind
from torchmigrate.prefilter.watched_symbols import WatchedSymbols
from torchmigrate.semantics.name_resolution import NameResolver, ResolvedName, innermost_object
from torchmigrate.semantics.scopes import BindingKind, Scope, StatementPlace
from torchmigrate.semantics.use import Use

_TOPS = ("torch", "functorch", *COMPANION_PACKAGES)
"""The packages whose names are watched."""

_PLUGINS = frozenset({"gcu", "hpu", "ipu", "mlu", "musa", "npu", "sdaa", "xla"})
"""What other packages put below ``torch``: backends of devices."""

_BELOW = tuple(f"{top}." for top in _TOPS)


def find_imported_symbols(
    places: Iterable[StatementPlace], names: NameResolver, watch: WatchedSymbols, found: Sequence[Use]
) -> Iterator[Use]:
    """Yield the uses of symbols by imports at the places for which ``found`` has no other use.

    They are imported for others, left behind, or under a name that means something else after another branch; and
    modules that are symbols.
    """
    read = {
        (use.place.scope.find_scope(inner.id), inner.id)
        for use in found
        if isinstance(inner := innermost_object(use.node), ast.Name)
    }
    for place in places:
        statement = place.statement
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                resolved = _find_imported_module(alias, found)
            else:
                resolved = _find_imported_symbol(statement, alias, place, names, read)
            hit = watch.match_first(resolved.names) if resolved is not None else None
            if hit is not None and resolved is not None:
                yield Use(*hit, Kind.IMPORT, alias, (statement,), place, resolved.certain)


def _find_imported_module(alias: ast.alias, found: Sequence[Use]) -> ResolvedName | None:
    """Return the watched module of torch that an import names, if nothing in it is used otherwise."""
    below = alias.name + "."
    if not below.startswith(_BELOW) or any(use.name.startswith(below) for use in found):
        return None
    return ResolvedName((alias.name,))


def _find_imported_symbol(
    statement: ast.ImportFrom,
    alias: ast.alias,
    place: StatementPlace,
    names: NameResolver,
    read: set[tuple[Scope | None, str]],
) -> ResolvedName | None:
    """Return the symbol that an imported name stands for, if it is torch's own and not used otherwise; else None."""
    module, name = statement.module or "", alias.asname or alias.name
    if (
        module.partition(".")[0] not in _TOPS
        or statement.level
        or (place.scope.find_scope(name), name) in read
    ):
        return None  # the module that it comes from, or the use, has a finding of its own
    resolved = names.resolve_name(name, place.scope)
    if resolved is not None or _has_other_import(name, alias, place):
        return resolved
    return ResolvedName((f"{module}.{alias.name}",), certain=False)


def _has_other_import(name: str, alias: ast.alias, place: StatementPlace) -> bool:
    """Return whether another import binds the same name to something else of torch's: the code handles both."""
    owner = place.scope.find_scope(name)
    modules = [
        binding.module.split(".")
        for binding in (owner.bindings[name] if owner is not None else ())
        if binding.node is not alias and binding.kind in (BindingKind.IMPORT, BindingKind.FROM)
    ]
    return any(parts[0] in _TOPS and not _PLUGINS.intersection(parts[1:2]) for parts in modules)
