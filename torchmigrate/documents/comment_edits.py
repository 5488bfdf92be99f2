"""The edits that keep a comment true: one that only repeats a line's build or version changes with that line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.documents.references import Environment, find_references_in
from torchmigrate.documents.upgrade_rules import COMPANIONS, TORCH_NAMES, find_cuda_tag
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.model.findings import Edit, Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables.build_selection import parse_variant_cuda
from torchmigrate.tables.torch_builds import TorchBuild

_COMMENT_LINE = re.compile(r"[ \t]*(?:#|//|;|::|rem\b)", re.IGNORECASE)
_TRAILING = re.compile(r"(?:(?<=[ \t])|^)(?:#|//)[^\"'\r\n]*$")


def find_torch_spans(environment: Environment) -> list[Span]:
    """Return the spans of the requirements, images and indexes of torch, and of the variables in them."""
    found = [
        *environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES, *COMPANIONS),
        *environment.find_references(Sort.IMAGE),
        *environment.find_references(Sort.INDEX),
    ]
    return [span for one in found for span in (one.span, *(piece.span for piece in one.value.pieces))]


def find_comments(view: str, spans: list[Span]) -> Iterator[Span]:
    """Yield the comments at the end of the lines of some spans, and directly above them."""
    seen: set[int] = set()
    for span in spans:
        start = view.rfind("\n", 0, span.start) + 1
        end = (view + "\n").index("\n", span.start)
        if start not in seen and (beside := _TRAILING.search(view[start:end].rstrip("\r"))):
            yield Span(start + beside.start(), start + beside.end())
        seen.add(start)
        while start and start - 1 not in seen:
            above = view.rfind("\n", 0, start - 1) + 1
            line = view[above : start - 1]
            if _COMMENT_LINE.match(line):
                yield Span(above, start - 1)
            elif not line.rstrip().endswith(("\\", "^")):
                break
            seen.add(start - 1)
            start = above


def create_comment_edits(view: str, environment: Environment, chosen: TorchBuild) -> Iterator[Edit]:
    """Yield the edits of the comments beside and above what moves that name the present build or torch."""
    pins = find_references_in([environment], Sort.REQUIREMENT, *TORCH_NAMES)
    clauses = [clause for one in pins for clause in parse_clauses(one) if clause.is_exact]
    variants = {clause.local for clause in clauses if clause.local.startswith("cu")}
    variants |= {tag.name for one in environment.find_references(Sort.INDEX) if (tag := find_cuda_tag(one))}
    new: dict[str, str] = {}
    for variant in variants - {chosen.variant} if chosen.cuda else ():
        new[rf"(?<![A-Za-z0-9]){variant}(?![0-9])"] = chosen.variant
        cuda = re.escape(parse_variant_cuda(variant))
        new[rf"(?i:(?<=cuda )|(?<=cuda-)|(?<=cuda)){cuda}(?![0-9]|\.[0-9])"] = chosen.cuda or ""
    for clause in clauses:
        new[
            rf"(?i:(?<=torch )|(?<=torch-)|(?<=torch==)){re.escape(clause.public_version)}(?![0-9]|\.[0-9])"
        ] = chosen.version
    for span in find_comments(view, find_torch_spans(environment)):
        for pattern, text in new.items():
            for match in re.finditer(pattern, view[span.start : span.end]):
                yield Edit(span.start + match.start(), span.start + match.end(), text)
