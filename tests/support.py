"""Runs the tool inside the test process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from torchmigrate.cli import options
from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.model.torch_versions import Version
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.multi_file import FixResult
from torchmigrate.run.profiles import Profile, create_uniform_profile
from torchmigrate.run.tree import Tree
from torchmigrate.settings.settings import Settings
from torchmigrate.text.source_reader import read_source


def settings_of(flags: Sequence[str] = ()) -> tuple[Settings, Version]:
    """The settings and the minimum version that options of the command line amount to; no file is read."""

    @click.command()
    @options.add_settings
    def command(**given: Any) -> Profile:
        return options.load_profiles(given).get_profile(".")

    if not any(flag.startswith("--min-version") for flag in flags):
        flags = [*flags, "--min-version", "2.0"]
    profile: Profile = command.main([*flags, "--isolated"], standalone_mode=False)
    return profile.settings, profile.minimum.version


def check_text(text: str, *flags: str, path: str = "case.py") -> list[Finding]:
    """The findings in one file."""
    settings, minimum = settings_of(flags)
    (result,) = runner.check_tree(
        Tree([InputFile(path, text.encode())], create_uniform_profile(settings, minimum))
    )
    assert not result.errors, result.errors
    return list(result.findings)


def fix_text(text: str, *flags: str, path: str = "case.py") -> str:
    """The text of one file after fixing."""
    settings, minimum = settings_of(flags)
    (result,) = runner.fix_tree(
        Tree([InputFile(path, text.encode())], create_uniform_profile(settings, minimum))
    )
    assert not result.result.errors, result.result.errors
    return (result.after or text.encode()).decode()


def fixed(files: Mapping[str, bytes], settings: Settings, minimum: Version) -> dict[str, FixResult]:
    """What fixing makes of files that belong together, given by path and content."""
    inputs = [InputFile(path, data) for path, data in files.items()]
    return {
        result.path: result
        for result in runner.fix_tree(Tree(inputs, create_uniform_profile(settings, minimum)))
    }


@dataclass
class Checked:
    """The results of checking some files together."""

    results: dict[str, FileResult]

    @classmethod
    def of(cls, files: Sequence[Path], settings: Settings, minimum: Version) -> Checked:
        """Checks the files."""
        inputs = [InputFile(str(file)) for file in files]
        results = runner.check_tree(Tree(inputs, create_uniform_profile(settings, minimum)))
        return cls({result.path: result for result in results})

    @property
    def findings(self) -> list[Finding]:
        """All findings."""
        return [finding for result in self.results.values() for finding in result.findings]

    @property
    def errors(self) -> list[FileError]:
        """All errors."""
        return [error for result in self.results.values() for error in result.errors]

    def lines(self, file: Path) -> Counter[tuple[int, str]]:
        """How often each code was found on each line of the file's text."""
        source = read_source(str(file), file.read_bytes())
        findings = self.results[str(file)].findings
        return Counter(
            (source.line_of(span.start), found.code)
            for found in findings
            if found.span is not None
            for span in (found.span, *found.further)
        )

    @staticmethod
    def text_of(file: Path) -> str:
        """The text that findings count lines in."""
        return read_source(str(file), file.read_bytes()).text.decode()
