"""The facts of one release about every name that a program can spell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tools.api import markers
from tools.api.links import Links
from tools.api.markers import Mark
from tools.api.module import Definition, Module
from tools.api.signatures import Signature

DOCUMENTED, EXPORTED, ACCIDENTAL, PRIVATE = range(4)
KINDS = {"class": "c", "function": "f", "property": "v", "value": "v", "attribute": "v"}
DOCUMENTING = ("torch._torch_docs", "torch._tensor_docs", "torch._storage_docs")
"""The modules with the docstrings of functions that are not written in Python."""
TENSOR = ("TensorBase", "_TensorBase")
"""The names of the base class of tensors, which is not written in Python."""
SAY_NOTHING = {"object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol"}
"""Bases that give a class no members."""


@dataclass(frozen=True, slots=True)
class Fact:
    """The facts of one release about one name."""

    kind: str
    """``p`` module, ``c`` class, ``f`` function, ``m`` method, ``v`` value, ``a`` attribute of instances only."""
    level: int
    marks: tuple[Mark, ...] = ()
    raises: bool = False
    signature: Signature | None = None
    members: Members | None = None
    foreign: bool = False
    """Whether the name is not torch's own: ``torch.nn.modules.conv.Union``."""
    is_open: bool = False
    """Whether a module may have unknown names."""


@dataclass(eq=False, slots=True)
class Members:
    """The members of a class, its own and inherited ones."""

    facts: dict[str, Fact]
    own: set[str]
    """The members that the class defines, or inherits from a private base, where nobody would search for them."""
    foreign_bases: frozenset[str]
    is_open: bool
    """Whether ``__getattr__`` may give the class any name."""


