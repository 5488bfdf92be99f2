"""The engines that apply the rules, one for each profile of settings and versions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.model.versions import render
from torchmigrate.run.cache import digest
from torchmigrate.run.profiles import Profile
from torchmigrate.run.selection import Selection

if TYPE_CHECKING:
    from torchmigrate.engine.engine import Engine
    from torchmigrate.gates.screen import Screen
    from torchmigrate.model.options import Options
    from torchmigrate.run.tree import Tree


class Engines:
    """One engine for each profile; ``profiles`` are given by folder."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self.profiles = profiles
        self._selection = Selection([profile.settings for profile in profiles.values()])
        self._contexts: dict[Profile, bytes] = {}
        self._engines: dict[Profile, Engine] = {}

    @classmethod
    def of_tree(cls, tree: Tree) -> Engines:
        """Return the engines for the named files of a tree."""
        folders = dict.fromkeys(os.path.dirname(file.place) for file in tree.named)
        return cls({folder: tree.profile_of(folder) for folder in folders})

    def profile_of(self, place: str) -> Profile:
        """Return the profile of the file at ``place``; for one that was not named, any profile yields the same facts."""
        profile = self.profiles.get(os.path.dirname(place))
        return profile or next(iter(self.profiles.values()))

    @property
    def jobs(self) -> int:
        """The number of processes to use; 0 for one per core."""
        return next(iter(self.profiles.values())).settings.jobs

    @property
    def telling(self) -> bytes:
        """A key of everything besides its content that the facts of a file depend on."""
        return self._selection.key

    @cached_property
    def screen(self) -> Screen:
        """The byte prefilter for the selected rules."""
        return self._selection.screen

    def context(self, *, is_whole: bool) -> bytes:
        """Return a key of everything besides the files that the results of a run depend on; ``is_whole`` as in `Tree`."""
        profiles = (
            f"{folder}\0".encode(errors="surrogateescape") + self.context_of(profile)
            for folder, profile in self.profiles.items()
        )
        return digest(self.telling, b"whole" if is_whole else b"", *profiles)

    def context_of(self, profile: Profile) -> bytes:
        """Return a key of everything besides its content that the result of a file with this profile depends on."""
        if profile not in self._contexts:
            settings = profile.settings
            edits = b"edits" if settings.wants_edits else b""
            minimum = render(profile.minimum.version).encode()
            self._contexts[profile] = digest(self.telling, minimum, settings.decisive(), edits)
        return self._contexts[profile]

    def of(self, place: str) -> Engine:
        """Return the engine for the file at ``place``. All engines collect the same facts, those that any profile needs."""
        profile = self.profile_of(place)
        if profile not in self._engines:
            from torchmigrate.engine.engine import Engine

            rules = self._selection.rule_set(profile.settings, _options(profile))
            self._engines[profile] = Engine(rules, edits=profile.settings.wants_edits)
        return self._engines[profile]


def _options(profile: Profile) -> Options:
    from torchmigrate.model.options import Options

    settings = profile.settings
    return Options(
        settings.target_version,
        profile.minimum.version,
        settings.device_agnostic,
        settings.script_replacement,
        settings.keep_torchscript_support,
        settings.gpu_architectures,
        settings.resolve,
    )
