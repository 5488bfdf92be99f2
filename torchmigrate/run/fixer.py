"""Fixing one file of a scanned tree."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from functools import cached_property, partial

from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.model.tool_faults import create_fault_error
from torchmigrate.model.vocabulary import Safety
from torchmigrate.project.import_scan import ImportedNames
from torchmigrate.run.fix_choice import FixChoice
from torchmigrate.run.multi_file import FixResult
from torchmigrate.run.scanner import Scanner
from torchmigrate.settings.settings import Settings


class Fixer:
    """Applies the fixes that a scan has found, if ``choice`` agrees to each."""

    def __init__(self, scanner: Scanner, choice: FixChoice) -> None:
        self._scanner = scanner
        self._choice = choice

    def fix_file(self, place: str, left_out: Collection[str]) -> FixResult:
        """Return the file at ``place`` after its fixes, without the multi-file fixes ``left_out``; nothing is written."""
        from torchmigrate.engine.fix_rounds import FixSelection
        from torchmigrate.text.source_text import SourceError

        result = self._scanner.get_result(place)
        applies = partial(_is_applied, self._get_settings(place), left_out)
        self._choice.reset_file(result.path)
        if not any(applies(finding) for finding in result.findings):
            return FixResult(result.path, b"", b"", (), result)
        project = self._scanner.project
        try:
            data = self._scanner.files[place].read_bytes()
            moved = partial(self._choice.shift_answers, result.path)
            wanted = FixSelection(applies, self._choice, partial(self._is_imported_elsewhere, place), moved)
            engine = self._scanner.engines.get_engine(place)
            fixed = engine.fix_file(result.path, data, project, project.create_links(place), wanted)
        except (OSError, SourceError) as error:  # it was readable when it was scanned
            failure = FileError(result.path, f"changed while it was being checked: {error}")
            return FixResult(result.path, b"", b"", (), FileResult(result.path, errors=(failure,)))
        except Exception as error:
            failure = create_fault_error(error, result.path)
            return FixResult(result.path, b"", b"", (), result._replace(errors=(*result.errors, failure)))
        return FixResult(result.path, data, fixed.data, fixed.applied, fixed.result)

    def _get_settings(self, place: str) -> Settings:
        return self._scanner.engines.get_profile(place).settings

    def _is_imported_elsewhere(self, place: str, name: str, with_stars: bool) -> bool:
        """Return whether another file may import ``name`` from the file at ``place``, perhaps with a star."""
        unseen = not self._scanner.project.is_whole and not self._get_settings(place).unsafe_fixes
        return unseen or self._collected_imports.has_name(place, name, with_stars=with_stars)

    @cached_property
    def _collected_imports(self) -> ImportedNames:
        imported = ImportedNames()
        for file in self._scanner.files.values():
            with contextlib.suppress(OSError):
                imported.add_imports(file.read_bytes())
        return imported


def _is_applied(settings: Settings, left_out: Collection[str], finding: Finding) -> bool:
    allowed = (Safety.SAFE, Safety.UNSAFE) if settings.unsafe_fixes else (Safety.SAFE,)
    fix = finding.fix
    is_left_out = fix is not None and fix.joint is not None and fix.joint.name in left_out
    return fix is not None and fix.safety in allowed and not is_left_out
