"""The changes of torch's API that are worth a sentence, as ``data/changes.toml`` has them: written by hand, each with its source.

What became of every other name is generated, and stands in a table of its own.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torchmigrate.model.versions import OLDEST, Version, parse, render
from torchmigrate.model.vocabulary import Severity

SHOWN = frozenset({"FutureWarning", "UserWarning"})
"""The categories of warnings that Python shows; a DeprecationWarning it hides, but in ``__main__``."""


class Kind(enum.Enum):
    """What of the API a change is about; each is a list of ``data/changes.toml``."""

    REMOVED = "removed"
    """A name that is gone in some release, or that does nothing any more but raise."""
    DEPRECATED = "deprecated"
    """A name that warns."""
    DOCUMENTED = "documented"
    """A name that only its documentation calls deprecated, or whose warning Python hides."""
    METHOD = "method"
    """A method of tensors."""
    PARAMETER = "parameter"
    """A parameter of a callable."""
    DEFAULT = "default"
    """What a callable does where an argument is left out."""
    ALIAS = "alias"
    """A class that lives on as an alias or a subclass, so that tests of what an instance is go wrong."""
    VARIABLE = "variable"
    """An environment variable."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to say in the new API what a use says in the old one. The parts that are given have to hold together."""

    to: str = ""
    """The name that takes the place of the old one; the arguments stay but for the next six."""
    first: str = ""
    """Code of an argument that is added before all others."""
    name: tuple[str, ...] = ()
    """The names of the parameters, to hand positional arguments over by keyword; "" for one that stays as it is."""
    add: Mapping[str, str] = field(default_factory=dict)
    """Keywords that are added, with their code, where they are not given."""
    set: Mapping[str, str] = field(default_factory=dict)
    """Keywords that get other code, where they are given."""
    drop: tuple[str, ...] = ()
    """Keywords that are dropped."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """New names of keywords."""
    takes: str | None = None
    """The parameters that the recipe knows, as in a ``def``: a call with any other argument is left alone."""
    given: Mapping[str, str] = field(default_factory=dict)
    """The code of arguments for which it is right: ``some = "True"``; ``int`` stands for any whole number."""
    write: str = ""
    """The expression that takes the place of the call (or, for a name that is no function, of the name); an argument
    stands in it as its parameter in braces, and what a method is called on as ``{self}``."""
    around: str = ""
    """The expression that the changed call becomes a part of, as ``{call}``."""
    bare_for: tuple[str, ...] = ()
    """Functions, methods and attributes that want the call's value without what is ``around``: there the recipe is wrong."""
    result: tuple[str, ...] = ()
    """The parts of the old result (``.solution``, ``[0]``) that the new expression is; the old call must be asked for one."""
    bare: str = ""
    """The code of a decorator's arguments where the old one is written without any."""
    same: bool = False
    """Whether the new name is that of the same object, so that it may be compared and listed in the place of the old one."""
    remove: bool = False
    """Whether the statement goes that does nothing but call it."""
    unsafe: str = ""
    """When the code does something else afterwards; "" where it never does."""
    unless: tuple[str, ...] = ()
    """Regular expressions, each with a word that it begins with or is: where a file of the project matches one, the old
    name has to stay."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change; versions are those of torch, None where that never happened."""

    kind: Kind
    symbols: tuple[str, ...]
    """Qualified names, as rules give them."""
    source: str
    documented: Version | None = None
    """Since when the documentation calls it deprecated."""
    warns: Version | None = None
    """Since when it warns, with ``category``."""
    until: Version | None = None
    """The last release that warns, where the deprecation was taken back."""
    category: str = "FutureWarning"
    gone: Version | None = None
    raises: bool = False
    """Whether it lives on after ``gone`` and only raises, so that `hasattr` does not help."""
    instead: str = ""
    """What to use, in one clause."""
    needs: Version = OLDEST
    """Since when that exists."""
    keywords: tuple[str, ...] = ()
    """The parameters that it is about."""
    position: int | None = None
    """The place of the parameter among positional arguments."""
    by_place: bool = False
    """Whether it is about this argument, and those after it, only where they are given by their place."""
    place_of: str = ""
    """The parameter whose place it is from ``gone`` on: code that needs such a torch means that one."""
    beside: tuple[str, ...] = ()
    """Spellings of which a file must have one for the change to be looked for: ``.add_`` of ``x.mul_(2).add_(y)``."""
    values: tuple[str, ...] = ()
    """The code of the arguments that it is about, as `fnmatch` reads it; empty: any."""
    others: tuple[str, ...] = ()
    """The code of other arguments of the call, or of their values, as `fnmatch` reads it: ``dynamo=True`` has to be given,
    ``!dynamo=True`` must not be."""
    was: str = ""
    """What the old default does, in one clause."""
    instances: bool = False
    """Whether only instances warn, so that annotations and subclasses are fine."""
    recipes: tuple[Recipe, ...] = ()

    def severity(self, target: Version) -> Severity:
        """An error where it is gone at the target, a warning where it warns visibly there, else info."""
        if self.gone is not None and self.gone <= target:
            return Severity.ERROR
        if self.category in SHOWN and self.warns_at(target):
            return Severity.WARNING
        return Severity.INFO

    @property
    def names_the_same(self) -> bool:
        """Whether the new name may stand wherever the old one does, called or not."""
        return self.kind is Kind.ALIAS or all(recipe.same for recipe in self.recipes)

    def warns_at(self, version: Version) -> bool:
        """Whether a release warns, whatever category."""
        return (
            self.warns is not None and self.warns <= version and (self.until is None or version <= self.until)
        )

    def state(self, target: Version) -> str:
        """What it is at the target, as a clause that follows its name."""
        if self.gone is not None and self.place_of:
            return f"is taken for `{self.place_of}` {'since' if self.gone <= target else 'from'} torch {render(self.gone)}"
        if self.gone is not None and self.gone <= target:
            return f"{'only raises' if self.raises else 'is gone'} since torch {render(self.gone)}"
        later = (
            f", and {'only raises' if self.raises else 'is gone'} from torch {render(self.gone)}"
            if self.gone
            else ""
        )
        if self.warns is not None:
            hidden = "" if self.category in SHOWN else f" with a {self.category}, which Python hides"
            if self.until is not None:
                return f"warns in torch {render(self.warns)} to {render(self.until)} only{hidden}"
            verb = "warns since" if self.warns <= target else "warns from"
            return f"{verb} torch {render(self.warns)}{hidden}{later}"
        if self.documented is not None:
            return f"is deprecated by its documentation since torch {render(self.documented)}{later}"
        return f"is superseded{later}"


