"""Files as text: decoding, parsing, places, and writing back."""

from __future__ import annotations

import ast
import contextlib
import encodings
import encodings.aliases
import pkgutil
import sys
import tokenize
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchmigrate.model.findings import Edit, Location, Span
from torchmigrate.text import source_reader as files
from torchmigrate.text.source_text import SourceError, SourceText
from torchmigrate.text.text_edits import apply_edits

BOM = b"\xef\xbb\xbf"


def read(data: bytes) -> SourceText:
    return files.read_source("a.py", data)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"x", "x"),
        ("é = 1\r\n".encode(), "é = 1\r\n"),
        (BOM + b"x\n", "x\n"),
        (BOM + b"# coding: utf-8\n", "# coding: utf-8\n"),
        (b"# -*- coding: latin-1 -*-\n\xe9", "# -*- coding: latin-1 -*-\né"),
        (b"#!/bin/sh\r# vim: fileencoding=cp1252 :\r\x80", "#!/bin/sh\r# vim: fileencoding=cp1252 :\r€"),
        (b"\f\n#coding=euc_jp\n\xa4\xa2", "\f\n#coding=euc_jp\nあ"),
        # No cookies: code before them, or too far down.
        ("x = 1\n# coding: latin-1\né".encode(), "x = 1\n# coding: latin-1\né"),
        ("\n\n# coding: latin-1\né".encode(), "\n\n# coding: latin-1\né"),
        ("# coding: UTF_8\né".encode(), "# coding: UTF_8\né"),
    ],
)
def test_text_is_decoded_as_python_decodes_it(data: bytes, text: str) -> None:
    source = read(data)
    assert source.text.decode() == text
    assert source.apply_edits([]) == data


def test_utf8_is_not_copied() -> None:
    data = "x = 'é'\n".encode()
    assert read(data).text is data


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"x = 1\n'\xc3\xa9' \xff", 2, 5, "not valid UTF-8: the byte 0xff"),
        (b"\xff\xfex\0", 1, 1, "not valid UTF-8"),
        (b"# coding: ascii\r\rx\xe9", 3, 2, "not valid ascii"),
        (b"# coding: klingon\n", 1, 1, "unknown encoding: klingon"),
        (b"# coding: rot13\n", 1, 1, "unknown encoding: rot13"),
        (b"# coding: utf-16\n", 1, 1, "unknown encoding: utf-16"),
        (BOM + b"# coding: latin-1\n", 1, 1, "byte order mark"),
    ],
)
def test_what_cannot_be_decoded_is_refused_with_its_place(
    data: bytes, line: int, column: int, message: str
) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        read(data)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"x = 1\nprint 'python 2'\n", 2),
        (b"x = 1\r\ry = \0", 3),
        (b"if x:\ny", 2),
        (b"x = '''", 1),
        (b"-" * 100_000 + b"1", None),
    ],
)
def test_what_cannot_be_parsed_is_refused_with_its_place(data: bytes, line: int | None) -> None:
    with pytest.raises(SourceError) as caught:
        read(data).syntax_tree  # noqa: B018
    assert caught.value.line == line


def test_parsing_is_silent_about_invalid_escapes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(b"'\\d'; 1is 2").syntax_tree.body


def test_a_place_counts_characters_and_the_end_is_exclusive() -> None:
    source = read("x = 1\n\ts = 'é', y\rz".encode())
    start = source.text.index(b"y")
    assert source.locate_span(Span(start, start + 1)) == Location(2, 11, 2, 12)
    assert source.locate_span(Span(start, len(source.text))) == Location(2, 11, 3, 2)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_that_the_span_touches(end: str) -> None:
    source = read(end.join(["aé", "b\f\x0b\x85\u2028b", "", "c"]).encode())
    everything = Span(0, len(source.text))
    assert source.get_lines(everything) == ("aé", "b\f\x0b\x85\u2028b", "", "c")
    second = source.line_starts[1]
    assert source.get_lines(Span(0, second)) == ("aé",)
    assert source.get_lines(Span(second, second)) == ("b\f\x0b\x85\u2028b",)
    assert source.get_lines(Span(everything.end, everything.end)) == ("c",)


