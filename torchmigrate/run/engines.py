"""The engines that apply the rules, one for each profile of settings and versions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.run.cache import compute_digest
from torchmigrate.run.profiles import Profile
from torchmigrate.run.selection import RuleSelection

if TYPE_CHECKING:
    from torchmigrate.engine.engine import Engine
    from torchmigrate.model.rule_options import RuleOptions
    from torchmigrate.prefilter.file_prefilter import FilePrefilter
    from torchmigrate.run.tree import Tree


class Engines:
    """One engine for each profile; ``profiles`` are given by folder."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self.profiles = profiles
        self._selection = RuleSelection([profile.settings for profile in profiles.values()])
        self._contexts: dict[Profile, bytes] = {}
        self._engines: dict[Profile, Engine] = {}

    @classmethod
    def from_tree(cls, tree: Tree) -> Engines:
        """Return the engines for the named files of a tree."""
        folders = dict.fromkeys(os.path.dirname(file.place) for file in tree.named)
        return cls({folder: tree.profile_of(folder) for folder in folders})

    def get_profile(self, place: str) -> Profile:
        """Return the profile of the file at ``place``; for one that was not named, any profile yields the same facts."""
        profile = self.profiles.get(os.path.dirname(place))
        return profile or next(iter(self.profiles.values()))

    @property
    def jobs(self) -> int:
        """The number of processes to use; 0 for one per core."""
        return next(iter(self.profiles.values())).settings.jobs

    @property
    def facts_key(self) -> bytes:
        """A key of everything besides its content that the facts of a file depend on."""
        return self._selection.key

    @cached_property
    def prefilter(self) -> FilePrefilter:
        """The byte prefilter for the selected rules."""
        return self._selection.prefilter

    def compute_context(self, tree: Tree) -> bytes:
        """Return a key of everything besides the files that the results of a run over the tree depend on."""
        profiles = (
            f"{folder}\0".encode(errors="surrogateescape") + self.get_profile_key(profile)
            for folder, profile in self.profiles.items()
        )
        whole = b"whole" if tree.is_whole else b""
        return compute_digest(self.facts_key, whole, tree.record.digest, *profiles)

    def get_profile_key(self, profile: Profile) -> bytes:
        """Return a key of everything besides its content that the result of a file with this profile depends on."""
        if profile not in self._contexts:
            settings = profile.settings
            edits = b"edits" if settings.wants_edits else b""
            bounds = f"{profile.minimum.version} {profile.declared} {profile.line_length}".encode()
            self._contexts[profile] = compute_digest(self.facts_key, bounds, settings.digest_values(), edits)
        return self._contexts[profile]

    def get_engine(self, place: str) -> Engine:
        """Return the engine for the file at ``place``. All engines collect the same facts, those that any profile needs."""
        profile = self.get_profile(place)
        if profile not in self._engines:
            from torchmigrate.engine.engine import Engine

            rules = self._selection.get_rule_set(profile.settings, _create_options(profile))
            self._engines[profile] = Engine(rules, edits=profile.settings.wants_edits)
        return self._engines[profile]


def _create_options(profile: Profile) -> RuleOptions:
    from torchmigrate.model.rule_options import RuleOptions

    settings = profile.settings
    return RuleOptions(
        settings.target_version,
        profile.minimum.version,
        settings.device_agnostic,
        settings.script_replacement,
        settings.keep_torchscript_support,
        settings.export_unread_files,
        settings.gpu_architectures,
        settings.resolve,
        settings.relax,
        settings.cuda,
        settings.allow_unverified_images,
        profile.line_length,
        profile.declared,
    )
