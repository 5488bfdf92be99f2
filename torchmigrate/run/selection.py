"""The selected rules: all that any of the settings select, behind one prefilter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

from torchmigrate.engine import registry
from torchmigrate.prefilter.file_sorts import FileSorts
from torchmigrate.run.cache import Cache, compute_digest
from torchmigrate.run.fingerprint import compute_fingerprint
from torchmigrate.settings.settings import Settings

if TYPE_CHECKING:
    from torchmigrate.engine.rule_set import RuleSet
    from torchmigrate.model.rule import Rule
    from torchmigrate.model.rule_options import RuleOptions
    from torchmigrate.prefilter.file_prefilter import FilePrefilter
    from torchmigrate.prefilter.triggers import Trigger

_prefilters: dict[bytes, FilePrefilter] = {}
"""Prefilters by key: compiling one takes longer than checking a small file, and forked processes inherit it."""
_rule_sets: dict[bytes, RuleSet] = {}
"""Rule sets by key, for any options."""


class RuleSelection:
    """The rules that any of the ``settings`` select, and which of them run under each of the settings."""

    def __init__(self, settings: Collection[Settings]) -> None:
        self._settings = list(dict.fromkeys(settings))

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        """The selected rules by code."""
        return {code: rule for one in self._settings for code, rule in registry.select_rules(one).items()}

    @cached_property
    def _triggers(self) -> list[Trigger]:
        """The triggers of these rules. Raises ConfigError for a selector that matches no rule."""
        every = registry.collect_triggers()
        for one in self._settings:
            registry.check_selectors(one, every)
        return [
            one
            for one in every
            if any(
                settings.is_selected(one.code, one.family, one.default, one.by_code)
                for settings in self._settings
            )
        ]

    @cached_property
    def key(self) -> bytes:
        """A key of the selected rules and of this version of the tool."""
        return compute_digest(
            compute_fingerprint(), *sorted({_describe_selection(settings) for settings in self._settings})
        )

    def get_file_sorts(self, cache: Cache) -> FileSorts:
        """Return the sorts of files that these rules read. Raises ConfigError for a selector that matches no rule."""
        if not cache.is_enabled:  # then no key is needed, which depends on the state of all sources
            return FileSorts.from_triggers(self._triggers)
        key = compute_digest(compute_fingerprint(), self._key_of(b"sorts"))
        kept = cache.get(key, FileSorts)
        if kept is None:
            kept = FileSorts.from_triggers(self._triggers)
            cache.put(key, kept)
        return kept

    @property
    def prefilter(self) -> FilePrefilter:
        """The prefilter for these rules. Raises ConfigError for a selector that matches no rule."""
        pins = any(one.relax for one in self._settings)
        key = self._key_of(b"prefilter" + bytes([pins]))
        if key not in _prefilters:
            from torchmigrate.prefilter.file_prefilter import FilePrefilter

            _prefilters[key] = FilePrefilter.from_triggers(self._triggers, pins=pins)
        return _prefilters[key]

    def get_rule_set(self, settings: Settings, options: RuleOptions) -> RuleSet:
        """Return the rules with the ones enabled that ``settings`` select."""
        key = self._key_of(b"rules")
        if key not in _rule_sets:
            from torchmigrate.engine.rule_set import RuleSet

            _rule_sets[key] = RuleSet(
                self.rules.values(),
                options,
                prefilter=self.prefilter.text,
                every=registry.load_rules().values(),
            )
        return _rule_sets[key].with_options(
            options, partial(self.is_selected, settings), partial(self.are_all_selected, settings)
        )

    def _key_of(self, what: bytes) -> bytes:
        return compute_digest(what, *sorted(map(_describe_selectors, self._settings)))

    def is_selected(self, settings: Settings, code: str, path: str) -> bool:
        """Return whether the rule with this code runs in the file at ``path`` under ``settings``."""
        rule = self.rules.get(code)
        return (
            rule is not None
            and settings.is_selected(code, rule.family, rule.default, rule.by_code)
            and not settings.is_ignored_in(path, code, rule.family)
        )

    def are_all_selected(self, settings: Settings, codes: str, path: str) -> bool:
        """Return whether every rule runs whose code begins with ``codes`` (for "": every rule that is on by default)."""
        rules = [rule for rule in registry.load_rules().values() if rule.code.startswith(codes)]
        return all(self.is_selected(settings, rule.code, path) for rule in rules if codes or rule.default)


def _describe_selection(settings: Settings) -> bytes:
    """Return the settings that decide which rules run."""
    return repr((settings.select, settings.ignore, settings.extend_select)).encode()


def _describe_selectors(settings: Settings) -> bytes:
    """Return the settings that have to name rules."""
    return _describe_selection(settings) + repr((settings.per_file_ignores, settings.show)).encode()
