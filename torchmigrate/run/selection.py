"""The selected rules: all that any of the settings select, behind one prefilter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from torchmigrate.engine import registry
from torchmigrate.gates.sorts import Sorts
from torchmigrate.run.cache import Cache, digest
from torchmigrate.run.fingerprint import fingerprint
from torchmigrate.settings.settings import Settings

if TYPE_CHECKING:
    from torchmigrate.engine.ruleset import RuleSet
    from torchmigrate.gates.screen import Screen
    from torchmigrate.gates.triggers import Trigger
    from torchmigrate.model.options import Options
    from torchmigrate.model.rule import Rule

_screens: dict[bytes, Screen] = {}
"""Prefilters by key: compiling one takes longer than checking a small file, and forked processes inherit it."""
_rule_sets: dict[bytes, RuleSet] = {}
"""Rule sets by key, for any options."""


class Selection:
    """The rules that any of the ``settings`` select, and which of them run under each of the settings."""

    def __init__(self, settings: Collection[Settings]) -> None:
        self._settings = list(dict.fromkeys(settings))

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        """The selected rules by code."""
        return {code: rule for one in self._settings for code, rule in registry.selected(one).items()}

    @cached_property
    def _triggers(self) -> list[Trigger]:
        """What these rules look for. Raises ConfigError for a selector that fits no rule."""
        every = registry.triggers()
        for one in self._settings:
            registry.check_selectors(one, every)
        return [
            one
            for one in every
            if any(settings.selects(one.code, one.family, one.default) for settings in self._settings)
        ]

    @cached_property
    def key(self) -> bytes:
        """A key of the selected rules and of this version of the tool."""
        return digest(fingerprint(), *sorted({_choice(settings) for settings in self._settings}))

    def sorts(self, cache: Cache) -> Sorts:
        """Return the sorts of files that these rules read. Raises ConfigError for a selector that matches no rule."""
        if (
            not cache.keeps
        ):  # without a cache the key is not needed, which depends on the state of all sources
            return Sorts.of(self._triggers)
        key = digest(fingerprint(), self._key_of(b"sorts"))
        kept = cache.get(key, Sorts)
        if kept is None:
            kept = Sorts.of(self._triggers)
            cache.put(key, kept)
        return kept

    @property
    def screen(self) -> Screen:
        """The prefilter for these rules. Raises ConfigError for a selector that matches no rule."""
        key = self._key_of(b"screen")
        if key not in _screens:
            from torchmigrate.gates.screen import Screen

            _screens[key] = Screen.of(self._triggers)
        return _screens[key]

    def rule_set(self, settings: Settings, options: Options) -> RuleSet:
        """Return the rules with the ones enabled that ``settings`` select."""
        key = self._key_of(b"rules")
        if key not in _rule_sets:
            from torchmigrate.engine.ruleset import RuleSet

            _rule_sets[key] = RuleSet(self.rules.values(), options, gate=self.screen.gate)
        return _rule_sets[key].under(options, partial(self.selects, settings), partial(self.covers, settings))

    def _key_of(self, what: bytes) -> bytes:
        return digest(what, *sorted(map(_selectors, self._settings)))

    def selects(self, settings: Settings, code: str, path: str) -> bool:
        """Return whether the rule with this code runs in the file at ``path`` under ``settings``."""
        rule = self.rules.get(code)
        return (
            rule is not None
            and settings.selects(code, rule.family, rule.default)
            and not settings.ignored_in(path, code, rule.family)
        )

    def covers(self, settings: Settings, codes: str, path: str) -> bool:
        """Return whether every rule runs whose code begins with ``codes`` (for "": every rule that is on by default)."""
        rules = [rule for rule in registry.rules().values() if rule.code.startswith(codes)]
        return all(self.selects(settings, rule.code, path) for rule in rules if codes or rule.default)


def _choice(settings: Settings) -> bytes:
    """What of the settings says which rules run."""
    return repr((settings.select, settings.ignore, settings.extend_select)).encode()


def _selectors(settings: Settings) -> bytes:
    """What of the settings has to name rules."""
    return _choice(settings) + repr((settings.per_file_ignores, settings.show)).encode()
