"""What travels between processes and into the cache: exact, plain on every Python, and refused where it is not ours."""

from __future__ import annotations

import json
import math
import pickle
import pickletools
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchmigrate.engine.engine import FileScan
from torchmigrate.model.findings import Edit, FileError, FileResult, Finding, Fix, Location, Span
from torchmigrate.model.vocabulary import Kind, Safety, Severity
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.mentions import FileFacts, Mention
from torchmigrate.project.project_facts import Project
from torchmigrate.run import parallel
from torchmigrate.run.cache import Cache
from torchmigrate.run.engines import Engines
from torchmigrate.run.file_checker import FileChecker
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.wire import Unreadable, pack, unpack

from .support import settings_of

TEXTS = ("", "a.py", "é\u2028\U0001f600", "a\udcff.py", "\ud83d\ude00", "\0\n\"'\\")
"""Two surrogates in a row are two characters, and not the one that they are halves of in UTF-16."""

LITERALS = (
    *TEXTS,
    b"",
    bytes(range(256)),
    0,
    -(2**63),
    2**64,
    -(10**5000),
    True,
    False,
    0.1,
    -0.0,
    math.inf,
    1j,
    complex(-0.0, math.inf),
    None,
    ...,
)


def findings() -> Iterator[Finding]:
    """One with everything for each severity and each safety, and one with nothing."""
    span, place = Span(3, 9), Location(1, 2, 3, 4, 5)
    for severity in Severity:
        for safety in Safety:
            fix = Fix(
                (Edit(0, 1, TEXTS[3]), Edit(5, 5, "")),
                safety,
                "title",
                locations=(place, Location(1, 2, 3, 4)),
            )
            yield Finding("TS101", TEXTS[2], severity, TEXTS[3], span, place, fix, "withheld", "hint", TEXTS)
        yield Finding("RT001", "", severity, "")


def scan() -> FileScan:
    """One in which every field of every type has a value, and every enum each of its members."""
    errors = (FileError("a.py", "message"), FileError("a.py", "message", 1, 2, 3))
    constants = tuple((str(number), value) for number, value in enumerate(LITERALS))
    mentions = [Mention("torch.jit.load", kind, text, 7) for kind in Kind for text in TEXTS]
    mentions.append(Mention("torch.jit.load", Kind.CALL, "a.py", 1, constants))
    facts = FileFacts({text: text for text in TEXTS}, frozenset(TEXTS), tuple(mentions), True)
    return FileScan(FileResult(TEXTS[3], tuple(findings()), errors, 3), facts)


def typed(value: Any) -> Any:
    """Tells values of different types apart that are equal, and zeros of different signs."""
    return type(value), repr(value)


