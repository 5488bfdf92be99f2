"""Notebooks: what is read from them, where it is said to lie, and what an edit changes in the file."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import check_text, fix_text
from torchmigrate.model.findings import Edit, Location
from torchmigrate.text import source_reader as files
from torchmigrate.text.notebook import Notebook
from torchmigrate.text.source_text import SourceError, SourceText


def cell(source: str | list[str], kind: str = "code", **members: object) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "source": source, **members}


def dumped(*cells: dict[str, Any], metadata: Any = None, **style: Any) -> bytes:
    document = {"cells": list(cells), "metadata": metadata or {}, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(document, **{"indent": 1, "ensure_ascii": False, **style}) + "\n").encode()


def notebook(*sources: str) -> Notebook:
    return read(dumped(*(cell(source.splitlines(keepends=True)) for source in sources)))


def read(data: bytes) -> Notebook:
    source = files.read_source("a.ipynb", data)
    assert isinstance(source, Notebook)
    return source


def at(source: SourceText, old: str, new: str) -> Edit:
    start = source.text.index(old.encode())
    return Edit(start, start + len(old.encode()), new)


def test_code_cells_become_one_text() -> None:
    cells = cell("# title", "markdown"), cell("x = 1"), cell(["y = 2\n", "z"])
    assert read(dumped(*cells)).text == b"x = 1\ny = 2\nz\n"


def test_places_count_all_cells_and_the_lines_of_their_own() -> None:
    source = read(dumped(cell("# title", "markdown"), cell("x = 1"), cell(["y = 2\n", "é, z\n", "\n"])))
    name = source.syntax_tree.body[2].value.elts[1]  # type: ignore[attr-defined]
    assert source.locate_span(source.span_of(name)) == Location(2, 4, 2, 5, cell=3)
    assert source.get_lines(source.span_of(name)) == ("é, z",)


@pytest.mark.parametrize(
    "metadata", [{"kernelspec": {"language": "R"}}, {"language_info": {"name": "julia"}}]
)
def test_a_notebook_in_another_language_has_no_text(metadata: Any) -> None:
    source = read(dumped(cell("x <- !y"), metadata=metadata))
    assert source.text == b""
    assert source.syntax_tree.body == []


def test_a_cell_in_another_language_is_left_out() -> None:
    sql = cell("select 1")
    sql["metadata"] = {"vscode": {"languageId": "sql"}}
    assert read(dumped(sql, cell("x"))).text == b"x\n"


@pytest.mark.parametrize(
    ("code", "python"),
    [
        ("%matplotlib inline\nx = 1", "0                 \nx = 1"),
        ("!pip install torch", "0                 "),
        ("!pip install \\\n  torch\nx", "0             \n       \nx"),
        ("if x:\n    !ls\nelse:\n    %cd ..", "if x:\n    0  \nelse:\n    0     "),
        ("?torch", "0     "),
        ("torch.jit??", "0          "),
        ("%time?", "0     "),
        ("files = !ls *.py", "files = 0       "),
        ('d["k"], y = %who_ls', 'd["k"], y = 0      '),
        ("%%time\nx = 1", "      \nx = 1"),
        ("\n%%capture out\n%%timeit -n 2\nx = 1", "\n             \n             \nx = 1"),
        ("%%bash\necho 'é\nls", "      \n        \n  "),
        ("%%time\n%%html\n<b>", "      \n      \n   "),
        ("%time x = f()", "0    ;x = f()"),
        ("%timeit -n 10 -r 3 f(x)", "0                 ;f(x)"),
        ("%time ls -l ..", "0             "),
        # No magics, for these lines continue an expression or a string.
        (
            '%cd ..\nx = (a\n  % b)\ns = """\n%s\n!ls\n"""\n',
            '0     \nx = (a\n  % b)\ns = """\n%s\n!ls\n"""\n',
        ),
        ("%cd ..\nx = 1 \\\n % 2\n", "0     \nx = 1 \\\n % 2\n"),
        ('!ls "it\'s (\nprint("loss = %f" % x, "a = !b")', '0          \nprint("loss = %f" % x, "a = !b")'),
        ("%cd ..\n# a (comment's\n!ls", "0     \n# a (comment's\n0  "),
        ("x = await f()\nreturn x", "x = await f()\nreturn x"),
    ],
)
def test_ipython_syntax_is_masked_in_place(code: str, python: str) -> None:
    source = notebook(code)
    assert source.text.decode() == python + "\n"
    assert isinstance(source.syntax_tree, ast.Module)
    assert source.original.decode() == code + "\n"


def test_the_reader_sees_the_magic_and_not_its_mask() -> None:
    source = notebook("%time x = f()")
    assert source.get_lines(source.span_of(source.syntax_tree.body[1])) == ("%time x = f()",)


@pytest.mark.parametrize(
    ("broken", "line"), [("x = (", 1), ("y\nprint 1", 2), ('"""', 1), ("%cd ..\nx = = 1", 2), ("if x:\n", 1)]
)
def test_a_syntax_error_names_its_cell(broken: str, line: int) -> None:
    with pytest.raises(SourceError) as caught:
        notebook("x = 1", broken, '"""\n)').syntax_tree  # noqa: B018
    assert (caught.value.cell, caught.value.line) == (2, line)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Expecting value"),
        (b"\xff", "not valid UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b"[]", "the document is not an object"),
        (b"null", "the document is not an object"),
        (b"{}", "no cells"),
        (b'{"worksheets": []}', "older than 4"),
        (b'{"cells": {}}', "cells is not a list"),
        (b'{"cells": [1]}', "cell 1 is not an object"),
        (b'{"cells": [{"cell_type": "code"}]}', "without a source"),
        (b'{"cells": [{"cell_type": "code", "source": 1}]}', "is not text"),
        (b'{"cells": [{"cell_type": "code", "source": ["x", null]}]}', "is not text"),
        (b'{"cells": [{"cell_type": "code", "source": {}}]}', "is not text"),
        (b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "lone surrogate"),
    ],
)
def test_what_is_no_notebook_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read(data)


