"""Making an empty directory a log directory of a new node, as Kafka's own tool does.

Each directory gets `meta.properties`, with an id of its own, and `bootstrap.checkpoint`, with the levels of features
that the cluster begins with. The voters are static (kraft.version 0): nothing about them is written, and Apache Kafka
takes such a directory over with `controller.quorum.voters=<node id>@<host>:<port>` in its configuration, whatever host
and port are by then. `kafka-storage format --standalone` would write them into the log instead.
"""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from odradek.metadata.bootstrap import feature_records
from odradek.metadata.features import NEW_CLUSTER
from odradek.metadata.uuids import from_text, to_text
from odradek.model.clock import Clock
from odradek.model.errors import InvalidConfig
from odradek.process.files import Files
from odradek.quorum import snapshot_file
from odradek.storage import meta_properties
from odradek.storage.meta_properties import MetaProperties


class Identity(NamedTuple):
    cluster_id: str
    """A uuid as text."""
    node_id: int


IdSource = Callable[[], bytes]
"""Gives uuids that nobody has, as 16 bytes."""


def format_directories(
    files: Files, directories: Sequence[str], identity: Identity, ids: IdSource, clock: Clock
) -> tuple[str, ...]:
    """Directories that are not there are made. Returns those that were formatted.

    Those that belong to the same node already are left as they are, so a crash in between is met by doing it again.
    Raises InvalidConfig where one belongs to another node or cluster, before anything is written.
    """
    try:
        from_text(identity.cluster_id)
    except ValueError as error:
        raise InvalidConfig(f"cluster id: {error}") from None
    if identity.node_id < 0:
        raise InvalidConfig(f"node id {identity.node_id} is below 0")
    new = tuple(path for path in directories if not _is_formatted(files, path, identity))
    for path in new:
        _format(files, path, identity, ids, clock)
    return new


def _is_formatted(files: Files, path: str, identity: Identity) -> bool:
    meta = meta_properties.read(files, path)
    if meta is None:
        return False
    if (meta.cluster_id, meta.node_id) != identity:
        raise InvalidConfig(f"{path} belongs to node {meta.node_id} of cluster {meta.cluster_id}")
    return True


def _format(files: Files, path: str, identity: Identity, ids: IdSource, clock: Clock) -> None:
    if not files.exists(path):
        files.make_dir(path)
        files.sync_dir(os.path.dirname(os.path.abspath(path)))
    records = feature_records()
    level = NEW_CLUSTER["metadata.version"]
    snapshot_file.write_bootstrap(files, path, snapshot_file.pack_bootstrap(records, level, clock.now_ms()))
    # Last: with it the directory counts as formatted.
    meta_properties.write(files, path, MetaProperties(identity.cluster_id, identity.node_id, to_text(ids())))
