"""Fixing one file of a scanned tree."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property, partial

from torchmigrate.model.faults import fault
from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.model.vocabulary import Safety
from torchmigrate.project.importing import Imported
from torchmigrate.run.choice import Choice
from torchmigrate.run.joint import FixResult
from torchmigrate.run.scanner import Scanner
from torchmigrate.settings.settings import Settings


class Fixer:
    """Applies the fixes that a scan has found, if ``choice`` agrees to each."""

    def __init__(self, scanner: Scanner, choice: Choice) -> None:
        self._scanner = scanner
        self._choice = choice

    def fixed(self, place: str, left_out: Collection[str]) -> FixResult:
        """Return the file at ``place`` after its fixes, without the multi-file fixes ``left_out``; nothing is written."""
        from torchmigrate.engine.fixing import Wanted
        from torchmigrate.text.source import SourceError

        result = self._scanner.result(place)
        applies = partial(_applies, self._settings(place), left_out)
        self._choice.meet(result.path)
        if not any(applies(finding) for finding in result.findings):
            return FixResult(result.path, b"", b"", (), result)
        project = self._scanner.project
        try:
            data = self._scanner.files[place].read()
            moved = partial(self._choice.moved, result.path)
            wanted = Wanted(applies, self._choice, partial(self._keeps, place), moved)
            engine = self._scanner.engines.of(place)
            fixed = engine.fix(result.path, data, project, project.links(place), wanted)
        except (OSError, SourceError) as error:  # it was readable when it was scanned
            failure = FileError(result.path, f"changed while it was being checked: {error}")
            return FixResult(result.path, b"", b"", (), FileResult(result.path, errors=(failure,)))
        except Exception as error:
            failure = fault(error, result.path)
            return FixResult(result.path, b"", b"", (), replace(result, errors=(*result.errors, failure)))
        return FixResult(result.path, data, fixed.data, fixed.applied, fixed.result)

    def _settings(self, place: str) -> Settings:
        return self._scanner.engines.profile_of(place).settings

    def _keeps(self, place: str, name: str) -> bool:
        """Return whether another file may import ``name`` from the file at ``place``."""
        unseen = not self._scanner.project.is_whole and not self._settings(place).unsafe_fixes
        return unseen or self._imported.has(place, name)

    @cached_property
    def _imported(self) -> Imported:
        imported = Imported()
        for file in self._scanner.files.values():
            with contextlib.suppress(OSError):
                imported.read(file.read())
        return imported


def _applies(settings: Settings, left_out: Collection[str], finding: Finding) -> bool:
    allowed = (Safety.SAFE, Safety.UNSAFE) if settings.unsafe_fixes else (Safety.SAFE,)
    fix = finding.fix
    is_left_out = fix is not None and fix.joint is not None and fix.joint.name in left_out
    return fix is not None and fix.safety in allowed and not is_left_out