def test_the_last_of_two_equal_keys_counts_as_in_json() -> None:
    assert read(b'{"cells": [{"cell_type": "code", "source": "a", "source": "b"}]}').text == b"b\n"


STYLES: list[dict[str, Any]] = [
    {"indent": 1},
    {"indent": None},
    {"indent": "\t"},
    {"indent": None, "separators": (",", ":")},
    {"indent": 4, "ensure_ascii": True},
    {"indent": 1, "sort_keys": True},
]


@pytest.mark.parametrize("style", STYLES)
def test_an_edit_gives_the_bytes_that_the_same_writer_would_write(style: dict[str, Any]) -> None:
    output: dict[str, Any] = {"outputs": [{"text": ["é 1.0 \u2028\n"], "data": 1e5}], "execution_count": 3}

    def document(*lines: str) -> bytes:
        return dumped(cell("# é\n", "markdown"), cell(list(lines), **output), cell("z"), **style)

    old = ["import torch\n", 's = "é😀\\n"\n', "y = f(s)\n", "g()"]
    source = read(document(*old))
    start_of_y = source.text.index(b"y =")
    assert source.apply_edits([]) == source.raw

    def fixed(*edits: Edit) -> bytes:
        return source.apply_edits(edits)

    assert fixed(at(source, "f(s)", 'h("é", s)')) == document(*old[:2], 'y = h("é", s)\n', old[3])
    assert fixed(at(source, "f(", 'f("""\n\n')) == document(*old[:2], 'y = f("""\n', "\n", "s)\n", old[3])
    assert fixed(at(source, old[1], "")) == document(old[0], *old[2:])
    assert fixed(at(source, old[0], "")) == document(*old[1:])
    assert fixed(at(source, old[2] + old[3], "")) == document(*old[:2])
    assert fixed(at(source, old[1] + old[2], "a\nb\n")) == document(old[0], "a\n", "b\n", old[3])
    assert fixed(at(source, old[3], "g()\nh()")) == document(*old[:3], "g()\n", "h()")
    assert fixed(at(source, "\n" + old[3], "")) == document(*old[:2], "y = f(s)")
    assert fixed(at(source, "torch\ns", "t; s")) == document("import t; " + old[1], *old[2:])
    assert fixed(Edit(start_of_y, start_of_y, "import a\n")) == document(*old[:2], "import a\n", *old[2:])
    assert fixed(Edit(0, 0, "import a\n"), Edit(0, 6, "from"), at(source, "g()", "k()")) == (
        document("import a\n", "from torch\n", *old[1:3], "k()")
    )
    assert fixed(at(source, old[0], ""), at(source, old[1], "w\n")) == document("w\n", *old[2:])