@dataclass
class Release:
    """One release."""

    modules: Mapping[str, Module]
    _members: dict[str, Members] = field(default_factory=dict)

    @cached_property
    def links(self) -> Links:
        """The links of the release's names to their definitions."""
        return Links(self.modules)

    def facts(self) -> dict[str, Fact]:
        """The facts about every name that can be spelled, except for members, which belong to their class."""
        found = {module.name: self._of_module(module, module.name) for module in self.modules.values()}
        for module in self.modules.values():
            for name in self.links.bound(module.name):
                if not _is_special(name):
                    found[f"{module.name}.{name}"] = self._fact(module, name)
        return found

    def _of_module(self, module: Module, path: str) -> Fact:
        level = PRIVATE if _is_private(path) else DOCUMENTED if module.documented else EXPORTED
        unknown = {*module.stars} - module.typed - self.modules.keys()
        is_open = module.name in self._opened or bool(unknown)
        return Fact("p", level, self._marks(module.marks, module.name), is_open=is_open)

    @cached_property
    def _opened(self) -> set[str]:
        """The modules to which some module gives unknown names."""
        return set().union(*(module.opened for module in self.modules.values()))

    def _fact(self, module: Module, name: str) -> Fact:
        """Return the facts about a name of a module."""
        path = f"{module.name}.{name}"
        if name in module.served and name not in module.names:
            mark = module.served[name]
            return Fact("v", self._level(module, name, path), (mark,) if mark else ())
        resolved = self.links.attribute(module.name, name)
        if resolved is None:
            return Fact("v", self._level(module, name, ""), foreign=True)
        home, definition = resolved
        level = self._level(module, name, home)
        if isinstance(definition, Module):
            return replace(self._of_module(definition, path), level=level)
        marks, documented = self._said(definition, name, home)
        bound = module.names.get(name)
        if bound is not None and bound.kind == "alias" and bound.documented:  # f = _add_docstr(…)
            marks, documented = marks or tuple(bound.marks), True
        if docstring := self._added.get(path):  # a function may have one for each of its names
            marks, documented = marks or _of_docstring(docstring, name), True
        if level == EXPORTED and documented:
            level = DOCUMENTED
        kind = KINDS.get(definition.kind, "v")
        members = self._members_of(home, definition) if definition.kind == "class" else None
        constructor = members.facts.get("__init__") if members else None
        raises = constructor.raises if constructor else definition.raises
        if level == PRIVATE:  # of these the name alone counts
            return Fact(kind, level, marks, raises)
        signature = self._constructor(members, definition) if members else definition.signature
        return Fact(kind, level, marks, raises, signature, members)

    def _level(self, module: Module, name: str, home: str) -> int:
        """Return how public a name of a module is; ``home`` is the module that defines it, empty for a name that is not torch's."""
        if _is_private(f"{module.name}.{name}"):
            return PRIVATE
        exports = self.links.exports(module)
        if name in (module.exported or ()) or (exports is not None and name in exports):
            return EXPORTED
        if exports is not None:
            return ACCIDENTAL
        # Where a module does not say what it offers, it is what it defines, or takes from its own parts.
        own = home.startswith((f"{module.name}.", f"{module.name}_"))
        return (
            EXPORTED if own or (module.name in ("torch", "functorch") and "torch._" in home) else ACCIDENTAL
        )

    def _said(self, definition: Definition, name: str, home: str) -> tuple[tuple[Mark, ...], bool]:
        """Return the markers of a definition, and whether it has a docstring, its own or one that another module adds."""
        marks = self._marks(definition.marks, home.rpartition(".")[0])
        docstring = self._added.get(home)
        if docstring and not marks:
            marks = _of_docstring(docstring, name)
        return marks, definition.documented or docstring is not None

    @cached_property
    def _added(self) -> dict[str, str]:
        """The docstrings that modules add to definitions of others, by qualified name."""
        added: dict[str, str] = {}
        for module in (self.modules[name] for name in DOCUMENTING if name in self.modules):
            for name, docstring in module.docstrings.items():
                # Those of methods are given without the class.
                added |= (
                    {name: docstring}
                    if "." in name
                    else {f"torch._C.{base}.{name}": docstring for base in TENSOR}
                )
        return added

    def _members_of(self, home: str, definition: Definition) -> Members:
        """Return the members of the class that ``home`` defines."""
        if home in self._members:
            return self._members[home]
        facts: dict[str, Fact] = {}
        foreign: set[str] = set()
        # Stubs are complete where they are generated: for tensors.
        is_stub = home.startswith("torch._C.") and home.rpartition(".")[2] not in TENSOR
        is_open = is_stub or "__getattr__" in definition.members
        members = Members(facts, set(definition.members), frozenset(), is_open)
        self._members[home] = members  # where a circle of bases ends
        for base in reversed(definition.bases):
            resolved = self.links.in_scope(home.rpartition(".")[0], base)
            if resolved is None or not isinstance(resolved[1], Definition) or resolved[1].kind != "class":
                foreign |= {base} - SAY_NOTHING
                continue
            inherited = self._members_of(resolved[0], resolved[1])
            facts.update(inherited.facts)
            if _is_private(resolved[0]):
                members.own |= inherited.own
            foreign |= inherited.foreign_bases
            members.is_open |= inherited.is_open
        for name, member in definition.members.items():
            if member.kind != "attribute" or name not in facts:
                facts[name] = self._member(home, name, member)
        members.foreign_bases = frozenset(foreign)
        return members

    def _member(self, owner: str, name: str, member: Definition) -> Fact:
        if member.kind == "alias":
            resolved = self.links.in_scope(owner, member.target)
            member = resolved[1] if resolved and isinstance(resolved[1], Definition) else Definition("value")
        marks, documented = self._said(member, name, f"{owner}.{name}")
        level = PRIVATE if name.startswith("_") else DOCUMENTED if documented else EXPORTED
        kind = {"function": "m", "attribute": "a"}.get(member.kind) or KINDS.get(member.kind, "v")
        return Fact(kind, level, marks, member.raises, member.signature)

    def _constructor(self, members: Members, definition: Definition) -> Signature | None:
        for maker in ("__init__", "__new__"):
            if maker in members.facts and (maker in definition.members or not definition.has_fields):
                return members.facts[maker].signature
        return definition.signature

    def _marks(self, marks: Iterable[Mark], scope: str) -> tuple[Mark, ...]:
        """Return the markers with the texts of their helpers filled in."""
        found: dict[Mark, None] = {}
        for mark in marks:
            if mark.helper:
                resolved = self.links.in_scope(scope, mark.helper)
                helper = resolved[1] if resolved else None
                if not isinstance(helper, Definition) or not helper.warns:
                    continue
                said = helper.warns[0]
                text = _filled(said.text, helper, mark)
                mark = replace(mark, category=said.category, text=text, helper="", arguments=())
            found[replace(mark, text=re.sub(r"\{\w+\}", "…", mark.text))] = None
        return tuple(found)


def _filled(text: str, helper: Definition, mark: Mark) -> str:
    """Return the text of a helper's warning, with the text of its arguments filled in."""
    names = [parameter.name for parameter in helper.signature.parameters] if helper.signature else []
    given = dict(zip(names, (a for a in mark.arguments if not _is_keyword(a)), strict=False))
    given |= {a.partition("=")[0]: a.partition("=")[2] for a in mark.arguments if _is_keyword(a)}
    for name, value in given.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _is_keyword(argument: str) -> bool:
    return argument.partition("=")[0].isidentifier() and "=" in argument


def _of_docstring(docstring: str, name: str) -> tuple[Mark, ...]:
    mark = markers.of_docstring(docstring, name)
    return (mark,) if mark else ()


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_private(path: str) -> bool:
    return any(part.startswith("_") for part in path.split("."))
