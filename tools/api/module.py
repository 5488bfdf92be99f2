"""Reads the names that the module in one file binds, without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tools.api import markers, signatures
from tools.api.markers import Mark, dotted
from tools.api.signatures import Function, Parameter, Signature

ADDS_DOCSTRING = {"_add_docstr", "add_docstr", "_add_docstr_all", "add_docstr_all"}
STUBS_ALONE = frozenset({"torch.utils._config_typing"})
"""Stubs without a module of their own: modules of settings get their content on import; some wheels lack these stubs."""
NEVER_THERE = ("pytorch.",)
"""Prefixes of modules that only Meta has: torchvision imports them in ``try``, and modules that need them fail."""
HAS_FIELDS = {
    "dataclass",
    "dataclasses.dataclass",
    "dataclass_transform",
    "_dataclass",
    "dataclasses_dataclass",
}


@dataclass(slots=True)
class Definition:
    """The definition that a name is bound to."""

    kind: str
    """"class", "function", "property", "value", "attribute" (only set on instances) or "alias"."""
    target: str = ""
    """The target of an alias: ``module``, ``module:name``, or a dotted name in its scope."""
    imported: bool = False
    documented: bool = False
    marks: list[Mark] = field(default_factory=list)
    warns: list[Mark] = field(default_factory=list)
    """The warnings of a function with a name such as ``_warn_deprecated``, which count for its callers."""
    raises: bool = False
    signature: Signature | None = None
    bases: list[str] = field(default_factory=list)
    members: dict[str, Definition] = field(default_factory=dict)
    has_fields: bool = False
    """Whether the annotated values of a class are the parameters of its constructor."""


@dataclass(slots=True)
class Module:
    """The contents of a module, as its file shows them."""

    name: str
    is_package: bool
    is_stub: bool = False
    names: dict[str, Definition] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    typed: set[str] = field(default_factory=set)
    """The names that only type checkers see."""
    exported: set[str] | None = None
    """The literal part of ``__all__``; None where there is none."""
    computes_exported: bool = False
    exports_of: list[str] = field(default_factory=list)
    """Modules whose ``__all__`` is part of this one's."""
    served: dict[str, Mark | None] = field(default_factory=dict)
    """The names that ``__getattr__`` knows, each with the marker that it shows."""
    docstrings: dict[str, str] = field(default_factory=dict)
    """The docstrings that the module adds to definitions of other modules."""
    marks: list[Mark] = field(default_factory=list)
    documented: bool = False
    opened: set[str] = field(default_factory=set)
    """The modules that get unknown names by ``sys.modules[…] = …``; most often the module itself."""


def read(name: str, text: str, *, is_package: bool, is_stub: bool = False) -> Module:
    """Read the source ``text`` of the module ``name``. Raises SyntaxError."""
    tree = ast.parse(text)
    module = Module(name, is_package, is_stub, documented=ast.get_docstring(tree) is not None)
    reader = _Reader(module, markers.constants(tree.body))
    module.names = reader.block(tree.body)
    if "sys.modules[" in text:
        module.opened = {opened or name for statement in tree.body for opened in _opened(statement)}
    module.marks = markers.of_module(tree.body, reader.texts)
    if "__getattr__" in module.names:
        module.served = _served(tree.body, reader.texts)
    return module


