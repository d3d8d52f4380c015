"""`partition.metadata` in each partition's directory: the id of the topic that it belongs to."""

import re

from odradek.model.errors import CorruptFile, NewerVersion

_FORM = re.compile(r"version: (\d+)\ntopic_id: ([A-Za-z0-9_-]{22})\n?")


def pack(topic_id: str) -> bytes:
    return f"version: 0\ntopic_id: {topic_id}".encode()


def parse(data: bytes, path: str) -> str:
    """The topic id, 22 characters of URL-safe base64."""
    match = _FORM.fullmatch(data.decode("ascii", "replace"))
    if match is None:
        raise CorruptFile(f"{path}: not of the form 'version: 0', 'topic_id: ...'")
    if match[1] != "0":
        raise NewerVersion(f"{path}: version {match[1]} of partition.metadata is not known")
    return match[2]
