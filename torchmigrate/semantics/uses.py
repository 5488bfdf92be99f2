"""Gate 2: which watched symbols a file uses, and where.

Only statements are walked that stand on a line with a token, or with a name that is bound to something whose token
it hides (`script` after ``from torch.jit import script``).
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, cast

from torchmigrate.gates.gate import spelled
from torchmigrate.gates.watch import Watch
from torchmigrate.model.vocabulary import Kind
from torchmigrate.semantics.dataflow import Flow
from torchmigrate.semantics.links import Links
from torchmigrate.semantics.resolve import Names, Resolved, leaf, literal_getattr, string
from torchmigrate.semantics.scopes import Binding, BindingKind, Place, Scope, Scopes
from torchmigrate.text.source import Source

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Use:
    """One place where a file uses a watched symbol."""

    symbol: str
    """As the rule lists it."""
    name: str
    """The qualified name; differs from the symbol where that has a ``*`` or is a method of any object."""
    kind: Kind
    node: ast.expr | ast.alias
    """What names the symbol: for ``torch.jit.script(f)`` the attribute ``torch.jit.script``."""
    parents: tuple[ast.AST, ...]
    """From the statement down to the node's parent."""
    place: Place
    certain: bool
    call: ast.Call | None = None
    """The call of the symbol, for ``Kind.CALL``."""
    decorated: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None = None
    """The definition that the symbol, or a call of it, decorates."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the walk knows about the expression it is in."""

    parents: tuple[ast.AST, ...]
    shadowed: frozenset[str] = frozenset()
    """Names bound by the lambdas and comprehensions around."""
    kind: Kind | None = None
    """The kind that the position gives: annotation, base class, `isinstance` argument."""
    decorated: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None = None
    located: bool = True
    """Whether positions are exact; those inside an f-string are not before Python 3.12."""

    def inside(self, node: ast.AST, **changes: object) -> Surroundings:
        """The surroundings of a child of ``node``."""
        values = {"shadowed": self.shadowed, "kind": self.kind, "located": self.located, **changes}
        return Surroundings((*self.parents, node), **values)  # type: ignore[arg-type]


TOPS = ("torch", "functorch")
"""The packages of the wheel whose names are watched."""

PLUGINS = frozenset({"gcu", "hpu", "ipu", "mlu", "musa", "npu", "sdaa", "xla"})
"""What other packages put below ``torch``: backends of devices."""

_BELOW = tuple(f"{top}." for top in TOPS)

