"""The proof that edits changed what they cover and nothing else.

There are three comparisons of the text before and after, which complement each other:

* **Tokens.** Every token that no edit touches, comments included, exists afterwards at its shifted position. So
  nothing was joined, swallowed by a string, or turned into a comment.
* **Tree.** Each edit opens one *hole* in the tree before: the smallest node around it. Every other node has the same
  type and fields as before, so code around an edit cannot be regrouped (``f(a + b) * c`` → ``a + b * c``),
  re-indented, or merged. A hole may become anything, but its children that no edit touches must exist afterwards, as
  whole nodes at their shifted positions. Elements of a list (statements, arguments, …) may be added or removed only
  inside an edit.
* **Comments.** All comments survive, though they may move inside an edit; only this tool's own directives may go.

The meaning of an edit's own text is the responsibility of the rule.
"""

from __future__ import annotations

import ast
import tokenize
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable

from torchmigrate.model.findings import Edit, Span
from torchmigrate.proof.offsets import Shift
from torchmigrate.proof.regions import Window, windows
from torchmigrate.proof.trees import TreeComparison
from torchmigrate.text.directives import without_directives
from torchmigrate.text.edits import VerifyError, apply, ordered
from torchmigrate.text.source import Source, SourceError
from torchmigrate.text.tokens import Token, tokens


def verify(before: Source, after: Source, edits: Iterable[Edit]) -> None:
    """Raise VerifyError unless ``after`` is ``before`` with ``edits`` applied, and nothing else changed its meaning."""
    edits = ordered(edits)
    if after.text != apply(before.text, edits) or (before.encoding, before.bom) != (
        after.encoding,
        after.bom,
    ):
        raise VerifyError("the file would not be read back as intended")
    try:
        for window in windows(before, after, edits):
            _verify_window(window)
        _check_compiles(before, after)
    except SourceError as error:
        raise VerifyError(f"the result does not parse: {error.message}") from None
    except RecursionError:
        raise VerifyError("nested too deeply to verify") from None


def _verify_window(window: Window) -> None:
    before, after = window.before, window.after
    shift = Shift(before.text, list(window.edits))
    try:
        old, new = list(tokens(before)), list(tokens(after))
        _compare_tokens(before, old, new, shift)
        _compare_trees(before, after, shift)
        _compare_comments(before, old, new)
    except VerifyError as error:
        line = error.line and error.line + window.first_line - 1
        raise VerifyError(error.message, line, error.column) from None


_LAYOUT = {
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    # Python 3.12 reports wrong ends where a brace is doubled; these texts are compared in the tree.
    getattr(tokenize, "FSTRING_MIDDLE", tokenize.NL),
    getattr(tokenize, "TSTRING_MIDDLE", tokenize.NL),
}


def _compare_tokens(before: Source, old_tokens: list[Token], new_tokens: list[Token], shift: Shift) -> None:
    all_old = _significant(old_tokens)
    old = [token for token in all_old if not shift.touches(token.span)]
    # The rest of a token that an edit cuts ends (or begins) where the edit's text begins (or ends).
    cut_ends = {image.start for image in _images_that_cut(all_old, shift, lambda edit: edit.start)}
    cut_starts = {image.end for image in _images_that_cut(all_old, shift, lambda edit: edit.end)}
    new = [
        token
        for token in _significant(new_tokens)
        if not shift.reaches(token.span)
        and token.span.end not in cut_ends
        and token.span.start not in cut_starts
    ]
    for i, token in enumerate(old):
        if i >= len(new) or new[i] != token._replace(span=shift.moved(token.span)):
            raise _error(before, token.span, f"an edit also changes the neighboring `{token.text}`")
    if len(new) > len(old):
        raise VerifyError(f"an edit creates the token `{new[len(old)].text}`")


def _significant(all_tokens: list[Token]) -> list[Token]:
    return [token for token in all_tokens if token.type not in _LAYOUT]


def _images_that_cut(old: list[Token], shift: Shift, edge: Callable[[Span], int]) -> list[Span]:
    """Return the new spans of the edits whose ``edge`` is inside a token."""
    starts = [token.span.start for token in old]
    cut = []
    for edit, image in zip(shift.old, shift.new, strict=True):
        at = bisect_left(starts, edge(edit)) - 1  # the last token that begins before
        if at >= 0 and edge(edit) < old[at].span.end:
            cut.append(image)
    return cut


def _comments(all_tokens: list[Token]) -> list[tuple[str, Span]]:
    return [
        (text, token.span)
        for token in all_tokens
        if token.type == tokenize.COMMENT and (text := without_directives(token.text))
    ]


def _compare_comments(before: Source, old_tokens: list[Token], new_tokens: list[Token]) -> None:
    left = Counter(text for text, _ in _comments(new_tokens))
    for text, span in _comments(old_tokens):
        if not left[text]:
            raise _error(before, span, f"the comment `{text}` would be lost")
        left[text] -= 1


def _compare_trees(before: Source, after: Source, shift: Shift) -> None:
    comparison = TreeComparison(before, after, shift)
    if node := comparison.difference():
        kind = type(node).__name__
        raise _error(before, comparison.old[node], f"an edit changes the meaning of the enclosing {kind}")


def _check_compiles(before: Source, after: Source) -> None:
    """Raise VerifyError if the text compiled before and does not after."""
    # The parser accepts more than the compiler: a late `from __future__`, or a `return` outside of a function.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _compile(before)
        except (SyntaxError, ValueError):
            return
        try:
            _compile(after)
        except (SyntaxError, ValueError) as error:
            raise VerifyError(f"the result does not compile: {error}") from None


def _compile(source: Source) -> None:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    compile(source.text.decode(), source.path, "exec", flags=flags, dont_inherit=True)


def _error(source: Source, span: Span | None, message: str) -> VerifyError:
    if span is None:
        return VerifyError(message)
    location = source.location(span)
    return VerifyError(message, location.line, location.column)