def test_a_span_beyond_the_last_line_end_is_an_empty_line() -> None:
    source = read(b"a\n")
    assert source.get_lines(Span(2, 2)) == ("",)
    assert source.locate_span(Span(2, 2)) == Location(2, 1, 2, 1)
    assert read(b"").locate_span(Span(0, 0)) == Location(1, 1, 1, 1)


def test_nodes_without_a_place_have_no_span() -> None:
    source = read(b"f(x)")
    with pytest.raises(ValueError, match="Module has no position"):
        source.span_of(source.syntax_tree)


def test_other_encodings_and_byte_order_marks_come_back() -> None:
    latin = read(b"# coding: latin-1\nx = '\xe9'\n")
    place = latin.text.index(b"x")
    assert latin.apply_edits([Edit(place, place + 1, "ü")]) == b"# coding: latin-1\n\xfc = '\xe9'\n"
    with pytest.raises(SourceError, match="cannot be written back"):
        latin.apply_edits([Edit(place, place + 1, "あ")])
    assert read(BOM + b"x").apply_edits([Edit(0, 1, "y")]) == BOM + b"y"


def test_an_encoding_with_more_than_one_form_is_not_rewritten() -> None:
    redundant = read(b"# coding: iso2022_jp\n'\x1b(B\x1b(B'\n")
    with pytest.raises(SourceError, match="more than one form"):
        redundant.apply_edits([Edit(0, 0, "#\n")])


@pytest.mark.parametrize(
    ("old", "offset", "new"),
    [
        (b"a\r\nb", 0, b"1\r\n2a\r\nb"),
        (b"a\r\nb", 3, b"a\r\n1\r\n2b"),
        (b"a\rb\n", 0, b"1\r2a\rb\n"),
        (b"a\rb\n", 2, b"a\r1\n2b\n"),
        (b"a\r", 2, b"a\r1\r2"),
        (b"a\r\n", 2, b"a\r1\r\n2\n"),
        (b"a", 1, b"a1\n2"),
        (b"", 0, b"1\n2"),
    ],
)
def test_inserted_lines_end_as_those_around_them(old: bytes, offset: int, new: bytes) -> None:
    for text in ("1\n2", "1\r\n2", "1\r2"):
        assert read(old).apply_edits([Edit(offset, offset, text)]) == new


