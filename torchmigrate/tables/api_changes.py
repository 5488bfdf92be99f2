"""The changes of torch's API that are worth a sentence: ``data/changes.toml``, written by hand, each with its source.

Those of torch's companions are in ``data/companion_changes.toml``; their versions are those of the torch that a release of the
companion belongs to.

The ledger in `torchmigrate.tables.api_ledger` has all other names; it is generated.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torchmigrate.model.torch_versions import OLDEST, Version, parse_version, render_version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.tables import first_releases
from torchmigrate.tables.change_recipes import ChangeRecipe, list_written_names
from torchmigrate.tables.companion_releases import find_package, find_release, render_release

FILES = ("changes.toml", "companion_changes.toml")
SHOWN_WARNINGS = frozenset({"FutureWarning", "UserWarning"})
"""The categories of warnings that Python shows; it hides a DeprecationWarning outside of ``__main__``."""


class ApiChangeKind(enum.Enum):
    """The kinds of changes; each is a list in ``data/changes.toml``."""

    REMOVED = "removed"
    """A name that some release removes, or that only raises there."""
    DEPRECATED = "deprecated"
    """A name that warns."""
    DOCUMENTED = "documented"
    """A name that is deprecated only in its documentation, or with a warning that Python hides."""
    METHOD = "method"
    """A method of tensors."""
    PARAMETER = "parameter"
    """A parameter of a callable."""
    DEFAULT = "default"
    """The default of a callable's parameter."""
    MEANING = "meaning"
    """A default that is written as before and means something else, or a package that ended; a rule of its own reports it."""
    ALIAS = "alias"
    """A class that is now an alias or a subclass of another, so that tests of an instance's type go wrong."""
    VARIABLE = "variable"
    """An environment variable."""


@dataclass(frozen=True, slots=True)
class ApiChange:
    """One change; versions are those of torch, None for what never happened."""

    kind: ApiChangeKind
    symbols: tuple[str, ...]
    """Qualified names, as rules give them."""
    source: str
    documented: Version | None = None
    """The first release whose documentation deprecates it."""
    warns: Version | None = None
    """The first release that warns, with ``category``."""
    until: Version | None = None
    """The last release that warns, if the deprecation was withdrawn."""
    category: str = "FutureWarning"
    gone: Version | None = None
    raises: bool = False
    """Whether it still exists from ``gone`` on but only raises, so that `hasattr` does not help."""
    instead: str = ""
    """What to do instead, as a clause."""
    stated_needs: Version | None = None
    """The first release that supports ``instead``, where the names that recipes write do not tell it."""
    keywords: tuple[str, ...] = ()
    """The names of the parameters."""
    position: int | None = None
    """The index of the parameter among positional arguments."""
    by_place: bool = False
    """Whether the change is only about passing this argument, and those after it, by position."""
    place_of: str = ""
    """The parameter that has this position from ``gone`` on; code that requires such a torch means that one."""
    common: bool = False
    """Whether other objects have methods of this name, so that only those of what certainly is a tensor count."""
    called: bool = False
    """Whether only calls fail, because the name now stands for something else, such as a module."""
    values: tuple[str, ...] = ()
    """The code of the arguments that are affected, as `fnmatch` patterns; empty: any."""
    excluded: tuple[str, ...] = ()
    """The code of arguments that are not affected, as `fnmatch` patterns; ``number`` is any literal number."""
    others: tuple[str, ...] = ()
    """The code of other arguments of the call, as `fnmatch` patterns: ``dynamo=True`` has to be given, ``!dynamo=True``
    must not be."""
    blamed: str = ""
    """The keyword that messages name, if it is one of ``others`` that is at fault and ``keywords`` only have to be there."""
    was: str = ""
    """What the old default does, as a clause; of a variable, why another value has to be set."""
    instances: bool = False
    """Whether only creating instances warns; annotations and subclasses do not."""
    recipes: tuple[ChangeRecipe, ...] = ()

    def find_severity(self, target: Version) -> Severity:
        """Return an error if the target lacks it, a warning if the target warns visibly, else info."""
        if self.gone is not None and self.gone <= target:
            return Severity.ERROR
        warns = self.warns is not None and self.warns <= target <= (self.until or target)
        return Severity.WARNING if warns and self.category in SHOWN_WARNINGS else Severity.INFO

    @property
    def needs(self) -> Version:
        """The first release that supports ``instead``; 2.0 if that is older and unknown."""
        if self.stated_needs is not None:
            return self.stated_needs
        first = [
            first_releases.find_first_release(name) for name in list_written_names(self.symbols, self.recipes)
        ]
        return max(
            (one or OLDEST for one in first), default=first_releases.READ_FROM if self.recipes else OLDEST
        )

    @property
    def is_same_object(self) -> bool:
        """Whether the new name can replace the old one everywhere, called or not."""
        return self.kind is ApiChangeKind.ALIAS or all(recipe.same for recipe in self.recipes)

    def describe_state(self, target: Version, *, several: bool = False) -> str:
        """Return the state at the target, as a clause after the name, or after ``several``: ``was removed in torch 2.9``."""
        verb, _, rest = self._describe_one(target).partition(" ")
        return f"{_PLURAL_VERBS.get(verb, verb) if several else verb} {rest}"

    def _describe_one(self, target: Version) -> str:
        if self.gone is not None and self.place_of:
            verb, since = ("has been", "since") if self.gone <= target else ("will be", "from")
            return f"{verb} read as `{self.place_of}` {since} {self._render(self.gone)}"
        package = find_package(self.symbols[0])
        if self.gone is not None and package is not None and find_release(package, self.gone) is None:
            return f"has no release for torch {render_version(self.gone)} and newer"
        if self.gone is not None and self.gone <= target:
            return f"{'has raised an error since' if self.raises else 'was removed in'} {self._render(self.gone)}"
        later = ""
        if self.gone:
            later = f", and {'will raise an error from' if self.raises else 'will be removed in'} {self._render(self.gone)}"
        if self.warns is not None:
            hidden = "" if self.category in SHOWN_WARNINGS else f" with a {self.category}, which Python hides"
            if self.until is not None:
                return f"warns only in {self._render(self.warns)} to {render_version(self.until)}{hidden}"
            verb = "has warned since" if self.warns <= target else "will warn from"
            return f"{verb} {self._render(self.warns)}{hidden}{later}"
        if self.documented is not None:
            return f"has been deprecated in its documentation since {self._render(self.documented)}{later}"
        return f"is superseded{later}"

    def _render(self, version: Version) -> str:
        """Return the release of the package that the names belong to."""
        return render_release(self.symbols[0], version)


