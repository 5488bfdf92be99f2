"""Generated programs: what must hold of findings and fixes, however they are written."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import strategies as st

from tests.fuzz import containers, invariants
from tests.fuzz.conftest import Fuzz
from tests.fuzz.harness import FLAGS
from tests.fuzz.invariants import checked, codes, hold, lines
from tests.fuzz.layout import relaid
from tests.fuzz.negatives import negatives
from tests.fuzz.programs import Program, names, programs, styled

flags = st.sampled_from(FLAGS)


def test_fixing_holds_its_promises(fuzz: Fuzz) -> None:
    def check(program: Program, chosen: Sequence[str]) -> None:
        hold(program.text.encode(), chosen)

    fuzz.run(105, check, programs(), flags)


def test_aliases_do_not_matter(fuzz: Fuzz) -> None:
    def check(program: Program, others: tuple[str, ...]) -> None:
        expected = lines(checked(program.text.encode()))
        other = program.but(names=others)
        assert lines(checked(other.text.encode())) == expected, other.text

    fuzz.run(60, check, programs(), names())


def test_it_does_not_matter_how_symbols_are_imported(fuzz: Fuzz) -> None:
    def check(data: st.DataObject, program: Program, chosen: Sequence[str]) -> None:
        expected = codes(checked(program.text.encode()))
        other = program.but(styles=data.draw(styled(program.blocks)))
        assert codes(checked(other.text.encode())) == expected, other.text
        hold(other.text.encode(), chosen)

    fuzz.run(60, check, st.data(), programs(), flags)


def test_it_does_not_matter_whether_imports_stand_in_the_function(fuzz: Fuzz) -> None:
    def check(program: Program, chosen: Sequence[str]) -> None:
        program = program.but(in_function=True)
        other = program.but(local=True)
        assert codes(checked(other.text.encode())) == codes(checked(program.text.encode())), other.text
        hold(other.text.encode(), chosen)

    fuzz.run(45, check, programs(), flags)


def test_layout_does_not_matter(fuzz: Fuzz) -> None:
    def check(data: st.DataObject, program: Program, chosen: Sequence[str]) -> None:
        plain = checked(program.text.encode(), chosen)
        other = data.draw(relaid(program.text, [line for line, *_ in lines(plain)]))
        assert codes(checked(other.encode(), chosen)) == codes(plain), other
        hold(other.encode(), chosen)

    fuzz.run(54, check, st.data(), programs(), flags)


def test_a_notebook_is_like_a_module(fuzz: Fuzz) -> None:
    def check(data: st.DataObject, program: Program, chosen: Sequence[str]) -> None:
        plain = checked(program.text.encode(), chosen)
        book = data.draw(containers.notebooks(program.text))
        found = checked(book.data, chosen, "case.ipynb")
        at = [finding.location for finding in found.findings]
        there = [book.line(one.cell or 0, one.line) for one in at if one is not None]
        assert [(line, *rest) for line, (_, *rest) in zip(there, lines(found), strict=True)] == lines(plain)
        fixed = hold(book.data, chosen, "case.ipynb", containers.code)
        assert fixed.after == book.with_sources(containers.sources(fixed.after)).data, (
            "the JSON around changed"
        )

    fuzz.run(30, check, st.data(), programs(), flags)


@pytest.mark.parametrize("encoding", containers.ENCODINGS, ids=str)
def test_the_encoding_does_not_matter(fuzz: Fuzz, encoding: containers.Encoding) -> None:
    def check(program: Program, ends: list[str], has_end: bool, chosen: Sequence[str]) -> None:
        text = program.text if has_end else program.text.rstrip("\n")
        text = f"{encoding.cookie}\n{text}" if encoding.cookie else text
        written = encoding.encoded(containers.with_ends(text, ends))
        plain = text.replace("coding", "c0ding").encode()
        assert lines(checked(written, chosen)) == lines(checked(plain, chosen))
        fixed = hold(written, chosen, read=encoding.decoded)
        if len(ends) == 1:
            expected = hold(plain, chosen).after.decode().replace("c0ding", "coding")
            assert encoding.decoded(fixed.after) == containers.with_ends(expected, ends)

    some_ends = st.lists(st.sampled_from(containers.LINE_ENDS), min_size=1, max_size=3)
    fuzz.run(15, check, programs(), some_ends, st.booleans(), flags)


def test_what_is_not_torch_is_left_alone(fuzz: Fuzz) -> None:
    def check(text: str, chosen: Sequence[str]) -> None:
        found = checked(text.encode(), chosen)
        assert not found.findings, f"{invariants.lines(found)}\n{text}"

    fuzz.run(90, check, negatives(), flags)
