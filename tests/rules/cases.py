"""The fixtures: what they hold, and all that is found in them, written down for a reader.

A case is a file ``case*.py`` (``.pyi``, ``.ipynb``, or in another language) in ``fixtures/<family>/<slug>/``, or a folder ``project*`` there
whose files are checked together, or a folder ``projects*`` there, in which each file and each folder is a project by
itself. It begins with a sentence that says what it is for. Beside it stands ``case*.findings`` or
``project*.findings``, unless it is silent::

    12:5-30 TS101 warning (info before 2.10): `torch.jit.script` has been deprecated since torch 2.10; …
        fix (unsafe): Use `torch.compile`

Line, column, and the column after the last character (``line:column`` where that is on another line); in a folder,
the path comes first, in a notebook the cell. The severity is that at the newest torch; in parentheses, that at older
ones. Below stands all else that the finding says: its fix or why there is none, and its hint.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path

from tests.support import Checked, fixed, settings_of
from torchmigrate.engine.registry import load_rules
from torchmigrate.model.findings import Finding
from torchmigrate.model.torch_versions import OLDEST, Version, render_version
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.run.multi_file import FixResult
from torchmigrate.settings.settings import Settings

FIXTURES = Path(__file__).parents[2] / "fixtures"
SUFFIXES = (".py", ".pyi", ".ipynb")
RECORD = ".findings"
_EXPECT = re.compile(r"(?:#|//|--|<!--)\s*expect:\s*([A-Z]{2}\d{3}(?:\s*,\s*[A-Z]{2}\d{3})*)")
_FLAGS = re.compile(r"(?:#|//)\s*flags:\s*(.*)")
_PURPOSE = re.compile(
    r"(?:(?:#!|(?:#|//) *(?:flags:|-\*- coding|syntax=|swift-tools)).*\n)*(?:#|//|<!--|\"\"\") ?(?P<sentence>[A-Z`](?:\S* ){5}.*\.)(?: -->|\"\"\")?$",
    re.MULTILINE,
)
_RECORDED = re.compile(r"(?:\S.*\d |    fix )(?:\()?(?P<what>[A-Z]{2}\d{3}(?= )|safe(?=\))|unsafe(?=\)))")

Key = tuple[str, object, str, int]
"""Tells the findings of a case apart, at whatever target: path, span, code, and a number for those alike."""


@dataclass(frozen=True)
class Case:
    """One case, by its file or folder."""

    path: Path

    def __str__(self) -> str:
        return self.path.relative_to(FIXTURES).as_posix()

    @property
    def record(self) -> Path:
        """The file that holds what is found in it; absent if that is nothing."""
        plain = self.path.suffix in SUFFIXES or self.path.is_dir()
        return self.path.with_suffix(RECORD) if plain else self.path.with_name(f"{self.path.name}{RECORD}")

    @property
    def recorded(self) -> str:
        """What is written there."""
        return self.record.read_text("utf-8") if self.record.exists() else ""

    @cached_property
    def files(self) -> list[Path]:
        """The files that are checked together."""
        if self.path.is_file():
            return [self.path]
        found = (path for path in sorted(self.path.rglob("*")) if path.is_file())
        return [
            path
            for path in found
            if (path.suffix in SUFFIXES or kind_of(str(path)) or language_of(str(path)))
            and ".fixed" not in path.suffixes
        ]

    @property
    def modules(self) -> list[Path]:
        """Those of them that may have markers."""
        return [file for file in self.files if file.suffix in SUFFIXES or language_of(str(file))]

    @property
    def flags(self) -> list[str]:
        """The options that the record's first line asks for, or else that of the first file that has such a line."""
        for file in (self.record, *self.files):
            head = file.read_bytes().decode("utf-8", "replace").split("\n", 1)[0] if file.exists() else ""
            if match := _FLAGS.search(head):
                return match[1].replace('\\n",', "").split()
        return []

    @property
    def purpose(self) -> str:
        """The sentence at the top of one of its files that says what the case is for; empty if there is none."""
        for file in self.files:
            text = Checked.text_of(file) if file in self.modules else file.read_text("utf-8-sig", "replace")
            if head := _PURPOSE.match(text):
                return head["sentence"]
        return ""

    @cached_property
    def options(self) -> tuple[Settings, Version]:
        """The settings, and the minimum version."""
        return settings_of(self.flags)

    @cached_property
    def checked(self) -> Checked:
        """What checking it gives."""
        return self._checked(self.options[0])

    @cached_property
    def fixed(self) -> dict[str, FixResult]:
        """What fixing it gives, by path."""
        return self._fixed({})

    def fixed_again(self) -> dict[str, FixResult]:
        """What fixing the result gives, by path."""
        return self._fixed({path: result.after for path, result in self.fixed.items() if result.after})

    def _fixed(self, texts: Mapping[str, bytes]) -> dict[str, FixResult]:
        found: dict[str, FixResult] = {}
        for files in self._projects:
            inputs = {str(file): texts.get(str(file), file.read_bytes()) for file in files}
            found |= fixed(inputs, *self.options)
        return found

    @property
    def _projects(self) -> list[list[Path]]:
        """The files that are checked together."""
        if not self.path.name.startswith("projects"):
            return [self.files]
        first = {file: file.relative_to(self.path).parts[0] for file in self.files}
        return [list(group) for _, group in groupby(self.files, key=first.__getitem__)]

    def _checked(self, settings: Settings) -> Checked:
        found = (Checked.of(files, settings, self.options[1]).results for files in self._projects)
        return Checked({path: result for results in found for path, result in results.items()})

    def described(self, *, older: bool = True) -> str:
        """What its record has to say; without ``older``, nothing of older targets, which takes a fifth of the time."""
        head = self.recorded.split("\n", 1)[0]
        lines = [head] if _FLAGS.match(head) else []
        before = self._older() if older else {}
        for key, finding in _by_key(self.checked).items():
            lines += self._lines(finding, before.get(key, ""))
        return "".join(f"{line}\n" for line in lines)

    def _lines(self, finding: Finding, older: str) -> Iterator[str]:
        def said(text: str) -> str:
            return text.replace(str(folder) + os.sep, "")

        folder = self.path if self.path.is_dir() else self.path.parent
        at = finding.location
        assert at is not None
        path = "" if self.path.is_file() else f"{Path(finding.path).relative_to(folder).as_posix()}:"
        cell = f"cell {at.cell}, " if at.cell is not None else ""
        end = f"{at.end_column}" if at.end_line == at.line else f"{at.end_line}:{at.end_column}"
        place = f"{path}{cell}{at.line}:{at.column}-{end}"
        yield from _indented(
            f"{place} {finding.code} {finding.severity.value}{older}: {said(finding.message)}"
        )
        if finding.fix is not None:
            yield from _indented(f"    fix ({finding.fix.safety.value}): {said(finding.fix.title)}")
        if finding.withheld is not None:
            yield from _indented(f"    no fix: {said(finding.withheld)}")
        if finding.hint is not None:
            yield from _indented(f"    hint: {said(finding.hint)}")

    def _older(self) -> dict[Key, str]:
        """Of each finding in a module the severities at older targets, unless the case is about a target.

        Between two targets with the same severities it is taken for granted that they do not change and change back.
        """
        severities = {self.options[0].target_version: _severities(self.checked)}
        if "--target-version" in self.flags or not any(severities.values()):
            return {}

        def look(target: Version) -> dict[Key, Severity]:
            if target not in severities:
                settings = replace(self.options[0], target_version=target)
                severities[target] = _severities(self._checked(settings))
            return {key: severities[target][key] for key in newest if key in severities[target]}

        def search(low: int, high: int) -> None:
            if look((2, low)) != look((2, high)) and high - low > 1:
                middle = (low + high) // 2
                search(low, middle)
                search(middle, high)

        [(target, newest)] = severities.items()
        search(OLDEST[1], target[1])
        return {key: _history(key, severities) for key in newest}

    def expected(self, file: Path) -> Counter[tuple[int, str]]:
        """(line, code) of every marker; for a notebook the lines of its joined cells, as findings count them."""
        found: Counter[tuple[int, str]] = Counter()
        for number, line in enumerate(Checked.text_of(file).splitlines(), 1):
            for match in _EXPECT.finditer(line):
                found.update((number, code.strip()) for code in match[1].split(","))
        return found

    def marked(self, file: Path) -> Counter[tuple[int, str]]:
        """(line, code) of every finding that has to have a marker: those in modules."""
        found = self.checked.lines(file)
        is_python = file.suffix in SUFFIXES
        return Counter(
            {
                key: count
                for key, count in found.items()
                if not (rule := load_rules()[key[1]]).references or (is_python and rule.reads_modules)
            }
        )


