"""Links the modules of one release: what each name stands for that a program can spell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tools.api import markers
from tools.api.markers import Mark
from tools.api.module import Definition, Module
from tools.api.signatures import Signature

DOCUMENTED, EXPORTED, ACCIDENTAL, PRIVATE_LEVEL = range(4)
KINDS = {"class": "c", "function": "f", "property": "v", "value": "v", "attribute": "v"}


@dataclass(frozen=True, slots=True)
class Fact:
    """What one release says of one name."""

    kind: str
    """``p`` module, ``c`` class, ``f`` function, ``m`` method, ``v`` value."""
    level: int
    marks: tuple[Mark, ...] = ()
    raises: bool = False
    signature: Signature | None = None
    members: Members | None = None
    foreign: bool = False
    """Whether it is none of torch's own: ``torch.nn.modules.conv.Union``."""


@dataclass(eq=False, slots=True)
class Members:
    """What a class has, of its own and from its bases."""

    facts: dict[str, Fact]
    foreign_bases: frozenset[str]
    is_open: bool
    """Whether ``__getattr__`` may give it any name."""


@dataclass
class Release:
    """The modules of one release."""

    modules: Mapping[str, Module]
    _resolving: set[str] = field(default_factory=set)
    _resolved: dict[str, tuple[str, Definition | Module] | None] = field(default_factory=dict)
    _members: dict[str, Members] = field(default_factory=dict)

    def facts(self) -> dict[str, Fact]:
        """Every name that can be spelled, without those of classes, which come with the class."""
        found: dict[str, Fact] = {}
        for module in self.modules.values():
            if module.name not in found:
                level = self._level_of_module(module)
                found[module.name] = Fact("p", level, tuple(self._marks(module.marks, module.name)))
            for name in self._bound(module.name):
                if name.startswith("__") and name.endswith("__"):
                    continue
                path = f"{module.name}.{name}"
                found[path] = self._fact(module, name)
        return found

    def _fact(self, module: Module, name: str) -> Fact:
        path = f"{module.name}.{name}"
        if name in module.served and name not in module.names:
            mark = module.served[name]
            return Fact("v", self._level(module, name, path), (mark,) if mark else ())
        resolved = self.resolve(path)
        if resolved is None:
            level = self._level(module, name, "")
            return Fact("v", level, foreign=True)
        home, definition = resolved
        level = self._level(module, name, home)
        if isinstance(definition, Module):
            return Fact("p", level, tuple(self._marks(definition.marks, home)))
        owner = home.rpartition(".")[0]
        marks, documented = self._marks(definition.marks, owner), definition.documented
        for docstring in self._docstrings(path, home):
            documented = True
            if not marks and (mark := markers.of_docstring(docstring)):
                marks = [mark]
        bound = module.names.get(name)
        if bound is not None and bound.kind == "alias" and bound.documented:
            documented = True
            marks = marks or bound.marks
        if level == EXPORTED and documented:
            level = DOCUMENTED
        members = self._members_of(home, definition) if definition.kind == "class" else None
        signature = self._constructor(members, definition) if members else definition.signature
        raises = definition.raises
        if members and "__init__" in members.facts:
            raises = members.facts["__init__"].raises
        return Fact(KINDS.get(definition.kind, "v"), level, tuple(marks), raises, signature, members)

    def _docstrings(self, path: str, home: str) -> Iterator[str]:
        for name in dict.fromkeys((path, home)):
            if docstring := self._added_docstrings.get(name):
                yield docstring

    @cached_property
    def _added_docstrings(self) -> dict[str, str]:
        """What modules such as ``torch._torch_docs`` say of names elsewhere."""
        added: dict[str, str] = {}
        for module in self.modules.values():
            for name, docstring in module.docstrings.items():
                if module.name == "torch._tensor_docs" and "." not in name:
                    added[f"torch._C.TensorBase.{name}"] = added[f"torch._C._TensorBase.{name}"] = docstring
                elif module.name in ("torch._torch_docs", "torch._tensor_docs", "torch._storage_docs"):
                    added[name] = docstring
        return added

    def resolve(self, name: str) -> tuple[str, Definition | Module] | None:
        """The home and the definition of a qualified name; None for what is not torch's, or not known."""
        if name in self._resolved:
            return self._resolved[name]
        if name in self._resolving:
            return None
        self._resolving.add(name)
        found = self._resolve(name)
        self._resolving.discard(name)
        self._resolved[name] = found
        return found

    def _resolve(self, name: str) -> tuple[str, Definition | Module] | None:
        owner, _, last = name.rpartition(".")
        if not owner:
            return (name, self.modules[name]) if name in self.modules else None
        resolved = self.resolve(owner)
        if resolved is None:
            return None
        home, holder = resolved
        if isinstance(holder, Module):
            return self._attribute(home, last)
        member = holder.members.get(last) if holder.kind == "class" else None
        return (f"{home}.{last}", member) if member else None

    def _attribute(self, module: str, name: str) -> tuple[str, Definition | Module] | None:
        """What a module has under a name: what it binds, before a module inside of it."""
        inner = f"{module}.{name}"
        definition, where = self._bound(module).get(name, (None, module))
        if definition is None:
            return (inner, self.modules[inner]) if inner in self.modules else None
        if definition.kind != "alias":
            return f"{where}.{name}", definition
        if not definition.imported:
            return self.resolve(f"{where}.{definition.target}") or (f"{where}.{name}", Definition("value"))
        source, _, last = definition.target.partition(":")
        if not last:
            return self.resolve(source)
        if source not in self.modules:
            return None
        if (source, last) == (where, name):  # ``from . import x`` binds the module inside
            return (inner, self.modules[inner]) if inner in self.modules else None
        # What an import names is looked for in the module, even where the package has other things of its name.
        key = f"{source}:{last}"
        if key in self._resolving:
            return None
        self._resolving.add(key)
        found = self._attribute(source, last)
        self._resolving.discard(key)
        return found

    def _bound(self, module: str) -> dict[str, tuple[Definition, str]]:
        """Every name that a module binds: its definition, and the module that holds it."""
        if module in self._bindings:
            return self._bindings[module]
        held = self.modules[module]
        found: dict[str, tuple[Definition, str]] = {}
        self._bindings[module] = found  # a circle of star imports ends here
        for star in held.stars:
            if star in self.modules:
                exports = self._exports(self.modules[star])
                found |= {
                    name: bound
                    for name, bound in self._bound(star).items()
                    if (not name.startswith("_") if exports is None else name in exports)
                }
        for name in held.served:
            found[name] = Definition("value"), module
        for name, definition in held.names.items():
            found[name] = definition, module
        return found

    @cached_property
    def _bindings(self) -> dict[str, dict[str, tuple[Definition, str]]]:
        return {}

    def _exports(self, module: Module) -> set[str] | None:
        """``__all__``; None where there is none, or where it is computed."""
        if module.exported is None or module.computes_exported:
            return None
        found = set(module.exported)
        for name in module.exports_of:
            other = self.resolve(f"{module.name}.{name}") or self.resolve(name)
            if other is None or not isinstance(other[1], Module) or other[1] is module:
                return None
            found |= self._exports(other[1]) or set()
        return found

    def _level_of_module(self, module: Module) -> int:
        if _is_private(module.name):
            return PRIVATE_LEVEL
        return DOCUMENTED if module.documented else EXPORTED

    def _level(self, module: Module, name: str, home: str) -> int:
        path = f"{module.name}.{name}"
        if _is_private(path):
            return PRIVATE_LEVEL
        exports = self._exports(module)
        if exports is not None:
            return EXPORTED if name in exports else ACCIDENTAL
        if module.exported is not None and name in module.exported:
            return EXPORTED
        # Where a module does not say what it offers, it is what it defines, or takes from its own parts.
        own = home.startswith((f"{module.name}.", f"{module.name}_"))
        return (
            EXPORTED
            if own or (module.name in ("torch", "functorch") and home.startswith("torch._"))
            else ACCIDENTAL
        )

    def _members_of(self, home: str, definition: Definition) -> Members:
        if home in self._members:
            return self._members[home]
        facts: dict[str, Fact] = {}
        members = self._members[home] = Members(facts, frozenset(), "__getattr__" in definition.members)
        scope = home.rpartition(".")[0]
        foreign = set()
        for base in reversed(definition.bases):
            resolved = self._in_scope(scope, base)
            if resolved is None or not isinstance(resolved[1], Definition) or resolved[1].kind != "class":
                if base not in ("object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol"):
                    foreign.add(base)
                continue
            inherited = self._members_of(resolved[0], resolved[1])
            facts.update(inherited.facts)
            foreign |= inherited.foreign_bases
            members.is_open |= inherited.is_open
        for name, member in definition.members.items():
            if member.kind == "attribute" and name in facts:
                continue
            facts[name] = self._member(f"{home}.{name}", name, member, scope)
        members.foreign_bases = frozenset(foreign)
        return members

    def _member(self, path: str, name: str, member: Definition, scope: str) -> Fact:
        if member.kind == "alias" and (resolved := self._in_scope(path.rpartition(".")[0], member.target)):
            target = resolved[1]
            member = target if isinstance(target, Definition) else Definition("value")
        marks = self._marks(member.marks, scope)
        docstring = self._added_docstrings.get(path)
        if docstring and not marks and (mark := markers.of_docstring(docstring)):
            marks = [mark]
        documented = member.documented or docstring is not None
        level = PRIVATE_LEVEL if name.startswith("_") else DOCUMENTED if documented else EXPORTED
        kind = (
            "a"
            if member.kind == "attribute"
            else "m"
            if member.kind == "function"
            else KINDS.get(member.kind, "v")
        )
        return Fact(kind, level, tuple(marks), member.raises, member.signature)

    def _constructor(self, members: Members, definition: Definition) -> Signature | None:
        for maker in ("__init__", "__new__"):
            if maker in members.facts and (maker in definition.members or not definition.has_fields):
                return members.facts[maker].signature
        return definition.signature

    def _in_scope(self, scope: str, name: str) -> tuple[str, Definition | Module] | None:
        """What a dotted name means inside of a module or class."""
        while scope:
            if resolved := self.resolve(f"{scope}.{name}"):
                return resolved
            scope = scope.rpartition(".")[0]
            if scope not in self.modules and self.resolve(scope) is None:
                return None
            if (
                isinstance((self.resolve(scope) or ("", None))[1], Module)
                and scope not in name
                and "." not in scope
            ):
                break
        return self.resolve(name)

    def _marks(self, marks: list[Mark], scope: str) -> list[Mark]:
        """Markers with what their helpers say put in."""
        found = []
        for mark in marks:
            if not mark.helper:
                found.append(mark)
                continue
            resolved = self._in_scope(scope, mark.helper)
            helper = resolved[1] if resolved else None
            if not isinstance(helper, Definition) or not helper.warns:
                continue
            said = helper.warns[0]
            found.append(
                replace(
                    mark,
                    category=said.category,
                    text=_filled(said.text, helper, mark),
                    helper="",
                    arguments=(),
                )
            )
        return list(dict.fromkeys(replace(m, text=_without_names(m.text)) for m in found))


def _filled(text: str, helper: Definition, mark: Mark) -> str:
    names = [p.name for p in helper.signature.parameters] if helper.signature else []
    positional = [argument for argument in mark.arguments if "=" not in argument.split(" ")[0]]
    given = dict(zip(names, positional, strict=False))
    given |= dict(a.split("=", 1) for a in mark.arguments if "=" in a.split(" ")[0])
    for name, value in given.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _without_names(text: str) -> str:
    import re

    return re.sub(r"…(?:\s*…)+", "…", re.sub(r"\{\w+\}", "…", text))


def _is_private(path: str) -> bool:
    return any(part.startswith("_") for part in path.split("."))
