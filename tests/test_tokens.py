"""The tokens of a part of a file are those of the whole file that lie there."""

from __future__ import annotations

import pytest

from torchmigrate.model.findings import Span
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_tokens import LazyTokens, tokenize_source


@pytest.mark.parametrize(
    "text",
    [
        "# a\n\nx = 1  # b\n\n# c\ny = 2",
        "x = 1; \\\ny = 2\nz = 3\n",
        "x = 1; \\\r\ny = 2\r\nz = 3\r\n",
        "a()\n@(  # why\n  b\n)\n@c\ndef f():\n    pass\n    # end\nd()\n",
        "x = '''\ny = 1\n'''; y = (\n2); z = 3\nif x:\n  y\nw = 4\n",
        "é = 'ü'  # ö\nclass ß:\n    x = 'ä' # ö\n",
        "",
    ],
)
def test_parts_are_parts_of_the_whole(text: str) -> None:
    source = read_source("a.py", text.encode())
    whole, made = [token for token in tokenize_source(source) if token.text], LazyTokens(source)
    assert made.tokens_inside(Span(0, len(source.text))) == whole
    for token in whole:
        assert made.tokens_inside(token.span) == [token]
