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
        raise InvalidTopic("Topic name is invalid: the empty string is not allowed")
    if name in (".", ".."):
        raise InvalidTopic(f"Topic name is invalid: {name!r} is not allowed")
    if len(name) > LENGTH_MAX:
        raise InvalidTopic(f"Topic name is invalid: {name!r} is longer than the max allowed length {LENGTH_MAX}")
    if not _LEGAL.fullmatch(name):
        raise InvalidTopic(
            f"Topic name is invalid: {name!r} contains characters other than ASCII alphanumerics, '.', '_' and '-'"
        )


def colliding(image: Image, name: str) -> str | None:
    """A topic whose name differs in nothing but dots and underscores, which names of metrics do not tell apart."""
    unified = metric_name(name)
    return None if unified is None else image.topics.by_metric_name.get(unified)
