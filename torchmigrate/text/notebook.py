"""Notebooks: the code cells of an ``.ipynb`` file as one Python text, and edits written back into its JSON.

What IPython adds to Python (magics, shell lines, help) is masked byte for byte by harmless Python, so that every
offset means the same in the text and in the cells (`torchmigrate.text.ipython_masks`).
"""

from __future__ import annotations

import ast
import codecs
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

from torchmigrate.model.findings import Edit, Location, Span
from torchmigrate.text.ipython_masks import mask_cell
from torchmigrate.text.notebook_json import CodeCell, escapes_non_ascii, parse_code_cells, patch_cell
from torchmigrate.text.source_text import SourceError, SourceText
from torchmigrate.text.text_edits import render_edit, sort_edits


class Notebook(SourceText):
    """The code cells of a notebook, each followed by a line end, as one text.

    ``original`` is ``text`` before masking, of the same length. ``masks`` are the spans that belong to
    IPython and not to Python: no edit may touch them.
    """

    def __init__(
        self, path: str, raw: bytes, original: bytes, text: bytes, cells: list[CodeCell], masks: list[Span]
    ) -> None:
        super().__init__(path, raw, text, bom=raw.startswith(codecs.BOM_UTF8))
        self.original = original
        self.masks = masks
        self._cells = cells
        self._cell_starts = [cell.start for cell in cells]

    @classmethod
    def parse_notebook(cls, path: str, data: bytes) -> Notebook:
        """Parse the notebook at ``path`` with the content ``data``.

        A notebook for another language than Python has no text. Raises SourceError if ``data`` is no notebook.
        """
        try:
            document = data.decode("utf-8-sig")
            json.loads(document)
            found = list(parse_code_cells(document))
        except UnicodeDecodeError as error:
            raise SourceError(f"not a notebook: not valid UTF-8 at byte {error.start}") from None
        except json.JSONDecodeError as error:
            raise SourceError(f"not a notebook: {error.msg}", error.lineno, error.colno) from None
        except RecursionError:
            raise SourceError("not a notebook: nested too deeply") from None
        except ValueError as error:
            raise SourceError(f"not a notebook: {error}") from None
        originals: list[bytes] = []
        texts: list[bytes] = []
        cells: list[CodeCell] = []
        masks: list[Span] = []
        start = 0
        for number, literals, is_list in found:
            try:
                original = "".join(literal.value for literal in literals).encode()
            except UnicodeEncodeError:
                raise SourceError("a lone surrogate, which is not a character", cell=number) from None
            text, spans = mask_cell(original)
            masks += [Span(span.start + start, span.end + start) for span in spans]
            cells.append(CodeCell(number, literals, is_list, start, start + len(text)))
            originals += original, b"\n"
            texts += text, b"\n"
            start += len(text) + 1
        return cls(path, data, b"".join(originals), b"".join(texts), cells, masks)

    @cached_property
    def syntax_tree(self) -> ast.Module:
        """The tree as `SourceText.syntax_tree` returns it. Each cell must parse alone: two broken ones may well make one text that parses."""
        for cell in self._cells:
            self._check_cells(cell)
        return super().syntax_tree

    def _check_cells(self, cell: CodeCell) -> None:
        try:
            SourceText(self.path, b"", self.text[cell.start : cell.end]).syntax_tree  # noqa: B018
        except SourceError as error:
            raise SourceError(error.message, error.line, error.column, cell.number) from None

    def list_cells(self) -> list[tuple[int, bytes]]:
        """Return the code cells: the offset of each in the text, and its code as its author wrote it."""
        return [(cell.start, self.original[cell.start : cell.end]) for cell in self._cells]

    def _find_cell(self, offset: int) -> CodeCell:
        return self._cells[bisect_right(self._cell_starts, offset) - 1]

    def locate_span(self, span: Span) -> Location:
        """Return the position of ``span`` as `SourceText.locate_span` does; ``cell`` counts all cells from 1, and lines count from the
        cell's first."""
        plain = super().locate_span(span)
        if not self._cells:
            return plain
        cell = self._find_cell(span.start)
        above = self.line_of(cell.start) - 1
        return Location(
            plain.line - above, plain.column, plain.end_line - above, plain.end_column, cell.number
        )

    def full_line_span(self, offset: int) -> Span:
        line = super().full_line_span(offset)
        return Span(line.start, min(line.end, self._find_cell(offset).end)) if self._cells else line

    def apply_edits(self, edits: Iterable[Edit]) -> bytes:
        """Return the file with ``edits`` applied inside the JSON strings of its cells; every other byte stays.

        Raises SourceError if an edit touches IPython syntax or spans two cells.
        """
        return self._write_document(edits, commands=False)

    def is_ipython_line(self, edit: Edit) -> bool:
        """Return whether an edit lies in one of the lines that are IPython's."""
        return any(mask.start <= edit.start and edit.end <= mask.end for mask in self.masks)

    def replace_commands(self, edits: Iterable[Edit]) -> bytes:
        """Return the file as `apply_edits` does, for edits in lines that are IPython's. Raises SourceError for any other
        edit."""
        return self._write_document(edits, commands=True)

    def _write_document(self, edits: Iterable[Edit], *, commands: bool) -> bytes:
        bom = codecs.BOM_UTF8 if self.bom else b""
        document = self.raw[len(bom) :].decode()
        escape = escapes_non_ascii(document)
        parts: list[str] = []
        done = 0
        for start, end, text in self._create_patches(document, sort_edits(edits), escape, commands):
            parts += document[done:start], text
            done = end
        parts.append(document[done:])
        return bom + "".join(parts).encode()

    def _create_patches(
        self, document: str, edits: list[Edit], ensure_ascii: bool, commands: bool
    ) -> Iterator[tuple[int, int, str]]:
        """Yield ``edits`` as replacements of ranges of ``document``, in order."""
        for edit in _merge_adjacent(edits):
            cell = self._find_edited_cell(edit, commands)
            text = render_edit(self.original, edit).decode()
            yield patch_cell(
                document, cell, edit.start - cell.start, edit.end - cell.start, text, ensure_ascii
            )

    def _find_edited_cell(self, edit: Edit, commands: bool) -> CodeCell:
        """Return the cell that ``edit`` changes. Raises SourceError where it must not."""
        cell = self._find_cell(edit.start) if self._cells else None
        if cell is None or not cell.literals:
            raise self._create_refusal("there is no code to edit", edit)
        if edit.end > cell.end:
            raise self._create_refusal("an edit spans two cells", edit)
        if commands:
            if not self.is_ipython_line(edit):
                raise self._create_refusal("an edit of a command reaches beyond it", edit)
            return cell
        for mask in self.masks:
            if mask.start <= edit.end and edit.start <= mask.end and not self._is_inserted_before(edit, mask):
                raise self._create_refusal("an edit touches IPython syntax", edit)
        return cell

    def _is_inserted_before(self, edit: Edit, mask: Span) -> bool:
        """Return whether ``edit`` inserts whole lines before the line of ``mask``, which is allowed unless that is a cell magic."""
        is_cell_magic = self.original[mask.start : mask.end].lstrip().startswith(b"%%")
        return edit.end == mask.start and edit.text.endswith(("\n", "\r")) and not is_cell_magic

    def _create_refusal(self, message: str, edit: Edit) -> SourceError:
        at = self.locate_span(Span(edit.start, edit.start))
        return SourceError(message, at.line, at.column, at.cell)


def _merge_adjacent(edits: list[Edit]) -> list[Edit]:
    """Merge the ordered ``edits`` that touch each other."""
    result: list[Edit] = []
    for edit in edits:
        if result and result[-1].end == edit.start:
            last = result.pop()
            result.append(Edit(last.start, edit.end, last.text + edit.text))
        else:
            result.append(edit)
    return result
