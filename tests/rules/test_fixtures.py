"""Every fixture: findings exactly where the markers say, the exact result of fixing, and a second run that is idle.

A case is a file ``case*.py`` (``.pyi``, ``.ipynb``), or a folder ``project*`` whose files are checked together. A line
that must give findings ends in ``# expect: CODE`` (several codes: separated by commas). ``case.fixed.py`` is the result
of fixing ``case.py``; where it is absent, fixing changes nothing. A first line ``# flags: …`` holds options of the
command line; in a folder, that of the first file that has one counts.

A folder of project files (requirements, Dockerfiles, …) has a file ``expected.txt`` in the place of markers: its first
line holds the options, the others a finding each, as ``path:line:column-column CODE severity``, the second column being
that after the last character (``line:column-line:column`` where it is on another line).

``pytest --accept`` rewrites the ``.fixed`` files and ``expected.txt``, never the markers.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support import Checked, fixed, settings_of
from torchmigrate.gates.kinds import kind_of

FIXTURES = Path(__file__).parents[2] / "fixtures"
SUFFIXES = (".py", ".pyi", ".ipynb")
EXPECTED = "expected.txt"
_EXPECT = re.compile(r"#\s*expect:\s*([A-Z]{2}\d{3}(?:\s*,\s*[A-Z]{2}\d{3})*)")
_FLAGS = re.compile(r"#\s*flags:\s*(.*)")


def cases() -> list[Path]:
    """Every case below ``fixtures/<family>/<slug>/``."""
    return sorted(
        path
        for path in FIXTURES.glob("*/*/*")
        if (path.name.startswith("case") and path.suffix in SUFFIXES and ".fixed" not in path.suffixes)
        or (path.name.startswith("project") and path.is_dir())
    )


def files_of(case: Path) -> list[Path]:
    """The files that are checked together."""
    if case.is_file():
        return [case]
    return sorted(
        path
        for path in case.rglob("*")
        if path.is_file()
        and (path.suffix in SUFFIXES or kind_of(str(path)))
        and ".fixed" not in path.suffixes
    )


def flags_of(files: list[Path]) -> list[str]:
    """The options that the first file with a ``# flags:`` line asks for."""
    for file in files:
        match = _FLAGS.search(file.read_bytes().decode("utf-8", "replace").split("\n", 1)[0])
        if match:
            return match[1].replace('\\n",', "").split()
    return []


def expected(file: Path) -> Counter[tuple[int, str]]:
    """(line, code) of every marker; for a notebook the lines of its joined cells, as findings count them."""
    found: Counter[tuple[int, str]] = Counter()
    for number, line in enumerate(Checked.text_of(file).splitlines(), 1):
        for match in _EXPECT.finditer(line):
            found.update((number, code.strip()) for code in match[1].split(","))
    return found


def places(checked: Checked, case: Path) -> list[str]:
    """Every finding in the files of a folder, as ``expected.txt`` lists them."""
    found = []
    for path, result in checked.results.items():
        for finding in result.findings:
            at = finding.location
            assert at is not None
            end = f"{at.end_column}" if at.end_line == at.line else f"{at.end_line}:{at.end_column}"
            name = Path(path).relative_to(case).as_posix()
            found.append(f"{name}:{at.line}:{at.column}-{end} {finding.code} {finding.severity.value}")
    return found


@pytest.mark.parametrize("case", cases(), ids=lambda path: str(path.relative_to(FIXTURES)))
def test_fixture(case: Path, accept: bool) -> None:
    files = files_of(case)
    written = case / EXPECTED
    settings, minimum = settings_of(flags_of([written] if written.exists() else files))
    checked = Checked.of(files, settings, minimum)
    assert not checked.errors
    if written.exists():
        head = written.read_text().split("\n", 1)[0]
        found = "\n".join([head, *places(checked, case)]) + "\n"
        if accept:
            written.write_text(found)
        assert found == written.read_text()
    for file in files if not written.exists() else ():
        assert checked.lines(file) == expected(file), f"findings in {file.name}"

    results = fixed({str(file): file.read_bytes() for file in files}, settings, minimum)
    for file in files:
        result = results[str(file)]
        assert not result.result.errors
        wanted = file.with_name(f"{file.stem}.fixed{file.suffix}")
        if accept:
            if result.after != result.before:
                wanted.write_bytes(result.after)
            else:
                wanted.unlink(missing_ok=True)
        before = file.read_bytes()
        assert (result.after or before) == (wanted.read_bytes() if wanted.exists() else before)

    again = fixed(
        {path: r.after or Path(path).read_bytes() for path, r in results.items()}, settings, minimum
    )
    assert not [result.applied for result in again.values() if result.applied], (
        "a second run changes something"
    )


def test_every_rule_with_symbols_has_fixtures() -> None:
    from torchmigrate.engine.registry import rules

    missing = []
    for rule in rules().values():
        folder = FIXTURES / rule.family.replace("-", "_") / rule.name.replace("-", "_")
        texts = [Checked.text_of(file) for file in folder.rglob("*") if file.suffix in SUFFIXES]
        texts += [file.read_text() for file in folder.rglob(EXPECTED)]
        if (rule.symbols or rule.references) and not any(rule.code in text for text in texts):
            missing.append(f"{rule.code} {folder.relative_to(FIXTURES)}")
    assert not missing


def test_no_fixture_is_left_without_a_case() -> None:
    stray = [
        path
        for path in FIXTURES.glob("*/*/*.fixed.*")
        if not path.with_name(path.name.replace(".fixed", "")).exists()
    ]
    assert not stray