PIECES = st.sampled_from(
    [
        "",
        "x",
        "é = 1",
        "a;b",
        "f(a,\n b)",
        "'''s\r\rt'''",
        "# c\f\x0b\x85",
        "a\t+ 'あ'",
        "if é:\n\f  y\n",
        "x = \\\n 1",
        "\f",
        "f'{a.b!r} é {c(d)}'",
        'f"""\n{a.b}\n{c:>{d.e}}"""',
        "('é' f'{a}'\n  f' {b}')",
    ]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def programs(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(st.tuples(PIECES, ENDS), max_size=8))
    end = draw(st.booleans())
    text = "".join(piece.replace("\n", newline) + newline for piece, newline in lines)
    return (text if end else text.rstrip("\r\n")).encode()


def check_segments(source: SourceText) -> int:
    """Every expression's segment must parse to that expression; says how many there were."""
    count = 0
    for node in ast.walk(source.syntax_tree):
        # The parts of an f-string have no text of their own before Python 3.12.
        if not isinstance(node, ast.expr) or isinstance(
            node, (ast.Constant, ast.FormattedValue, ast.JoinedStr)
        ):
            continue
        if isinstance(node, (ast.Slice, ast.Starred, ast.Tuple)):
            continue
        alone = ast.parse(f"({source.get_segment(node)}\n)", mode="eval").body
        assert ast.unparse(alone) == ast.unparse(node)
        count += 1
    return count


@given(programs())
def test_the_segment_of_a_node_is_the_node(data: bytes) -> None:
    source = read(data)
    try:
        expected = ast.parse(data)
    except SyntaxError:
        with pytest.raises(SourceError):
            source.syntax_tree  # noqa: B018
        return
    assert ast.dump(source.syntax_tree, include_attributes=True) == ast.dump(
        expected, include_attributes=True
    )
    check_segments(source)


@given(programs())
def test_lines_begin_where_the_tokenizer_begins_them(data: bytes) -> None:
    source = read(data)
    numbers = range(1, len(source.line_starts) + 1)
    assert [source.line_of(start) for start in source.line_starts] == list(numbers)
    lines = (line.decode() for line in data.splitlines(keepends=True))
    try:
        tokens = list(tokenize.generate_tokens(lambda: next(lines, "")))
    except (tokenize.TokenError, SyntaxError):
        return
    for token in tokens:
        if token.type in (tokenize.NAME, tokenize.COMMENT, tokenize.NUMBER):
            line, column = token.start
            rest = data[source.line_starts[line - 1] :].decode()[column:]
            assert rest.startswith(token.string)


@pytest.mark.parametrize("name", ["ast.py", "typing.py", "tokenize.py", "test/test_fstring.py"])
def test_segments_in_the_standard_library(name: str) -> None:
    path = Path(ast.__file__).parent / name
    if not path.exists():
        pytest.skip(f"this Python has no {name}")
    assert check_segments(read(path.read_bytes())) > 100


@given(programs(), st.data())
def test_bytes_outside_an_edit_stay(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    result = apply_edits(data, [Edit(start, end, "é\n")])
    assert result.startswith(data[:start])
    assert result.endswith(data[end:])
    assert result[start : len(result) - len(data) + end].decode().rstrip("\r\n") == "é"


def test_a_large_file_is_read_without_work_in_python() -> None:
    data = b"x = 1\n" * 500_000
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        source = read(data)
        assert len(source.line_starts) == 500_001
    finally:
        sys.setprofile(None)
    assert calls < 100


BODIES = (
    b"x = '\xff\xe9\x80'\n",
    b"x = '\\x41 \\q \\N{nothing}'\n",
    "x = '\u00e9\u4e2d'\n".encode(),
    bytes(range(128, 256)),
    b"x = 1 # +AGE-\n-\xff",
    b"xn--\xff.a..b\n" + b"a" * 100,
    b"\x1b$B\xff",
    b"~{\xff~}\0",
)


@pytest.mark.parametrize(
    "encoding",
    sorted(
        {name for _, name, _ in pkgutil.iter_modules(encodings.__path__)} | set(encodings.aliases.aliases)
    ),
)
def test_no_encoding_that_python_knows_raises_anything_else_or_warns(encoding: str) -> None:
    for body in BODIES:
        with warnings.catch_warnings(), contextlib.suppress(SourceError):
            warnings.simplefilter("error")
            source = SourceText.decode_source("a.py", b"# coding: " + encoding.encode() + b"\n" + body)
            source.apply_edits([Edit(0, 0, "# \u20ac\n")])
            assert source.syntax_tree


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads the new syntax")
@pytest.mark.parametrize(
    ("code", "is_new"),
    [
        ('x = f"{a["b"]}"', True),
        ("def first[T](given: list[T]) -> T:\n    return given[0]", True),
        ("async def first[T](given): ...", True),
        ("class Box[T]: ...", True),
        ("type Pair = tuple[int, int]", True),
        ("x = = 1", False),
        ("print 'old'", False),
    ],
)
def test_an_error_says_where_a_newer_python_may_read_the_code(code: str, is_new: bool) -> None:
    with pytest.raises(SourceError) as caught:
        read(f"import torch\n\n{code}\n".encode()).syntax_tree  # noqa: B018
    assert caught.value.line == 3
    assert ("Python 3.12" in caught.value.message) is is_new