VALUES = [
    scan(),
    scan().result,
    scan().facts,
    *findings(),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert unpack(type(value), pack(value)) == value


@pytest.mark.parametrize(
    "value", LITERALS, ids=lambda value: f"{value!r:.20}" if value != -(10**5000) else "huge"
)
def test_a_literal_comes_back_with_its_type(value: object) -> None:
    mention = unpack(Mention, pack(Mention("torch.jit.load", Kind.CALL, "a.py", 1, (("0", value),))))
    ((_, back),) = mention.constants
    assert type(back) is type(value)
    assert back == value
    assert not isinstance(value, float) or math.copysign(1, value) == math.copysign(1, back)  # type: ignore[arg-type]


_LITERAL = st.one_of(
    st.text(st.characters()),
    st.binary(),
    st.integers(),
    st.booleans(),
    st.complex_numbers(),
    st.floats(),
    st.none(),
)


@given(_LITERAL)
def test_so_does_any_other(value: object) -> None:
    mention = Mention("torch.jit.load", Kind.CALL, "a.py", 1, (("0", value),))
    assert typed(unpack(Mention, pack(mention))) == typed(mention)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_is_packed_is_json_and_the_same_each_time(value: object) -> None:
    packed = pack(value)
    assert json.loads(packed.decode("utf-8", "surrogatepass"))
    assert pack(unpack(type(value), packed)) == packed


class TestRefused:
    """Nothing is made of bytes that are not of `pack`'s making."""

    @pytest.mark.parametrize("data", [b"", b"null", b"\xff", b"[" * 10**6, b"1" * 10**5, pickle.dumps(1)])
    def test_is_what_is_no_record(self, data: bytes) -> None:
        with pytest.raises(Unreadable):
            unpack(FileScan, data)

    @pytest.mark.parametrize("other", [None, 1, True, "x", [], {}, [1], 1.5])
    def test_is_a_field_of_another_type(self, other: object) -> None:
        """Anything in the place of anything, unless it is a value that may be there."""
        whole = json.loads(pack(scan()).decode("utf-8", "surrogatepass"))
        refused = 0
        for place, key in list(_places(whole)):
            before, place[key] = place[key], other
            try:
                read = unpack(FileScan, json.dumps(whole).encode())
            except Unreadable:
                refused += 1
            else:
                assert unpack(FileScan, pack(read)) == read
            place[key] = before
        assert refused > 100

    def test_is_a_missing_or_an_added_field(self) -> None:
        for change in (list.pop, lambda fields: fields.append(None)):
            plain = json.loads(pack(FileResult("a.py")))
            change(plain)
            with pytest.raises(Unreadable):
                unpack(FileResult, json.dumps(plain).encode())

    @pytest.mark.parametrize(
        "literal", [[], {}, {"int": 1}, {"os": "x"}, {"bytes": "\u1234"}, {"complex": [1, 2, 3]}]
    )
    def test_is_what_no_literal_is(self, literal: object) -> None:
        with pytest.raises(Unreadable):
            unpack(Mention, json.dumps(["s", "call", "a.py", 1, [["0", literal]]]).encode())

    def test_is_damage(self) -> None:
        """Whatever is changed, it is refused or makes a value of the same type that travels as well."""
        whole, chance = pack(scan()), random.Random(7)
        for _ in range(2000):
            data = bytearray(whole)
            for _ in range(chance.choice([1, 3])):
                data[chance.randrange(len(data))] = chance.choice(b'[]{},:"0a\\-\xed\xff')
            try:
                read = unpack(FileScan, bytes(data))
            except Unreadable:
                continue
            assert unpack(FileScan, pack(read)) == read


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (list, dict)):
            yield from _places(value[key])


def test_a_type_that_cannot_travel_is_named() -> None:
    with pytest.raises(TypeError, match="Project"):
        unpack(Project, b"[]")
    with pytest.raises(TypeError):
        pack(Project())


@pytest.mark.usefixtures("collecting")
def test_what_a_worker_sends_back_names_nothing(tmp_path: Path) -> None:
    """Each Python pickles members of enums and records in a way of its own, some of them as calls of `getattr`."""
    path = tmp_path / "a.py"
    path.write_text(
        "import torch\n\n\n@torch.jit.script\ndef f(x):\n    return x\n\n\ntorch.jit.load(b'x', ...)\n"
    )
    settings, minimum = settings_of(["--select", "ALL"])
    profiles = {str(tmp_path): create_uniform_profile(settings, minimum)(str(tmp_path))}
    project = Project([str(path)])
    look = parallel.create_worker(profiles, project, None)
    for item in ((str(path), str(path), None), (str(path), "-", path.read_bytes())):
        sent = look(item)
        received = parallel.unpack_check(*sent)
        assert received.scan is not None
        assert received.scan.result.findings
        looker = FileChecker(Engines(profiles), project, Cache(None))
        assert received == looker.check_file(item[0], InputFile(*item[1:]))
        for travels in (item, sent):
            names = [op.name for op, _, _ in pickletools.genops(pickle.dumps(travels, 4))]
            assert not {"GLOBAL", "STACK_GLOBAL", "REDUCE", "NEWOBJ", "INST", "OBJ", "BUILD"} & set(names)


def test_the_text_of_a_line_travels_once() -> None:
    line = "x" * 100_000
    found = tuple(
        Finding(f"TS{i}", "", Severity.ERROR, "a.py", source_lines=(line,)) for i in range(100, 900)
    )
    packed = pack(FileResult("a.py", found))
    assert len(packed) < 2 * len(line)
    back = unpack(FileResult, packed).findings
    assert back == found
    assert len({id(finding.source_lines) for finding in back}) == 1


def test_a_number_that_no_line_has_is_refused() -> None:
    packed = pack(FileResult("a.py", (Finding("TS101", "", Severity.ERROR, "a.py", source_lines=("x",)),)))
    for wrong in (b"7", b"-1", b"true", b'"0"'):
        data = re.sub(rb",0,(?=\w*null)", b"," + wrong + b",", packed, count=1)
        assert data != packed
        with pytest.raises(Unreadable):
            unpack(FileResult, data)
