"""The user's answers to which fixes are wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchmigrate.model.findings import Edit, Finding, Span
from torchmigrate.proof.offset_map import OffsetMap


class FixChoice:
    """Asks about each fix once, although it comes up again in each round and pass."""

    def __init__(
        self, choose: Callable[[Finding], bool] | None, see: Callable[[bytes], None] | None = None
    ) -> None:
        self._choose = choose
        self._see = see
        self._answers: dict[str, dict[tuple[str, Span | None], bool]] = {}
        """The answers by path, each at the place of its finding after all fixes so far."""
        self._begun: dict[str, dict[tuple[str, Span | None], bool]] = {}
        """The answers by path at the beginning of the pass."""
        self._unmoved: set[str] = set()

    def begin_pass(self) -> None:
        """Begin a pass over all files."""
        self._begun = {}

    def reset_file(self, path: str) -> None:
        """Restore the answers for a file whose content is again as it was at the beginning of the pass."""
        begun = self._begun.setdefault(path, dict(self._answers.get(path, {})))
        self._answers[path] = dict(begun)
        self._unmoved.add(path)

    def __call__(self, finding: Finding, text: bytes) -> bool:
        """Return whether to apply the fix of a finding, whose edits are for ``text``."""
        if self._choose is None:
            return True
        answers = self._answers.setdefault(finding.path, {})
        key = (finding.code, finding.span)
        if key not in answers:
            if self._see is not None:
                self._see(text)
            answers[key] = self._choose(finding)
            if finding.path in self._unmoved:
                self._begun[finding.path][key] = answers[key]
        return answers[key]

    def shift_answers(self, path: str, text: bytes, edits: list[Edit], applied: Sequence[Finding]) -> None:
        """Adapt the answers for a file to the ``edits`` that were made in its ``text`` for the findings ``applied``."""
        answers = self._answers.get(path)
        self._unmoved.discard(path)
        if answers:
            shift = OffsetMap(text, edits)
            done = {(finding.code, finding.span) for finding in applied}
            self._answers[path] = {
                (code, shift.map_span(span)): answer
                for (code, span), answer in answers.items()
                if span is not None and (code, span) not in done
            }
