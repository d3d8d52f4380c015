"""What a task leaves in the transaction of its rows: which batch they were, how many, and their hash.

It is a committed offset: of a group that has the transactional id as its name, at partition 0 of one topic. The offset
is the number of the batch, and the rest is in the metadata. Once the transaction is committed, so is the marker.
"""

import json
from dataclasses import dataclass

from odradek.client.committed import Committed
from odradek.model.numbers import Offset
from odradek.spark.sink.errors import BadMarker

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Marker:
    batch: int
    rows: int
    row_hash: int
    tasks: int | None = None
    """How many tasks the batch had. The driver adds it to the marker of task 0, whose transaction it commits first."""


def to_committed(marker: Marker) -> Committed:
    fields: dict[str, int | str] = {
        "version": _VERSION,
        "rows": marker.rows,
        "hash": f"{marker.row_hash:016x}",
    }
    if marker.tasks is not None:
        fields["tasks"] = marker.tasks
    return Committed(Offset(marker.batch), json.dumps(fields))


def from_committed(committed: Committed, where: str) -> Marker:
    """Raises BadMarker for an offset that no task has committed."""
    try:
        fields = json.loads(committed.metadata)
        if fields["version"] != _VERSION:
            raise BadMarker(f"{where} has a marker of version {fields['version']}: a later release has written it")
        tasks = fields.get("tasks")
        return Marker(
            int(committed.offset), int(fields["rows"]), int(fields["hash"], 16), None if tasks is None else int(tasks)
        )
    except (ValueError, KeyError, TypeError):
        raise BadMarker(
            f"{where} has a committed offset that is no marker; set transactionalIdPrefix to a name of its own"
        ) from None
