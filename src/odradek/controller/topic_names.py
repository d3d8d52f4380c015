"""Which names a topic may have."""

import re

from odradek.metadata.image import Image, metric_name
from odradek.model.errors import InvalidTopic

METADATA_TOPIC = "__cluster_metadata"
LENGTH_MAX = 249
"""With a dash and a partition's number, it still is the name of a directory."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_name(name: str) -> None:
    """Raises InvalidTopic."""
    if not name:
        raise InvalidTopic("a topic's name cannot be empty")
    if name in (".", ".."):
        raise InvalidTopic(f"a topic's name cannot be {name!r}")
    if len(name) > LENGTH_MAX:
        raise InvalidTopic(f"a topic's name has at most {LENGTH_MAX} characters, not {len(name)}: {name!r}")
    if not _LEGAL.fullmatch(name):
        raise InvalidTopic(f"{name!r} has characters other than ASCII letters, digits, '.', '_' and '-'")


def colliding(image: Image, name: str) -> str | None:
    """A topic whose name differs in nothing but dots and underscores, which names of metrics do not tell apart."""
    unified = metric_name(name)
    return None if unified is None else image.topics.by_metric_name.get(unified)