def test_a_source_that_is_one_string_stays_one_string_and_keeps_its_escapes() -> None:
    source = read(b'{"cells":[{"source":"#\\u00e9\\/\\n\\"b\\"","cell_type":"code"}]}')
    assert source.apply_edits([at(source, '"b"', 'c\n"é"')]) == (
        b'{"cells":[{"source":"#\\u00e9\\/\\nc\\n\\"\\u00e9\\"","cell_type":"code"}]}'
    )


def test_a_line_of_a_source_that_is_one_string_is_not_taken_for_a_longer_word() -> None:
    data = dumped(cell("import torch"), cell("x = 1\ntorch.qr(x)\n"))
    assert [one.code for one in check_text(data.decode(), path="a.ipynb")] == ["RM701"]


def test_the_only_line_of_a_cell_splits_in_the_style_of_its_list() -> None:
    source = read(dumped(cell(["x"])))
    assert source.apply_edits([at(source, "x", "x\ny")]) == dumped(cell(["x\n", "y"]))


def test_a_byte_order_mark_stays() -> None:
    data = b"\xef\xbb\xbf" + dumped(cell("x"))
    assert read(data).apply_edits([Edit(0, 1, "y")]) == data.replace(b'"x"', b'"y"')


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Edit(2, 8, ""), "spans two cells"),
        (Edit(6, 7, "x"), "IPython"),
        (Edit(6, 6, "x"), "IPython"),
        (Edit(12, 12, "x"), "IPython"),
        (Edit(19, 19, "x = 1\n"), "IPython"),
        (Edit(20, 22, "x"), "IPython"),
    ],
)
def test_edits_that_cannot_be_right_are_refused(edit: Edit, message: str) -> None:
    source = notebook("x = 1", "%cd ..\ny = 2", "%%bash\nls")
    assert source.text == b"x = 1\n0     \ny = 2\n      \n  \n"
    with pytest.raises(SourceError, match=message) as caught:
        source.apply_edits([edit])
    assert caught.value.cell is not None
    assert caught.value.line is not None


def test_lines_may_be_put_before_and_after_a_line_magic() -> None:
    source = notebook("%cd ..\ny = 2")
    result = source.apply_edits([Edit(0, 0, "import a\n"), Edit(7, 7, "import b\n")])
    assert read(result).original == b"import a\n%cd ..\nimport b\ny = 2\n"


@pytest.mark.parametrize("data", [dumped(), dumped(cell([]))])
def test_an_edit_where_there_is_no_code_is_refused(data: bytes) -> None:
    with pytest.raises(SourceError, match="no code"):
        read(data).apply_edits([Edit(0, 0, "x")])


CODE = st.text(alphabet=st.sampled_from('ab=1 \n"\\é😀\u2028\t/%!'), max_size=12)


@given(
    cells=st.lists(st.lists(CODE, max_size=4), min_size=1, max_size=3),
    style=st.sampled_from(STYLES),
    data=st.data(),
)
def test_an_edit_changes_its_place_in_the_text_and_nothing_else(
    cells: list[list[str]], style: dict[str, Any], data: st.DataObject
) -> None:
    source = read(dumped(*map(cell, cells), **style))
    assert source.apply_edits([]) == source.raw
    text = source.original.decode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    edit = Edit(len(text[:start].encode()), len(text[:end].encode()), data.draw(CODE))
    try:
        result = source.apply_edits([edit])
    except SourceError:
        return
    assert read(result).original.decode() == text[:start] + edit.text + text[end:]
    old, new = json.loads(source.raw), json.loads(result)
    for document in (old, new):
        for item in document["cells"]:
            assert all(isinstance(line, str) for line in item.pop("source"))
    assert old == new


def test_a_statement_removed_at_the_end_of_a_cell_takes_no_blank_line_of_the_next() -> None:
    cells = ["import torch", "\ntorch.jit.set_fusion_strategy([])", "\ny = 1"]
    document = json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})
    flags = ("--unsafe", "--no-keep-torchscript-support")
    fixed = json.loads(fix_text(document, *flags, path="a.ipynb"))
    assert [cell["source"] for cell in fixed["cells"]] == ["", "\n", "\ny = 1"]
