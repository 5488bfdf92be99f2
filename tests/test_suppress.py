"""Suppression comments: what they cover, and what is said about those that do nothing."""

from __future__ import annotations

import re

import pytest

from torchmigrate.engine.suppressions import parse_suppressions
from torchmigrate.model.findings import Finding, Span
from torchmigrate.model.torch_versions import NEWEST, Version
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.proof.edit_verification import verify_edits
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceText
from torchmigrate.text.suppression_syntax import strip_directives


def everything(code: str) -> bool:
    return True


def found(source: SourceText) -> list[Finding]:
    """A finding TS101 at every `hit`, and SC201 at every `other`."""
    codes = {"hit": "TS101", "other": "SC201"}
    return [
        Finding(codes[match[1]], "", Severity.ERROR, source.path, Span(*match.span()))
        for match in re.finditer(r"\b(hit|other)\b", source.text.decode())
    ]


def run(text: str) -> tuple[SourceText, list[Finding], int]:
    source = read_source("a.py", text.encode())
    return source, *parse_suppressions(source).filter_findings(found(source), everything, NEWEST)


def left(text: str) -> list[tuple[str, int]]:
    """Codes and lines of what is left."""
    source, findings, _ = run(text)
    return [(f.code, source.line_of(f.span.start)) for f in findings if f.span]


@pytest.mark.parametrize(
    "text",
    [
        "hit  # torchmigrate: ignore\n",
        "hit  # torchmigrate: ignore TS101",
        "hit, other  # torchmigrate: ignore TS101, SC201\n",
        "hit, other  # torchmigrate: ignore TS1,SC\n",
        "hit  #torchmigrate:ignore TS101\nother  # torchmigrate: ignore SC  --  \n",
        "hit  # torchmigrate: ignore TS101 -- it is right, and (here) too\n",
        "hit  # noqa: X1  # torchmigrate: ignore TS101  # type: ignore\n",
        "f(\n  hit,\n  x,  # torchmigrate: ignore\n)\n",
        "f(\n  hit,\n  # torchmigrate: ignore\n)\n",
        "f(\n  hit,\n)  # torchmigrate: ignore\n",
        "x = '''\n''' + hit  # torchmigrate: ignore\n",
        "# torchmigrate: ignore\nhit\n",
        "# torchmigrate: ignore\n# why\n\nhit\n",
        "def f():\n    # torchmigrate: ignore\n    hit\n",
        "@hit  # torchmigrate: ignore\ndef f(): pass\n",
        "@hit\n@g(x)\ndef f(\n    x: hit,\n):  # torchmigrate: ignore\n    pass\n",
        "# torchmigrate: ignore\n@hit\ndef f(): pass\n",
        "try: pass\nexcept hit:  # torchmigrate: ignore\n    pass\n",
        "hit\n\nother  # torchmigrate: ignore-file\n",
        "# torchmigrate: ignore-file TS, SC201 -- generated\nhit\nother\n",
        "hit\r\r\n# torchmigrate: ignore-file\r",
        "\fhit  # torchmigrate: ignore\f\n",
    ],
)
def test_silenced(text: str) -> None:
    assert left(text) == []


def test_the_number_of_silenced_findings_is_told() -> None:
    assert run("hit; other  # torchmigrate: ignore\nhit\n")[2] == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hit, other  # torchmigrate: ignore TS\n", [("SC201", 1)]),
        ("hit  # torchmigrate: ignore\nhit\n", [("TS101", 2)]),
        ("hit\n# torchmigrate: ignore TS1\nhit\n", [("TS101", 1)]),
        ("if hit:  # torchmigrate: ignore\n    hit\nelse:\n    hit\n", [("TS101", 2), ("TS101", 4)]),
        ("@hit  # torchmigrate: ignore\ndef f():\n    hit\n", [("TS101", 3)]),
        ("hit, other  # torchmigrate: ignore-file TS\n", [("SC201", 1)]),
    ],
)
def test_not_silenced(text: str, expected: list[tuple[str, int]]) -> None:
    assert left(text) == expected


def test_strings_are_no_comments() -> None:
    assert left(
        "hit, '# torchmigrate: ignore'\n'''\n# torchmigrate: ignore-file\n# torchmigrate: what?'''\n"
    ) == [("TS101", 1)]


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("x  # torchmigrate: ignore\n", "x\n"),
        ("x  # torchmigrate: ignore TS101 -- why\n", "x\n"),
        ("hit  # torchmigrate: ignore TS101, SC201 -- why\n", "hit  # torchmigrate: ignore TS101 -- why\n"),
        ("hit  # torchmigrate: ignore SC,TS1,XX,RM\n", "hit  # torchmigrate: ignore TS1, XX\n"),
        ("x  # noqa  # torchmigrate: ignore\n", "x  # noqa\n"),
        ("x  # torchmigrate: ignore TS1  # noqa\n", "x  # noqa\n"),
        ("x  # a  # torchmigrate: ignore  # noqa\n", "x  # a  # noqa\n"),
        ("if x:\r\n    # torchmigrate: ignore\r\n    y\r\n", "if x:\r\n    y\r\n"),
        ("x\n# torchmigrate: ignore", "x\n"),
        ("# torchmigrate: ignore-file SC\nhit  # torchmigrate: ignore\n", "hit  # torchmigrate: ignore\n"),
        ("# é torchmigrate:\nx = 'é'  # é  # torchmigrate: ignore TS\n", "# é torchmigrate:\nx = 'é'  # é\n"),
    ],
)
def test_a_comment_that_silences_nothing_is_reported_and_removed(text: str, fixed: str) -> None:
    source, findings, _ = run(text)
    assert [finding.code for finding in findings] == ["XX001"]
    fix = findings[0].fix
    assert fix is not None
    assert fix.safety is Safety.SAFE
    after = read_source("a.py", source.apply_edits(fix.edits))
    assert after.text.decode() == fixed
    verify_edits(source, after, fix.edits)
    assert all(finding.code != "XX001" for finding in run(fixed)[1])


