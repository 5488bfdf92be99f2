"""The fixtures, written in other ways: the same findings, and fixes that hold their promises."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz import containers
from tests.fuzz.conftest import Fuzz
from tests.fuzz.harness import FLAGS
from tests.fuzz.invariants import checked, codes, hold, lines
from tests.fuzz.layout import relaid
from tests.fuzz.programs import NAMES
from tests.fuzz.respell import moved, renamable, renamed
from tests.rules.cases import FIXTURES, cases


def programs() -> list[Path]:
    """The fixtures of one module. A suppression speaks of lines, so that its layout matters."""
    files = [*(case.path for case in cases() if case.path.is_file()), *sorted(FIXTURES.glob("p2p/*.py"))]
    return [file for file in files if file.suffix == ".py" and b"torchmigrate:" not in file.read_bytes()]


sources = st.sampled_from(programs()).map(lambda path: path.read_text(encoding="utf-8"))
flags = st.sampled_from(FLAGS)


def test_layout_does_not_matter(fuzz: Fuzz) -> None:
    def check(data: st.DataObject, text: str, chosen: Sequence[str]) -> None:
        plain = checked(text.encode(), chosen)
        other = data.draw(relaid(text, [line for line, *_ in lines(plain)]))
        assert codes(checked(other.encode(), chosen)) == codes(plain), other
        hold(other.encode(), chosen)

    fuzz.run(45, check, st.data(), sources, flags)


def test_aliases_do_not_matter(fuzz: Fuzz) -> None:
    def check(data: st.DataObject, text: str, chosen: Sequence[str]) -> None:
        # A type is known by its name alone, as it stands in annotations that are strings, too.
        names = [one for one in renamable(text) if one.name != "GroupName"]
        if not names:
            return
        name = data.draw(st.sampled_from([f"{name}_0" for name in NAMES]))
        other = renamed(text, data.draw(st.sampled_from(names)), name)
        assert lines(checked(other.encode(), chosen)) == lines(checked(text.encode(), chosen)), other
        hold(other.encode(), chosen)

    fuzz.run(50, check, st.data(), sources, flags)


def test_imports_may_stand_in_functions(fuzz: Fuzz) -> None:
    def check(data: st.DataObject, text: str, chosen: Sequence[str]) -> None:
        others = [other for one in renamable(text) if (other := moved(text, one)) is not None]
        if others:
            other = data.draw(st.sampled_from(others))
            assert codes(checked(other.encode(), chosen)) == codes(checked(text.encode(), chosen)), other
            hold(other.encode(), chosen)

    fuzz.run(25, check, st.data(), sources, flags)


def test_a_notebook_is_like_a_module(fuzz: Fuzz) -> None:
    def check(data: st.DataObject, text: str, chosen: Sequence[str]) -> None:
        book = data.draw(containers.notebooks(text))
        found = checked(book.data, chosen, "case.ipynb")
        assert codes(found) == codes(checked(text.encode(), chosen))
        hold(book.data, chosen, "case.ipynb", containers.code)

    fuzz.run(25, check, st.data(), sources, flags)


def test_line_ends_do_not_matter(fuzz: Fuzz) -> None:
    def check(text: str, ends: list[str], chosen: Sequence[str]) -> None:
        other = containers.with_ends(text, ends).encode()
        assert lines(checked(other, chosen)) == lines(checked(text.encode(), chosen))
        hold(other, chosen)

    fuzz.run(
        25, check, sources, st.lists(st.sampled_from(containers.LINE_ENDS), min_size=1, max_size=3), flags
    )
