"""Aligned columns, which are as wide as what is in them: nothing is cut off."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from odradek.cli.streams import CONTROLS


def table(titles: Sequence[str], rows: Iterable[Sequence[object]], right: Collection[str] = ()) -> Iterator[str]:
    """The lines, the titles first. Columns in `right` end in line. None is a dash, control characters are escaped."""
    cells = [[title.upper() for title in titles], *([_text(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        parts = [
            f"{cell:>{width}}" if title in right else f"{cell:<{width}}"
            for title, cell, width in zip(titles, row, widths, strict=True)
        ]
        yield "  ".join(parts).rstrip()


def _text(cell: object) -> str:
    return "-" if cell is None else str(cell).translate(CONTROLS)
