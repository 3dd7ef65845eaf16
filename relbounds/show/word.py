"""Tables as Word documents."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relbounds.errors import MissingExtraError
from relbounds.files import check_target, write_whole
from relbounds.show.escaping import visible

if TYPE_CHECKING:
    from relbounds.show.paper_tables import PaperTable

CELL_POINTS, NOTE_POINTS = 9, 8


def write_word(table: PaperTable, path: str | Path) -> Path:
    """Write a table to a Word document (needs the extra ``word``)."""
    try:
        import docx
        from docx.shared import Pt
    except ImportError as error:
        raise MissingExtraError("Word documents need python-docx: pip install 'relbounds[word]'.") from error
    path = check_target(path)
    document = docx.Document()
    if table.caption:
        document.add_paragraph(visible(table.caption), style="Caption")
    _fill(document, table)
    for note in table.notes:
        document.add_paragraph(visible(note)).runs[0].font.size = Pt(NOTE_POINTS)
    with tempfile.SpooledTemporaryFile() as file:
        document.save(file)
        file.seek(0)
        return write_whole(path, file.read())


def _fill(document: Any, table: PaperTable) -> None:
    """Add the grid: heads over several columns, heads, rows."""
    offset = 1 if table.spans else 0
    grid = document.add_table(rows=offset + 1 + len(table.rows), cols=len(table.heads))
    grid.style = "Light List"
    if table.spans:
        at = 1
        for name, n in table.spans:
            _put(grid, table, (0, at), name, bold=True)
            grid.cell(0, at).merge(grid.cell(0, at + n - 1))
            at += n
    for place, head in enumerate(table.heads):
        _put(grid, table, (offset, place), head, bold=True)
    for number, row in enumerate(table.rows, start=offset + 1):
        heading = row.kind in ("head", "part")
        stub = ("   " if row.kind == "inner" else "") + row.stub
        _put(grid, table, (number, 0), stub, italic=heading)
        for place, cell in enumerate(row.cells, start=1):
            _put(grid, table, (number, place), cell)


def _put(grid: Any, table: PaperTable, at: tuple[int, int], text: str, **style: bool) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt

    paragraph = grid.cell(*at).paragraphs[0]
    run = paragraph.add_run(visible(text))
    run.bold, run.italic, run.font.size = (
        style.get("bold", False),
        style.get("italic", False),
        Pt(CELL_POINTS),
    )
    if at[1] and table.numeric[at[1] - 1]:
        paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
