"""Names that are no text, end a line or control a terminal: every format takes them, and says which file is meant."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import jsonschema
import pytest

from tests.faults.support import CHECK, FIX, NEW, OLD, contents, plant, run
from torchmigrate import reporters
from torchmigrate.console.terminal import escape_controls

NAMES = [
    b"line\nend\r.py",
    b"not \xff utf\xc3.py",
    b"\x1b]0;title\x07\x1b[2J.py",
    "\u202egnp.py".encode(),
    b'"quoted\\ \ttab.py',
    b"::stop-commands::x%0A::error::y.py",
    b"-o.py",
    b"folder\n::warning ::x/\xff.py",
]
BROKEN = b"torch.jit.script(\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A file with a finding for each name, and beside it one that is broken."""
    files = {os.fsdecode(name): OLD for name in NAMES}
    return plant(tmp_path, files | {f"{name}i": BROKEN for name in files})


def check(tree: Path, style: str) -> bytes:
    done = run(*CHECK, "--show", "info", "--output-format", style, ".", folder=tree)
    assert (done.status, done.err) == (2, b"")
    return done.out


def paths_of(pieces: list[dict[str, Any]]) -> set[bytes]:
    return {os.fsencode(piece["path"]) for piece in pieces}


@pytest.mark.parametrize("style", ["full", "concise", "github"])
def test_text_formats_have_one_line_for_each(tree: Path, style: str) -> None:
    lines = check(tree, style).decode().split("\n")
    for name in NAMES:
        shown = "./" * name.startswith(b"::") + escape_controls(os.fsdecode(name))
        beginnings = (shown, *(f"::{level} file={_property(name)}" for level in ("error", "notice")))
        beginnings += (f"  --> {shown}",) if style == "full" else ()
        assert sum(line.startswith(beginnings) for line in lines) == 2, shown
    assert all(line.replace("\t", "").isprintable() for line in lines)


def _property(name: bytes) -> str:
    """As the toolkit of GitHub's actions escapes the value of a property."""
    text = os.fsdecode(name)
    for sign, escaped in ("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C"):
        text = text.replace(sign, escaped)
    return escape_controls(text)


@pytest.mark.parametrize("style", ["full", "concise", "statistics"])
def test_a_name_is_no_workflow_command(tmp_path: Path, style: str) -> None:
    plant(tmp_path, {"::error::a.py": OLD, " ::error::b.py": BROKEN, "::add-mask::c/d.py": BROKEN})
    asked = ["--statistics"] if style == "statistics" else ["--show", "info", "--output-format", style]
    for command in ("check", "fix"):
        done = run(command, *CHECK[1:], *asked, ".", folder=tmp_path)
        assert done.text.count("./::add-mask::c/d.py") == 1
        assert [line for line in done.text.splitlines() if line.lstrip().startswith("::")] == []


def test_the_json_report_has_the_exact_names(tree: Path) -> None:
    schema = json.loads((Path(reporters.__file__).parent / "report.schema.json").read_text())
    document = json.loads(check(tree, "json"))
    jsonschema.validate(document, schema)
    assert paths_of(document["findings"]) == set(NAMES)
    assert paths_of(document["errors"]) == {name + b"i" for name in NAMES}


def test_the_sarif_log_has_the_exact_names(tree: Path) -> None:
    schema = json.loads((Path(__file__).parent.parent / "data" / "sarif-2.1.0-rtm.5.json").read_text())
    text = check(tree, "sarif")
    log = json.loads(text)
    jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker()).validate(log)
    uris = re.findall(rb'"uri": "([^"]*)"', text)
    assert {unquote_to_bytes(uri) for uri in uris} == {*NAMES, *(name + b"i" for name in NAMES)}


def test_statistics_count_them(tree: Path) -> None:
    done = run(*CHECK, "--statistics", "--quiet", ".", folder=tree)
    assert done.out.splitlines()[-1].startswith(b"8 TS")
    assert len(done.out.splitlines()) == 9


def test_a_diff_for_a_program_names_them_as_git_does(tree: Path) -> None:
    done = run("fix", *FIX[2:], ".", folder=tree)
    assert done.status == 2
    subprocess.run(["git", "apply", "-p0"], input=done.out, cwd=tree, check=True)
    found = contents(tree)
    assert {os.fsencode(name) for name, data in found.items() if data == NEW} == set(NAMES)


def test_they_are_written(tree: Path) -> None:
    assert run(*FIX, ".", folder=tree).status == 2
    assert {os.fsencode(name) for name, data in contents(tree).items() if data == NEW} == set(NAMES)


def test_they_can_be_named_on_the_command_line(tree: Path) -> None:
    names = [os.fsdecode(name) for name in NAMES]
    done = run(*CHECK, "--show", "info", "--output-format", "json", "--", *names, folder=tree)
    assert (done.status, paths_of(done.document["findings"])) == (0, set(NAMES))


def test_a_module_with_such_a_name_may_export_something(tmp_path: Path) -> None:
    names = [os.fsdecode(name) for name in NAMES]
    files = dict.fromkeys(names, b"import torch\n\nscript = torch.jit.script\nimport os\n")
    plant(tmp_path, {**files, "use.py": b"from compat import script\n\nscript(f)\n", "z.py": OLD})
    done = run(*CHECK, "--target-version", "2.13", "--output-format", "json", ".", folder=tmp_path)
    assert (done.status, done.errors) == (1, {})
    assert paths_of(done.document["findings"]) >= set(NAMES)


def test_a_name_that_is_no_text_is_searched_for_in_other_files(tmp_path: Path) -> None:
    names = [os.fsdecode(name) for name in (b"word\xff.py", b"plain.py", b"package\xff/__init__.py")]
    text = b"import torch\n\n\n@torch.jit.script\ndef f(x):\n    return x\n"
    done = run(*CHECK, "--output-format", "concise", ".", folder=plant(tmp_path, dict.fromkeys(names, text)))
    assert done.out.count(b" TS101 ") == 3
    assert b"fault" not in done.out