_PLURAL_VERBS = {"has": "have", "was": "were", "is": "are", "warns": "warn"}


@functools.cache
def load_changes(kind: ApiChangeKind) -> tuple[ApiChange, ...]:
    """Return the changes of a kind, in the order of the file."""
    return tuple(_parse_change(kind, row) for row in _load_rows().get(kind.value, ()))


@functools.cache
def index_by_symbol(*kinds: ApiChangeKind) -> Mapping[str, ApiChange]:
    """Return the changes of some kinds, by symbol."""
    return {symbol: change for kind in kinds for change in load_changes(kind) for symbol in change.symbols}


@functools.cache
def index_by_callable(kind: ApiChangeKind) -> Mapping[str, tuple[ApiChange, ...]]:
    """Return the changes of parameters or defaults, by callable."""
    found: dict[str, list[ApiChange]] = {}
    for change in load_changes(kind):
        for symbol in change.symbols:
            found.setdefault(symbol, []).append(change)
    return {symbol: tuple(of) for symbol, of in found.items()}


def find_changes(name: str) -> list[ApiChange]:
    """Return the changes of a qualified name, including those of its parameters and defaults.

    A method of tensors is ``torch.Tensor.qr``.
    """
    owner, _, last = name.rpartition(".")
    method = f".{last}" if owner == "torch.Tensor" else name
    for symbols in ({name, method}, {f"{owner}.*"}):
        found = [
            one for kind in ApiChangeKind for one in load_changes(kind) if symbols.intersection(one.symbols)
        ]
        if found:
            return found
    return []


@functools.cache
def _load_rows() -> dict[str, list[dict[str, Any]]]:
    from importlib import resources

    try:
        import tomllib
    except ImportError:  # Python 3.10
        import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]
    data = resources.files("torchmigrate.tables") / "data"
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in FILES:
        for kind, some in tomllib.loads((data / name).read_text("utf-8")).items():
            rows.setdefault(kind, []).extend(some)
    return rows


_VERSIONS = ("documented", "warns", "until", "gone", "needs")


def _parse_change(kind: ApiChangeKind, row: dict[str, Any]) -> ApiChange:
    fields = _convert_lists(row)
    fields |= {name: parse_version(fields[name]) for name in _VERSIONS if name in fields}
    fields["stated_needs"] = fields.pop("needs", None)
    if prefix := fields.pop("below", ""):
        fields["symbols"] = tuple(f"{prefix}.{symbol}" for symbol in fields["symbols"])
    fields["recipes"] = tuple(ChangeRecipe(**_convert_lists(recipe)) for recipe in fields.pop("recipe", ()))
    return ApiChange(kind=kind, **fields)


def _convert_lists(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