def cases() -> list[Case]:
    """Every case."""
    return sorted(
        (
            Case(path)
            for path in FIXTURES.glob("*/*/*")
            if (path.name.startswith("case") and _may_be_case(path) and ".fixed" not in path.suffixes)
            or (path.name.startswith("project") and path.is_dir())
        ),
        key=str,
    )


def _may_be_case(path: Path) -> bool:
    return path.suffix in SUFFIXES or language_of(str(path)) is not None


def declared_otherwise() -> dict[str, Safety]:
    """Of the rules that do not declare the best safety that their recorded fixes have, that safety."""
    recorded = _recorded_safeties()
    best = {code: next((s for s in Safety if s in recorded[code]), Safety.MANUAL) for code in load_rules()}
    return {code: safety for code, safety in best.items() if load_rules()[code].safety is not safety}


def _recorded_safeties() -> dict[str, set[Safety]]:
    found: dict[str, set[Safety]] = defaultdict(set)
    for file in FIXTURES.glob(f"*/*/*{RECORD}"):
        code = ""
        for line in file.read_text("utf-8").splitlines():
            if match := _RECORDED.match(line):
                if match["what"].isupper():
                    code = match["what"]
                else:
                    found[code].add(Safety(match["what"]))
    return found


def _by_key(checked: Checked) -> dict[Key, Finding]:
    found: dict[Key, Finding] = {}
    alike: Counter[tuple[str, object, str]] = Counter()
    for finding in checked.findings:
        key = (finding.path, finding.span, finding.code)
        found[(*key, alike[key])] = finding
        alike[key] += 1
    return found


def _severities(checked: Checked) -> dict[Key, Severity]:
    found = _by_key(checked).items()
    return {key: finding.severity for key, finding in found if not load_rules()[finding.code].references}


def _history(key: Key, severities: dict[Version, dict[Key, Severity]]) -> str:
    """``" (warning before 2.15, info before 2.10)"``; empty if the severity is the same everywhere."""
    targets = sorted(severities, reverse=True)
    parts = []
    for newer, older in pairwise(targets):
        then = severities[older].get(key)
        if then is not severities[newer].get(key):
            parts.append(f"{then.value if then else 'silent'} before {render_version(newer)}")
    return f" ({', '.join(parts)})" if parts else ""


def _indented(text: str) -> Iterator[str]:
    first, *rest = text.split("\n")
    yield first
    yield from (f"      {line}".rstrip() for line in rest)