def test_a_comment_is_removed_inside_its_notebook_cell() -> None:
    data = b'{"cells": [{"cell_type": "code", "source": ["x\\n", "# torchmigrate: ignore"]},' + (
        b' {"cell_type": "code", "source": ["y"]}]}'
    )
    source = read_source("a.ipynb", data)
    findings, _ = parse_suppressions(source).filter_findings([], everything, NEWEST)
    assert findings[0].fix is not None
    assert source.apply_edits(findings[0].fix.edits) == data.replace(b', "# torchmigrate: ignore"', b"")
    assert findings[0].location is not None
    assert findings[0].location.cell == 1


def test_nobody_calls_unused_what_was_not_looked_for() -> None:
    source = read_source("a.py", b"x  # torchmigrate: ignore TS101, SC201\ny  # torchmigrate: ignore\n")
    findings, _ = parse_suppressions(source).filter_findings(
        [], lambda code: code in ("SC201", "XX001"), NEWEST
    )
    assert [finding.message for finding in findings] == ["no finding to suppress here for `SC201`"]
    assert parse_suppressions(source).filter_findings([], lambda code: code != "XX001", NEWEST) == ([], 0)


@pytest.mark.parametrize(
    "comment",
    [
        "# torchmigrate: ignore[TS101]",
        "# torchmigrate: ignore ts101",
        "# torchmigrate: ignore TS101,",
        "# torchmigrate: ignore: TS101",
        "# torchmigrate: ignore TS101 because",
        "# torchmigrate: ignored",
        "# torchmigrate: ignore_file",
        "# torchmigrate: noqa",
        "# torchmigrate:",
    ],
)
def test_a_comment_that_is_not_understood_is_reported_and_silences_nothing(comment: str) -> None:
    source, findings, suppressed = run(f"hit  {comment}  # noqa\n")
    assert [finding.code for finding in findings] == ["TS101", "XX002"]
    assert suppressed == 0
    assert findings[1].span is not None
    assert source.get_segment(findings[1].span) == comment
    assert findings[1].fix is None


def test_findings_about_comments_can_be_switched_off_for_a_file() -> None:
    assert left("# torchmigrate: ignore-file XX\nx  # torchmigrate: ignore\ny  # torchmigrate: what\n") == []


def test_text_without_the_mark_is_not_tokenized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "torchmigrate.engine.suppressions.find_comments_and_statements",
        lambda source: pytest.fail("tokenized"),
    )
    assert left("hit  # noqa\n") == [("TS101", 1)]


@pytest.mark.parametrize(
    ("comment", "rest"),
    [
        ("# torchmigrate: ignore", ""),
        ("# a  # torchmigrate: ignore TS -- x", "# a"),
        ("# torchmigrate: ignore  # a", "# a"),
        ("# a  # torchmigrate: ignore  # b", "# a  # b"),
        ("# a", "# a"),
    ],
)
def test_without_directives(comment: str, rest: str) -> None:
    assert strip_directives(comment) == rest


def due(text: str, target: Version) -> list[str]:
    source = read_source("a.py", text.encode())
    findings, _ = parse_suppressions(source).filter_findings(found(source), everything, target)
    return [finding.code for finding in findings]


def test_a_comment_silences_until_its_target() -> None:
    text = "hit  # torchmigrate: ignore TS101 until 2.16 -- the server\n"
    assert due(text, (2, 15)) == []
    assert due(text, (2, 16)) == ["TS101", "XX003"]
    assert due(text, (3, 0)) == ["TS101", "XX003"]


def test_one_that_is_due_beside_one_that_is_not() -> None:
    text = "hit  # torchmigrate: ignore TS until 2.1  # torchmigrate: ignore TS101\n"
    assert due(text, (2, 15)) == ["XX003"]


def test_one_that_is_due_for_nothing_is_unused() -> None:
    assert due("x  # torchmigrate: ignore TS101 until 2.1\n", (2, 15)) == ["XX001"]


def test_a_file_wide_comment_may_be_due() -> None:
    assert due("hit\n# torchmigrate: ignore-file until 2.1\n", (2, 15)) == ["TS101", "XX003"]


@pytest.mark.parametrize(
    "until", ["until", "until next", "until 2", "until 2.16.1", "until 2.16 TS101", "til 2.16"]
)
def test_another_until_is_not_understood(until: str) -> None:
    assert due(f"hit  # torchmigrate: ignore TS101 {until}\n", (2, 15)) == ["TS101", "XX002"]
