"""The profile of each project's files: settings, and the oldest supported torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torchmigrate.documents.minimum_torch import Minimum, MinimumFinder
from torchmigrate.model.torch_versions import KNOWN, OLDEST, Version, render_version
from torchmigrate.project.folders import is_repository
from torchmigrate.project.ignores import Excludes
from torchmigrate.settings import config
from torchmigrate.settings.config import ConfigError, Layer
from torchmigrate.settings.line_length import find_own_line_length
from torchmigrate.settings.settings import Settings


class Profile(NamedTuple):
    """Settings and minimum torch of the files of one project. Picklable."""

    settings: Settings
    minimum: Minimum
    config_file: str | None = None
    """The file that the settings come from, if any."""
    declared: Version = OLDEST
    """The lower bound on torch in the project's own files, whatever the settings say."""
    line_length: int | None = None
    """The line length of the project's formatter, if it names one."""


def create_uniform_profile(settings: Settings, minimum: Version) -> Callable[[str], Profile]:
    """Return a function that gives the same profile for every folder."""
    profile = Profile(settings, Minimum(minimum), declared=minimum)
    return lambda folder: profile


class Profiles:
    """The profile of each folder, from the command line, the environment, the nearest configuration file, and defaults.

    ``stated`` has the settings of the command line by field name, ``environment`` those of environment variables;
    ``config_file`` replaces all configuration files, and with ``isolated`` none is read.
    """

    def __init__(
        self,
        stated: Mapping[str, Any],
        config_file: str | None = None,
        *,
        environment: Mapping[str, Any] | None = None,
        isolated: bool = False,
    ) -> None:
        self._stated = [Layer(stated, os.curdir), Layer(environment or {}, os.curdir, config.ENVIRONMENT)]
        self._config_file = config_file
        self._isolated = isolated
        self._files: dict[str, str | None] = {}
        self._layers: dict[str | None, list[Layer]] = {}
        self._settings: dict[str | None, Settings] = {}
        self._excludes: dict[str | None, Excludes] = {}
        self._profiles: dict[str, Profile] = {}
        self._lengths: dict[str, int | None] = {}
        self._minimums = MinimumFinder()

    def get_profile(self, folder: str) -> Profile:
        """Return the profile of the files in ``folder``. Raises ConfigError for invalid settings."""
        folder = os.path.abspath(folder)
        if folder not in self._profiles:
            file, settings = self._find_config_file(folder), self.get_settings(folder)
            stated = settings.min_version
            declared = self._minimums.find_minimum(folder)
            minimum = declared if stated is None else Minimum(stated)
            if minimum.version > settings.target_version:
                where = f" ({minimum.source})" if minimum.source else ""
                raise ConfigError(
                    f"the minimum torch, {render_version(minimum.version)}{where}, is newer than the target, {render_version(settings.target_version)}; "
                    f"torchmigrate covers torch {KNOWN}"
                )
            length = None if self._isolated else self._find_line_length(folder)
            self._profiles[folder] = Profile(settings, minimum, file, declared.version, length)
        return self._profiles[folder]

    def get_layers(self, folder: str) -> list[Layer]:
        """Return the sources of the settings in ``folder``, the strongest first. Raises ConfigError."""
        file = self._find_config_file(os.path.abspath(folder))
        if file not in self._layers:
            self._layers[file] = [*self._stated, *self._read_file_layers(file)]
        return self._layers[file]

    def _read_file_layers(self, file: str | None) -> list[Layer]:
        return config.read_layers(file, found=self._config_file is None) if file else []

    def get_settings(self, folder: str) -> Settings:
        """Return the settings for the files in ``folder``. Raises ConfigError."""
        file = self._find_config_file(os.path.abspath(folder))
        if file not in self._settings:
            self._settings[file] = config.merge_layers(self.get_layers(folder))
        return self._settings[file]

    def get_excludes(self, folder: str) -> Excludes:
        """Return what is excluded from ``folder``. Raises ConfigError."""
        file = self._find_config_file(os.path.abspath(folder))
        if file not in self._excludes:
            settings = self.get_settings(folder)
            self._excludes[file] = Excludes.from_patterns(settings.excluded, forced=settings.force_exclude)
        return self._excludes[file]

    def _find_line_length(self, folder: str) -> int | None:
        """Return the line length of the formatter in ``folder``, an absolute path, or None."""
        if folder not in self._lengths:
            own, parent = find_own_line_length(folder), os.path.dirname(folder)
            if own is None and parent != folder and not is_repository(folder):
                own = self._find_line_length(parent)
            self._lengths[folder] = own
        return self._lengths[folder]

    def _find_config_file(self, folder: str) -> str | None:
        """Return the configuration file that applies in ``folder``, an absolute path."""
        if self._isolated or self._config_file:
            return None if self._isolated else self._config_file
        if folder not in self._files:
            own, parent = config.find_own_file(folder), os.path.dirname(folder)
            if own is None and parent != folder and not is_repository(folder):
                own = self._find_config_file(parent)
            self._files[folder] = own
        return self._files[folder]
