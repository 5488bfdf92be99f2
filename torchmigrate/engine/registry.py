"""The registry of rules: every module below `torchmigrate.rules`, and the rules that other packages offer.

Another package offers rules through entry points of the group ``torchmigrate.rules``; each names a package whose
modules define a ``rule``, in sub-packages named after their families.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from torchmigrate.model.qualified_names import COMPANION_PACKAGES
from torchmigrate.model.vocabulary import Severity
from torchmigrate.prefilter.triggers import Trigger, load_triggers

if TYPE_CHECKING:
    from torchmigrate.model.rule import Rule
    from torchmigrate.settings.settings import Settings


@cache
def load_rules() -> Mapping[str, Rule]:
    """Return all rules by code, in the order of their codes.

    Raises ConfigError for a rule whose code or symbols are not such as rules have, if two have the same code, and for
    a package of another distribution that cannot be imported.
    """
    from torchmigrate.model.rule import Rule

    found: dict[str, Rule] = {}
    for module in _import_rule_modules():
        rule = getattr(module, "rule", None)
        if not isinstance(rule, Rule):
            continue
        family, _, name = module.__name__.rpartition(".")
        rule.name, rule.family = name.replace("_", "-"), family.rpartition(".")[2].replace("_", "-")
        rule.doc = module.__doc__ or ""
        other = found.get(rule.code)
        wrong = (
            _find_rule_error(rule)
            if other is None
            else f"{rule.code} is also the code of {other.family}/{other.name}"
        )
        if wrong is not None:
            from torchmigrate.settings.config import ConfigError

            raise ConfigError(f"{module.__file__}: {wrong}")
        found[rule.code] = rule
    return dict(sorted(found.items()))


@cache
def collect_triggers() -> list[Trigger]:
    """Return the trigger of each rule, from recorded data if that is up to date and all rules are this package's own."""
    if not load_plugin_packages():
        recorded = load_triggers(digest_rule_sources())
        if recorded is not None:
            return recorded
    return [Trigger.from_rule(rule) for rule in load_rules().values()]


def digest_rule_sources() -> str:
    """Return a digest of the sources that rules are made from: this package's rules and tables, by name and size."""
    import hashlib

    lines = []
    for name in ("rules", "tables"):
        spec = importlib.util.find_spec(f"torchmigrate.{name}")
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            files = list_source_files(folder)
            lines += [f"{path[len(folder) :]} {status.st_size}" for path, status in files]
    text = "\n".join(sorted(lines)).replace(os.sep, "/")
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def list_source_files(folder: str) -> list[tuple[str, os.stat_result]]:
    """Return all files below a folder that Python has not generated, with their states."""
    found = []
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(names):
            path = os.path.join(top, name)
            with contextlib.suppress(OSError):  # an editor's link to nothing
                found.append((path, os.stat(path)))
    return found


_PACKAGES = ("torch", "functorch", "e3nn", *COMPANION_PACKAGES)


def _find_rule_error(rule: Rule) -> str | None:
    """Return what is invalid about a rule's code or symbols, or None."""
    if not re.fullmatch(r"[A-Z]{2}[0-9]{3}", rule.code):
        return f"the code {rule.code!r} must be two capital letters and three digits"
    for symbol in rule.watched_symbols:
        is_known = symbol[0] in ".$" or symbol.partition(".")[0] in _PACKAGES
        if not is_known and symbol not in vars(builtins):
            packages = ", ".join(f"`{package}.`" for package in _PACKAGES)
            return f"the symbol {symbol!r} does not begin with {packages}, a dot or a dollar sign"
    return None


def select_rules(settings: Settings) -> Mapping[str, Rule]:
    """Return the rules that ``settings`` select, by code."""
    return {
        code: rule
        for code, rule in load_rules().items()
        if settings.is_selected(code, rule.family, rule.default, rule.by_code)
    }


def check_selectors(settings: Settings, rules: Iterable[Rule | Trigger]) -> None:
    """Raise ConfigError for a selector that matches no rule: a misspelled one would silently select nothing."""
    from torchmigrate.settings.config import ConfigError, suggest_name

    known = ["ALL"]
    for rule in rules:
        known += [rule.code, rule.family]
    severities = [severity.value for severity in Severity]
    for selector in settings.selectors + tuple(shown for shown in settings.show if shown not in severities):
        upper = selector.upper()
        if not any(name.upper() == upper or name.upper().startswith(upper) for name in known):
            raise ConfigError(f"no rule matches `{selector}`{suggest_name(selector, sorted(set(known)))}")


def _import_rule_modules() -> Iterator[ModuleType]:
    yield from _import_modules_below(importlib.import_module("torchmigrate.rules"))
    for package in load_plugin_packages():
        with _reporting_import_errors(package.__name__):
            yield from _import_modules_below(package)


def _import_modules_below(package: ModuleType) -> Iterator[ModuleType]:
    """Import the modules of a package's subpackages, by name."""
    for folder in package.__path__:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if (
                entry.is_dir()
                and not entry.name.startswith("_")
                and os.path.exists(os.path.join(entry.path, "__init__.py"))
            ):
                for name in sorted(os.listdir(entry.path)):
                    stem, suffix = os.path.splitext(name)
                    if suffix == ".py" and stem != "__init__":
                        yield importlib.import_module(f"{package.__name__}.{entry.name}.{stem}")


@contextlib.contextmanager
def _reporting_import_errors(name: str) -> Iterator[None]:
    """Turn an exception in another distribution's package into a ConfigError that names the package."""
    try:
        yield
    except Exception as error:
        from torchmigrate.settings.config import ConfigError

        raise ConfigError(
            f"the rules of another package, {name}, cannot be imported: {type(error).__name__}: {error}"
        ) from error


_GROUP = b"torchmigrate.rules"


@cache
def load_plugin_packages() -> tuple[ModuleType, ...]:
    """Return the packages of rules that other distributions name in their entry points. Raises ConfigError."""
    if not any(map(_has_entry_points, sys.path)):
        return ()
    from importlib.metadata import entry_points

    found = []
    for entry in sorted(entry_points(group=_GROUP.decode()), key=lambda entry: entry.name):
        with _reporting_import_errors(entry.value):
            found.append(entry.load())
    return tuple(module for module in found if isinstance(module, ModuleType))


def _has_entry_points(folder: str) -> bool:
    """Return whether a distribution in ``folder`` has entry points for rules; importing `importlib.metadata` would take 40 ms."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(("-info", ".egg")):
                with (
                    contextlib.suppress(OSError),
                    open(os.path.join(entry.path, "entry_points.txt"), "rb") as file,
                ):
                    if _GROUP in file.read():
                        return True
    return False