class _Reader:
    """Reads the statements of a module or class; imports are absolute afterwards."""

    def __init__(self, module: Module, texts: dict[str, str]) -> None:
        self.texts = texts
        self._module = module

    def block(self, body: Sequence[ast.stmt], *, in_class: bool = False) -> dict[str, Definition]:
        """Read the bindings of some statements."""
        found: dict[str, Definition] = {}
        overloads: dict[str, list[Signature]] = {}
        for statement in body:
            for name, definition in self._statement(statement, in_class):
                if definition is None:
                    found.pop(name, None)
                elif definition.kind == "overload" and definition.signature:
                    overloads.setdefault(name, []).append(definition.signature)
                    definition.kind = "function"
                    definition.signature = signatures.either(overloads[name])
                    definition.marks = []  # what is said of one overload is not so of the others
                    found[name] = definition
                else:
                    found[name] = definition
        return found

    def _statement(self, node: ast.stmt, in_class: bool) -> Iterable[tuple[str, Definition | None]]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                made = self._function(node, in_class)
                return [(node.name, made)] if made else []
            case ast.ClassDef():
                return [(node.name, self._class(node))]
            case ast.Import(names=names):
                return [
                    (
                        alias.asname or alias.name.partition(".")[0],
                        _imported(alias.name if alias.asname else alias.name.partition(".")[0]),
                    )
                    for alias in names
                ]
            case ast.ImportFrom():
                return self._import_from(node)
            case ast.Assign(targets=targets, value=value):
                return [pair for target in targets for pair in self._assigned(target, value, in_class)]
            case ast.AnnAssign(target=target, value=value):
                if value is None and not in_class and not isinstance(target, ast.Name):
                    return []
                return self._assigned(target, value, in_class)
            case ast.AugAssign(target=ast.Name(id="__all__"), value=value) if not in_class:
                self._export(value)
                return []
            case ast.Delete(targets=targets):
                return [(target.id, None) for target in targets if isinstance(target, ast.Name)]
            case ast.If(test=test, body=body, orelse=orelse):
                known = len(self._module.stars)
                found = self.block(body, in_class=in_class)
                if dotted(test).rpartition(".")[2] == "TYPE_CHECKING":
                    self._module.typed |= set(self._module.stars[known:])
                return _either(found, self.block(orelse, in_class=in_class)).items()
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                found = {**self.block(body, in_class=in_class), **self.block(orelse, in_class=in_class)}
                for handler in handlers:
                    found = _either(found, self.block(handler.body, in_class=in_class))
                return [*found.items(), *self.block(finalbody, in_class=in_class).items()]
            case ast.With(body=body):
                return list(self.block(body, in_class=in_class).items())
            case ast.For(target=target, body=body):
                return [*self._assigned(target, None, in_class), *self.block(body, in_class=in_class).items()]
            case ast.Expr(value=ast.Call() as call) if not in_class:
                self._called(call)
        return []

    def _import_from(self, node: ast.ImportFrom) -> list[tuple[str, Definition | None]]:
        source = node.module or ""
        if source.startswith(NEVER_THERE):
            return []
        if node.level:
            parts = self._module.name.split(".")
            kept = parts[: len(parts) - node.level + (1 if self._module.is_package else 0)]
            source = ".".join([*kept, source] if source else kept)
        if node.names[0].name == "*":
            self._module.stars.append(source)
            return []
        return [(alias.asname or alias.name, _imported(f"{source}:{alias.name}")) for alias in node.names]

    def _assigned(
        self, target: ast.expr, value: ast.expr | None, in_class: bool
    ) -> list[tuple[str, Definition | None]]:
        if isinstance(target, (ast.Tuple, ast.List)):
            return [pair for element in target.elts for pair in self._assigned(element, None, in_class)]
        if not isinstance(target, ast.Name) or (self._module.is_stub and isinstance(value, ast.Call)):
            return []  # what a stub calls makes its own types: T = TypeVar("T")
        if target.id == "__all__" and not in_class and value is not None:
            self._module.exported = set()
            self._export(value)
        return [(target.id, self._value(value, target.id))]

    def _value(self, value: ast.expr | None, name: str) -> Definition:
        if (
            isinstance(value, ast.Call)
            and dotted(value.func).rpartition(".")[2] in ADDS_DOCSTRING
            and value.args
        ):
            made = self._value(value.args[0], name)
            made.documented = True
            if len(value.args) > 1 and (mark := markers.of_docstring(_docstring(value.args[1]), name)):
                made.marks.append(mark)
            return made
        if target := dotted(value):
            return Definition("alias", target)
        return Definition("value")

    def _export(self, value: ast.expr) -> None:
        """Add a part of ``__all__``."""
        if self._module.exported is None:
            self._module.exported = set()
        match value:
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                for element in elements:
                    if isinstance(element, ast.Constant) and isinstance(element.value, str):
                        self._module.exported.add(element.value)
                    elif isinstance(element, ast.Starred):
                        self._export(element.value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                self._export(left)
                self._export(right)
            case ast.Attribute(value=owner, attr="__all__"):
                self._module.exports_of.append(dotted(owner))
            case ast.Constant(value=str() as name):
                self._module.exported.add(name)
            case _:
                self._module.computes_exported = True

    def _called(self, call: ast.Call) -> None:
        """Read a call at the top of a module that changes names: ``__all__.extend(…)``, ``add_docstr(…)``."""
        name = dotted(call.func)
        if name in ("__all__.extend", "__all__.append") and call.args:
            self._export(call.args[0])
        elif name.rpartition(".")[2] in ADDS_DOCSTRING and len(call.args) > 1:
            what = call.args[0]
            owner = (
                what.value if isinstance(what, ast.Constant) and isinstance(what.value, str) else dotted(what)
            )
            if owner:
                self._module.docstrings[owner] = _docstring(call.args[1])

    def _function(self, node: Function, in_class: bool) -> Definition | None:
        decorators = [dotted(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
        if any(name.endswith((".setter", ".deleter")) for name in decorators):
            return None
        overload = any(name.rpartition(".")[2] == "overload" for name in decorators)
        is_property = any(name.rpartition(".")[2] in ("property", "cached_property") for name in decorators)
        bound = in_class and "staticmethod" not in decorators
        made = Definition("overload" if overload else "property" if is_property else "function")
        made.signature = signatures.signature(node, bound=bound)
        made.raises = signatures.only_raises(node)
        made.marks = markers.of_function(node, self.texts, called="use" if is_property else "call")
        if docstring := ast.get_docstring(node):
            made.documented = True
            if not made.marks and (mark := markers.of_docstring(docstring, node.name)):
                made.marks.append(mark)
        if markers.HELPER.search(node.name):
            made.warns = markers.warnings_in(node, self.texts)
        return made

    def _class(self, node: ast.ClassDef) -> Definition:
        made = Definition(
            "class", bases=[dotted(b.value if isinstance(b, ast.Subscript) else b) or "…" for b in node.bases]
        )
        made.members = self.block(node.body, in_class=True)
        made.marks = list(markers.of_decorators(node, self.texts, "class"))
        made.has_fields = any(
            dotted(d.func if isinstance(d, ast.Call) else d) in HAS_FIELDS for d in node.decorator_list
        ) or any(base.rpartition(".")[2] == "NamedTuple" for base in made.bases)
        if made.has_fields:
            made.signature = _fields(node)
        for maker in ("__init__", "__new__"):
            if maker in made.members and made.members[maker].kind == "function":
                made.marks += [
                    Mark(
                        "init" if m.when == "call" else m.when,
                        m.category,
                        m.text,
                        m.parameter,
                        m.helper,
                        m.arguments,
                    )
                    for m in made.members[maker].marks
                    if m.when != "documentation"
                ]
        if docstring := ast.get_docstring(node):
            made.documented = True
            if not made.marks and (mark := markers.of_docstring(docstring, node.name)):
                made.marks.append(mark)
        for inner in ast.walk(node):
            match inner:
                case ast.Attribute(value=ast.Name(id="self"), attr=attribute, ctx=ast.Store()):
                    made.members.setdefault(attribute, Definition("attribute"))
        return made


def _fields(node: ast.ClassDef) -> Signature:
    """Return the constructor that annotated values define."""
    fields = [
        Parameter(s.target.id, True, True, ast.unparse(s.value) if s.value else "")
        for s in node.body
        if isinstance(s, ast.AnnAssign)
        and isinstance(s.target, ast.Name)
        and "ClassVar" not in ast.unparse(s.annotation)
    ]
    return Signature(tuple(fields), False, False)


def _docstring(node: ast.expr) -> str:
    """Return a docstring that is written as ``r"...".format(…)``, with its lines as they are."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "…"


def _opened(statement: ast.stmt) -> Iterator[str]:
    """Yield the modules that a statement replaces or puts other modules into; "" where its text does not name them."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return
    for node in ast.walk(statement):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and dotted(node.value) == "sys.modules"
            and dotted(node.slice) != "__name__"
        ):
            key = node.slice.values[0] if isinstance(node.slice, ast.JoinedStr) else node.slice
            yield (
                key.value.rstrip(".") if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
            )


def _imported(target: str) -> Definition:
    return Definition("alias", target, imported=True)


def _either(one: Mapping[str, Definition], other: Mapping[str, Definition]) -> dict[str, Definition]:
    """Merge the bindings of two alternatives; for a name in both, a real definition wins over a stand-in."""

    def weight(definition: Definition) -> bool:
        return definition.kind in ("value", "attribute") or definition.raises

    better = {n: d for n, d in one.items() if n not in other or weight(d) <= weight(other[n])}
    return {**other, **better}


def _served(body: Sequence[ast.stmt], texts: dict[str, str]) -> dict[str, Mark | None]:
    """Return the names that a module's ``__getattr__`` knows: its strings, and the strings in containers that it searches."""
    function = next(
        s
        for s in ast.walk(ast.Module(list(body), []))
        if isinstance(s, ast.FunctionDef) and s.name == "__getattr__"
    )
    tables = {
        target.id: s.value
        for s in body
        if isinstance(s, (ast.Assign, ast.AnnAssign)) and s.value is not None
        for target in (s.targets if isinstance(s, ast.Assign) else [s.target])
        if isinstance(target, ast.Name)
    }
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    served: dict[str, Mark | None] = {}
    warned = markers.warnings_in(function, texts)
    mark = warned[0] if warned else None
    for table in (tables[name] for name in used & set(tables)):
        for key in table.keys if isinstance(table, ast.Dict) else getattr(table, "elts", []):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                served[key.value] = _shown(mark, key.value) if isinstance(table, ast.Dict) else None
    for test in (node for node in ast.walk(function) if isinstance(node, ast.Compare)):
        for constant in (n for n in ast.walk(test) if isinstance(n, ast.Constant)):
            if isinstance(constant.value, str) and constant.value.isidentifier():
                served[constant.value] = _shown(mark, constant.value) if len(warned) == 1 else None
    return served


def _shown(mark: Mark | None, name: str) -> Mark | None:
    return mark and Mark("use", mark.category, mark.text.replace("{name}", name))
