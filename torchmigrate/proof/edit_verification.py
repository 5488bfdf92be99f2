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
from torchmigrate.proof.offset_map import OffsetMap
from torchmigrate.proof.tree_comparison import TreeComparison
from torchmigrate.proof.windows import EditWindow, find_windows
from torchmigrate.text.source_text import SourceError, SourceText
from torchmigrate.text.source_tokens import SourceToken, tokenize_source
from torchmigrate.text.suppression_syntax import strip_directives
from torchmigrate.text.text_edits import VerifyError, apply_edits, sort_edits


def verify_edits(before: SourceText, after: SourceText, edits: Iterable[Edit]) -> None:
    """Raise VerifyError unless ``after`` is ``before`` with ``edits`` applied, and nothing else changed its meaning."""
    edits = sort_edits(edits)
    if after.text != apply_edits(before.text, edits) or (before.encoding, before.bom) != (
        after.encoding,
        after.bom,
    ):
        raise VerifyError("the edited file would not parse as intended")
    try:
        for window in find_windows(before, after, edits):
            _verify_window(window)
        _check_compiles(before, after)
    except SourceError as error:
        raise VerifyError(f"the result does not parse: {error.message}") from None
    except RecursionError:
        raise VerifyError("nested too deeply to verify") from None


def _verify_window(window: EditWindow) -> None:
    before, after = window.before, window.after
    shift = OffsetMap(before.text, list(window.edits))
    try:
        old, new = list(tokenize_source(before)), list(tokenize_source(after))
        _compare_tokens(before, old, new, shift)
        comparison = TreeComparison(before, after, shift)
        if node := comparison.find_difference():
            kind = type(node).__name__
            raise _create_error(
                before, comparison.old[node], f"an edit changes the meaning of the enclosing {kind}"
            )
        left = Counter(text for text, _ in _collect_comments(new))
        for text, span in _collect_comments(old):
            if not left[text]:
                raise _create_error(before, span, f"the comment `{text}` would be lost")
            left[text] -= 1
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


def _compare_tokens(
    before: SourceText, old_tokens: list[SourceToken], new_tokens: list[SourceToken], shift: OffsetMap
) -> None:
    all_old = _drop_layout_tokens(old_tokens)
    old = [token for token in all_old if not shift.is_edited(token.span)]
    # The rest of a token that an edit cuts ends (or begins) where the edit's text begins (or ends).
    cut_ends = {image.start for image in _find_cutting_edits(all_old, shift, lambda edit: edit.start)}
    cut_starts = {image.end for image in _find_cutting_edits(all_old, shift, lambda edit: edit.end)}
    new = [
        token
        for token in _drop_layout_tokens(new_tokens)
        if not shift.is_reached(token.span)
        and token.span.end not in cut_ends
        and token.span.start not in cut_starts
    ]
    for i, token in enumerate(old):
        if i >= len(new) or new[i] != token._replace(span=shift.map_span(token.span)):
            raise _create_error(before, token.span, f"an edit also changes the neighboring `{token.text}`")
    if len(new) > len(old):
        raise VerifyError(f"an edit creates the token `{new[len(old)].text}`")


def _drop_layout_tokens(all_tokens: list[SourceToken]) -> list[SourceToken]:
    return [token for token in all_tokens if token.type not in _LAYOUT]


def _find_cutting_edits(old: list[SourceToken], shift: OffsetMap, edge: Callable[[Span], int]) -> list[Span]:
    """Return the new spans of the edits whose ``edge`` is inside a token."""
    starts = [token.span.start for token in old]
    cut = []
    for edit, image in zip(shift.old, shift.new, strict=True):
        at = bisect_left(starts, edge(edit)) - 1  # the last token that begins before
        if at >= 0 and edge(edit) < old[at].span.end:
            cut.append(image)
    return cut


def _collect_comments(all_tokens: list[SourceToken]) -> list[tuple[str, Span]]:
    return [
        (text, token.span)
        for token in all_tokens
        if token.type == tokenize.COMMENT and (text := strip_directives(token.text))
    ]


def _check_compiles(before: SourceText, after: SourceText) -> None:
    """Raise VerifyError if the text compiled before and does not after."""
    # The parser accepts more than the compiler: a late `from __future__`, or a `return` outside of a function.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _compile_source(before)
        except (SyntaxError, ValueError):
            return
        try:
            _compile_source(after)
        except (SyntaxError, ValueError) as error:
            raise VerifyError(f"the result does not compile: {error}") from None


def _compile_source(source: SourceText) -> None:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    compile(source.text.decode(), source.path, "exec", flags=flags, dont_inherit=True)


def _create_error(source: SourceText, span: Span | None, message: str) -> VerifyError:
    if span is None:
        return VerifyError(message)
    location = source.locate_span(span)
    return VerifyError(message, location.line, location.column)