_PATCHERS = frozenset({"patch", "setattr", "delattr", "spy", "stub"})
_PATCHED_OBJECT = frozenset({"setattr", "delattr", "object", "spy", "stub"})
_INSTANCE_CHECKS = frozenset({"isinstance", "issubclass"})
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Uses:
    """The uses of watched symbols in one file.

    Raises `SourceError` for a file that
    does not parse.
    """

    def __init__(self, source: Source, watch: Watch, links: Links | None = None) -> None:
        self.source = source
        self.watch = watch
        self.scopes = Scopes(source.tree, _walrus_lines(source))
        self.names = Names(self.scopes, watch, links)
        self._links = links or Links()
        self.unlinked: set[str] = set()
        """Names from other modules that would be a symbol if a part of them stood for torch: ``.compat.torch.jit``."""
        self._found: list[Use] = []
        self._place: Place
        self._hiding: set[str] = set()
        self._hot_lines: list[int] = []
        self._worked_out: dict[object, object] = {}
        self._heat()

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What ``make`` gives, made at the first call with this key: something rules work out about the whole file."""
        if key not in self._worked_out:
            self._worked_out[key] = make()
        return cast("T", self._worked_out[key])

    def release(self) -> None:
        """Breaks the cycles that would keep the tree until the next collection; nothing may be asked afterwards."""
        self._worked_out.clear()
        self.scopes.release()

    @cached_property
    def flow(self) -> Flow:
        """Where values go inside their scopes."""
        return Flow(self.scopes)

    @cached_property
    def symbols(self) -> frozenset[str]:
        """The symbols that are used."""
        return frozenset(use.symbol for use in self.found)

    @cached_property
    def found(self) -> list[Use]:
        """Every use, in order of position."""
        for place in self.scopes.places:
            if self._is_hot(place.statement):
                self._place = place
                self._children(place.statement, Surroundings(()))
        self._imports()
        return sorted(self._found, key=lambda use: (use.node.lineno, use.node.col_offset))

    @cached_property
    def exports(self) -> dict[str, str]:
        """The module's global names that stand for a symbol, or for a module on the way to one."""
        found = {}
        for name in self.scopes.module.bindings:
            resolved = self.names.resolve_name(name, self.scopes.module)
            if resolved is not None and resolved.certain:
                target = resolved.names[0]
                if self.watch.match(target) or target in self.watch.namespaces:
                    found[name] = target
        return found

    def origins(self, name: str) -> list[str]:
        """The qualified names, in other modules, that a global name of this module may come from."""
        scope = self.scopes.module
        imports = [b for b in scope.bindings.get(name, ()) if b.kind is BindingKind.FROM]
        return [b.target(b.name) for b in imports] or [star.target(name) for star in scope.stars]

    def _heat(self) -> None:
        """Finds the lines that spell a token, or a name that hides one, until no new such name appears."""
        text, line_of = self.source.text, self.source.line_of
        hot = set(map(line_of, self.watch.gate.positions(text)))
        fresh = {
            name
            for scope in self.scopes.all
            for star in scope.stars
            for name in self._brought_by(star.module)
        }
        waiting = [(scope, name) for scope in self.scopes.all for name in scope.bindings]
        while True:
            self._hiding |= fresh
            hot.update(map(line_of, spelled(fresh, text)))
            self._hot_lines = sorted(hot)
            fresh, cold = set(), []
            for scope, name in waiting:
                if not any(self._may_hide(binding) for binding in scope.bindings[name]):
                    cold.append((scope, name))
                elif name not in self._hiding:
                    resolved = self.names.resolve_name(name, scope)
                    if resolved and any(map(self._hides, resolved.names)):
                        fresh.add(name)
            waiting = cold
            if not fresh:
                return

    def _hides(self, target: str) -> bool:
        return self.watch.hides_token(target) or (
            not target.startswith("torch") and self._links.leads(target)
        )

    def _brought_by(self, module: str) -> Iterator[str]:
        yield from self._links.exported(module)
        for target in self.watch.aliases:
            if target.startswith(module + ".") and target.count(".") == module.count(".") + 1:
                yield target.removeprefix(module + ".").removesuffix("()")

    def _may_hide(self, binding: Binding) -> bool:
        if binding.kind in (BindingKind.IMPORT, BindingKind.FROM):
            return True
        return binding.value is not None and self._is_hot(binding.value)

    def _is_hot(self, node: ast.stmt | ast.expr) -> bool:
        first = node.lineno
        if isinstance(node, _Definition) and node.decorator_list:
            first = node.decorator_list[0].lineno
        index = bisect_left(self._hot_lines, first)
        return index < len(self._hot_lines) and self._hot_lines[index] <= (node.end_lineno or first)

    def _children(self, node: ast.AST, around: Surroundings) -> None:
        """Walks the expressions below a node; the statements below it have places of their own."""
        plain = around.inside(node)
        for name in node._fields:
            value = getattr(node, name, None)
            inner = plain
            if name in ("annotation", "returns"):
                inner = around.inside(node, kind=Kind.ANNOTATION)
            elif name == "bases" or (name == "keywords" and isinstance(node, ast.ClassDef)):
                inner = around.inside(node, kind=Kind.BASE)
            elif name == "decorator_list":
                inner = around.inside(node, decorated=node)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.stmt):
                    self._visit(child, inner)

    def _visit(self, node: ast.AST, around: Surroundings) -> None:
        if isinstance(node, ast.expr) and not self._is_hot(node):
            return
        if isinstance(node, (ast.Name, ast.Attribute)):
            self._named(node, around)
        elif isinstance(node, ast.Call):
            self._call(node, around)
        elif isinstance(node, ast.Lambda):
            arguments = node.args
            every = [
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                arguments.vararg,
                arguments.kwarg,
            ]
            bound = {argument.arg for argument in every if argument is not None}
            self._children(node, replace(around, shadowed=around.shadowed | bound))
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            bound = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            self._children(node, replace(around, shadowed=around.shadowed | bound))
        elif isinstance(node, ast.JoinedStr) and sys.version_info < (3, 12):
            for part in ast.walk(node):
                ast.copy_location(part, node)
            self._children(node, replace(around, located=False))
        elif isinstance(node, ast.Constant):
            if around.kind is Kind.ANNOTATION and isinstance(node.value, str):
                self._string_annotation(node, around)
            elif isinstance(node.value, str):
                of_command = isinstance(around.parents[-1], (ast.List, ast.Tuple))
                hit = self.watch.named_in(node.value, of_command=of_command)
                if hit is not None:
                    self._add(*hit, Kind.STRING, node, around, True)
        else:
            self._children(node, around)

    def _resolve(self, node: ast.AST, around: Surroundings) -> Resolved | None:
        return self.names.resolve(node, self._place.scope, around.shadowed)

    def _symbol(self, resolved: Resolved | None) -> tuple[str, str] | None:
        """The symbol and the qualified name of the first meaning that is watched."""
        for name in resolved.names if resolved else ():
            symbol = self.watch.match(name)
            if symbol is not None:
                return symbol, name
        return None

    def _named(self, node: ast.Name | ast.Attribute, around: Surroundings) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            return
        resolved = self._resolve(node, around)
        hit = self._symbol(resolved)
        if hit is None and isinstance(node, ast.Attribute):
            if node.attr in self.watch.methods and (resolved is None or _is_result(resolved)):
                self._add(
                    self.watch.methods[node.attr], node.attr, self._kind(node, around), node, around, True
                )
            elif resolved is not None:
                names = (name for name in resolved.names if not name.startswith("torch."))
                self.unlinked.update(name for name in names if self.watch.ends_alike(name))
        if hit is None:
            self._children(node, around)
            return
        certain = resolved is not None and resolved.certain
        self._add(*hit, self._kind(node, around), node, around, certain)
        inner = _root(node)
        if not isinstance(inner, ast.Name):
            self._visit(inner, around.inside(node))

    def _call(self, node: ast.Call, around: Surroundings) -> None:
        function = leaf(node.func)
        arguments = around.inside(node, kind=around.kind if around.kind is Kind.ANNOTATION else None)
        if literal_getattr(node) is not None:
            resolved = self._resolve(node, around)
            hit = self._symbol(resolved)
            if hit is not None and resolved is not None:
                self._add(*hit, self._kind(node, around), node, around, resolved.certain)
        elif function in _PATCHED_OBJECT | {"hasattr"} and len(node.args) >= 2:
            resolved = self.names.extend(self._resolve(node.args[0], around), _attribute(node.args[1]))
            hit = self._symbol(resolved)
            if hit is not None and resolved is not None:
                kind = Kind.GUARD if function == "hasattr" else Kind.ASSIGNMENT
                self._add(*hit, kind, node, around, resolved.certain)
        if function in _PATCHERS and node.args:
            self._patched_name(node.args[0], arguments)
        self._visit(node.func, around.inside(node, decorated=around.decorated, kind=None))
        for index, argument in enumerate(node.args):
            checked = function in _INSTANCE_CHECKS and index == 1
            self._visit(argument, replace(arguments, kind=Kind.ISINSTANCE) if checked else arguments)
        for keyword in node.keywords:
            self._children(keyword, arguments)

    def _patched_name(self, node: ast.expr, around: Surroundings) -> None:
        """`patch("torch.jit.script")`, `patch("mypkg.module.torch.jit.script")`."""
        value = string(node)
        if value is None:
            return
        name = value if value.startswith("torch.") else "torch." + value.partition(".torch.")[2]
        symbol = self.watch.match(name)
        if symbol is not None:
            self._add(symbol, name, Kind.STRING, node, around, True)

    def _kind(self, node: ast.expr, around: Surroundings) -> Kind:
        parent = around.parents[-1]
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return Kind.ASSIGNMENT
        if isinstance(parent, ast.Call) and parent.func is node:
            return Kind.CALL
        if around.decorated is not None:
            return Kind.DECORATOR
        return around.kind or Kind.REFERENCE

    def _add(
        self, symbol: str, name: str, kind: Kind, node: ast.expr, around: Surroundings, certain: bool
    ) -> None:
        parent = around.parents[-1]
        call = parent if kind is Kind.CALL and isinstance(parent, ast.Call) else None
        self._found.append(
            Use(
                symbol,
                name,
                kind,
                node,
                around.parents,
                self._place,
                certain and around.located,
                call,
                around.decorated,
            )
        )

    def _string_annotation(self, node: ast.Constant, around: Surroundings) -> None:
        """Parses a quoted annotation in place, if it is written as one plain literal."""
        text = self.source.segment(node)
        quotes = text[: len(text) - len(text.lstrip("'\""))]
        inner = text[len(quotes) : len(text) - len(quotes)]
        if len(quotes) not in (1, 3) or inner != node.value or "\n" in inner:
            return
        try:
            expression = ast.parse(inner, mode="eval").body
        except (SyntaxError, ValueError):
            return
        for part in ast.walk(expression):
            if isinstance(part, (ast.expr, ast.keyword)):
                part.lineno = part.end_lineno = node.lineno
                part.col_offset += node.col_offset + len(quotes)
                part.end_col_offset = (part.end_col_offset or 0) + node.col_offset + len(quotes)
        self._visit(expression, around)

    def _imports(self) -> None:
        """Symbols that an import names and nothing else here: imported for others, left behind, or under a name that
        means something else after another branch; and modules that are symbols."""
        read = {
            (use.place.scope.find(root.id), root.id)
            for use in self._found
            if isinstance(root := _root(use.node), ast.Name)
        }
        for place in self.scopes.places:
            statement = place.statement
            if not isinstance(statement, (ast.Import, ast.ImportFrom)) or not self._is_hot(statement):
                continue
            for alias in statement.names:
                resolved = self._imported(statement, alias, place, read)
                hit = self._symbol(resolved)
                if hit is not None and resolved is not None:
                    parents = (statement,)
                    self._found.append(Use(*hit, Kind.IMPORT, alias, parents, place, resolved.certain))

    def _imported(
        self,
        statement: ast.Import | ast.ImportFrom,
        alias: ast.alias,
        place: Place,
        read: set[tuple[Scope | None, str]],
    ) -> Resolved | None:
        """What an import brings that no use of its name speaks of; None for what is not torch's own."""
        if isinstance(statement, ast.Import):
            is_used = any(use.name.startswith(f"{alias.name}.") for use in self._found)
            return Resolved((alias.name,)) if alias.name.startswith(_BELOW) and not is_used else None
        module, name = statement.module or "", alias.asname or alias.name
        if module.partition(".")[0] not in TOPS or statement.level or (place.scope.find(name), name) in read:
            return None  # the module that it comes from, or the use, has a finding of its own
        resolved = self.names.resolve_name(name, place.scope)
        if resolved is not None or self._is_known_otherwise(name, alias, place):
            return resolved
        return Resolved((f"{module}.{alias.name}",), certain=False)

    def _is_known_otherwise(self, name: str, alias: ast.alias, place: Place) -> bool:
        """Whether another import gives a name to something else of torch's: the code knows of both."""
        owner = place.scope.find(name)
        modules = [
            binding.module.split(".")
            for binding in (owner.bindings[name] if owner is not None else ())
            if binding.node is not alias and binding.kind in (BindingKind.IMPORT, BindingKind.FROM)
        ]
        return any(parts[0] in TOPS and not PLUGINS.intersection(parts[1:2]) for parts in modules)


def _is_result(resolved: Resolved) -> bool:
    """Whether a name is below what a call of torch's returns, as in ``torch.zeros().storage``: an object, and no module."""
    return all(name.startswith("torch.") and "()." in name for name in resolved.names)


def _root(node: ast.AST) -> ast.AST:
    """The innermost object of a chain of attributes."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _attribute(node: ast.expr) -> str | None:
    """The suffix that a literal attribute name adds to a qualified name."""
    name = string(node)
    return f".{name}" if name is not None else None


def _walrus_lines(source: Source) -> list[int]:
    if b":=" not in source.text:
        return []
    return sorted({source.line_of(match.start()) for match in re.finditer(rb":=", source.text)})
