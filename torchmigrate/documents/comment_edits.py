"""The edits that keep a comment true: one that only repeats a line's build or version changes with that line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchmigrate.documents.references import Environment
from torchmigrate.documents.upgrade_rules import COMPANIONS, TORCH_NAMES, find_cuda_tag
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.model.findings import Edit, Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables.build_selection import parse_variant_cuda
from torchmigrate.tables.torch_builds import TorchBuild

_COMMENT_LINE = re.compile(r"[ \t]*(?:#|//|;|::|rem\b)", re.IGNORECASE)
_TRAILING = re.compile(r"(?:(?<=[ \t])|^)(?:#|//)[^\"'\r\n]*$")

_LISTED = re.compile(
    r"(?:-[ \t]+)?[\"']?[\w.-]+(?:\[[\w,-]*\])?[ \t]*(?:[=~<>!]?==?|[<>])[ \t]*[\w.+*]+[\"']?,?|--?[\w-]+[ \t=]+https?://\S+"
)
"""A requirement or an index in a comment."""


def is_listed(comment: str) -> bool:
    """Return whether a comment, without its ``#``, is a requirement or an index that is commented out."""
    return _LISTED.fullmatch(comment.strip()) is not None


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


def find_named_variants(environment: Environment) -> set[str]:
    """Return the CUDA builds (``cu121``) that the pins, indexes and images of an environment name."""
    pins = environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES, *COMPANIONS)
    found = {clause.local for one in pins for clause in parse_clauses(one) if clause.local.startswith("cu")}
    found |= {tag.name for one in environment.find_references(Sort.INDEX) if (tag := find_cuda_tag(one))}
    images = (_IMAGE_CUDA.search(one.text) for one in environment.find_references(Sort.IMAGE))
    return found | {f"cu{match[1]}{match[2]}" for match in images if match}


_IMAGE_CUDA = re.compile(r"(?:^|cuda)(1\d)\.(\d)")


def create_comment_edits(
    view: str, environment: Environment, chosen: TorchBuild, edits: Sequence[Edit]
) -> Iterator[Edit]:
    """Yield the edits of the comments that only name the present build or torch, beside and above what ``edits`` change."""
    pins = environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES)
    clauses = [clause for one in pins for clause in parse_clauses(one) if clause.is_exact]
    new: dict[str, str] = {}
    for variant in find_named_variants(environment) - {chosen.variant} if chosen.cuda else ():
        new[rf"(?<![A-Za-z0-9]){variant}(?![0-9])"] = chosen.variant
        cuda = re.escape(parse_variant_cuda(variant))
        new[rf"(?i:(?<=cuda )|(?<=cuda-)|(?<=cuda)){cuda}(?![0-9]|\.[0-9])"] = chosen.cuda or ""
    for clause in clauses:
        version = re.escape(clause.public_version)
        new[rf"(?i:(?<=torch )|(?<=torch-)|(?<=torch==)){version}(?![0-9]|\.[0-9])"] = chosen.version
    changed = [
        span
        for span in find_torch_spans(environment)
        if any(edit.start <= span.end and span.start <= edit.end for edit in edits)
    ]
    for span in find_comments(view, changed):
        if is_listed(view[span.start : span.end].strip(" \t#/")):
            continue  # another choice, with versions of its own
        for pattern, text in new.items():
            for match in re.finditer(pattern, view[span.start : span.end]):
                yield Edit(span.start + match.start(), span.start + match.end(), text)
