"""The directories of a demo: what is kept, and what nobody needs when it has ended."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from odradek.demo.children import ChildEnded
from odradek.model.errors import OdradekError


class UsedDirectory(OdradekError):
    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"{directory} is not empty: keep this demo in another directory. "
            f"What an earlier one kept is served by: odradek serve --data {directory / 'data'}"
        )


@dataclass(frozen=True, slots=True)
class Workplace:
    root: Path

    @property
    def data(self) -> Path:
        """Of the broker."""
        return self.root / "data"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def scratch(self) -> Path:
        """For the temporary files of all processes."""
        return self.root / "tmp"


@contextlib.contextmanager
def workplace(keep: Path | None) -> Iterator[Workplace]:
    """Directories that are gone at the end of the block. With `keep`, all but the temporary ones stay there.

    Logs also stay where a child has ended by itself. Raises UsedDirectory.
    """
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        if any(keep.iterdir()):
            raise UsedDirectory(keep)
    place = Workplace(keep.absolute() if keep is not None else Path(tempfile.mkdtemp(prefix="odradek-demo-")))
    place.logs.mkdir()
    place.scratch.mkdir()
    gone = [place.scratch] if keep is not None else [place.root]
    try:
        yield place
    except ChildEnded:
        if keep is None:
            gone = [place.data, place.checkpoints, place.scratch]
        raise
    finally:
        for directory in gone:
            shutil.rmtree(directory, ignore_errors=True)