@functools.cache
def changes(kind: Kind) -> tuple[Change, ...]:
    """The changes of one kind, in the order of the file."""
    return tuple(_change(kind, row) for row in _rows().get(kind.value, ()))


@functools.cache
def by_symbol(*kinds: Kind) -> Mapping[str, Change]:
    """The change of each symbol among those of some kinds."""
    return {symbol: change for kind in kinds for change in changes(kind) for symbol in change.symbols}


@functools.cache
def of_callable(kind: Kind) -> Mapping[str, tuple[Change, ...]]:
    """The changes of each callable, which may have several, of its parameters or defaults."""
    found: dict[str, list[Change]] = {}
    for change in changes(kind):
        for symbol in change.symbols:
            found.setdefault(symbol, []).append(change)
    return {symbol: tuple(of) for symbol, of in found.items()}


def about(name: str) -> list[Change]:
    """The changes of a qualified name, those of its parameters and defaults included; a method of tensors is
    ``torch.Tensor.qr``."""
    owner, _, last = name.rpartition(".")
    method = f".{last}" if owner == "torch.Tensor" else name
    for symbols in ({name, method}, {f"{owner}.*"}):
        found = [one for kind in Kind for one in changes(kind) if symbols.intersection(one.symbols)]
        if found:
            return found
    return []


@functools.cache
def _rows() -> dict[str, list[dict[str, Any]]]:
    from importlib import resources

    try:
        import tomllib
    except ImportError:  # Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]
    text = (resources.files("torchmigrate.tables") / "data" / "changes.toml").read_text("utf-8")
    rows: dict[str, list[dict[str, Any]]] = tomllib.loads(text)
    return rows


_VERSIONS = ("documented", "warns", "until", "gone", "needs")


def _change(kind: Kind, row: dict[str, Any]) -> Change:
    given = dict(row)
    for name in _VERSIONS:
        if name in given:
            given[name] = parse(given[name])
    prefix = given.pop("below", "")
    given["symbols"] = tuple(f"{prefix}.{symbol}" if prefix else symbol for symbol in given["symbols"])
    given["keywords"] = tuple(given.get("keywords", ()))
    given["values"] = tuple(given.get("values", ()))
    given["beside"] = tuple(given.get("beside", ()))
    given["others"] = tuple(given.get("others", ()))
    given["recipes"] = tuple(_recipe(recipe) for recipe in given.pop("recipe", ()))
    return Change(kind=kind, **given)


def _recipe(row: dict[str, Any]) -> Recipe:
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    return Recipe(**given)
