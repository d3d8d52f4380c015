"""Whose directories a node has: read from those that are formatted, and given to new ones."""

import logging
import os
from collections.abc import Sequence
from contextlib import suppress

from odradek.metadata.uuids import to_text
from odradek.process.files import make_dirs
from odradek.process.machine import Machine
from odradek.quorum.formatting import Identity, format_directories
from odradek.storage import meta_properties

logger = logging.getLogger(__name__)


def take_identity(machine: Machine, paths: Sequence[str], node_id: int) -> Identity:
    """That of the directories, of which the first has the metadata log. New ones are formatted, for a new cluster with
    this node in it if all of them are.

    Raises InvalidConfig where they do not belong together, before anything is written, and OSError for the first one.
    Another one that cannot be read or written is left to whoever opens it.
    """
    files, clock, new_uuid = machine.files, machine.clock, machine.new_uuid
    known: dict[str, Identity] = {}
    for path in paths:
        make_dirs(files, os.path.dirname(os.path.abspath(path)))
        with suppress(OSError):
            meta = meta_properties.read(files, path)
            known |= {path: Identity(meta.cluster_id, meta.node_id)} if meta else {}
    identity = next(iter(known.values()), None) or Identity(to_text(new_uuid()), node_id)
    format_directories(files, list(known), identity, new_uuid, clock)  # raises where they do not belong together
    for path in paths:
        try:
            format_directories(files, [path], identity, new_uuid, clock)
        except OSError as error:
            if path == paths[0]:
                raise
            logger.error("a log directory cannot be formatted", extra={"path": path, "reason": str(error)})
    return identity
