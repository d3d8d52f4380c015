"""Uuids as text, the way Kafka writes them into files: 22 characters of URL-safe base64."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

MIGRATING = bytes(16)
"""In place of a log directory's id: the replica is older than such ids."""
UNASSIGNED = bytes(15) + b"\x01"
"""In place of a log directory's id: its broker chooses."""
LOST = bytes(15) + b"\x02"
"""In place of a log directory's id: it is offline."""
METADATA_TOPIC_ID = bytes(15) + b"\x01"

_RESERVED_BELOW = 100
"""Kafka gives no id to a topic or directory whose number is smaller."""


def to_text(uuid: bytes) -> str:
    return urlsafe_b64encode(uuid).rstrip(b"=").decode()


def from_text(text: str) -> bytes:
    """Raises ValueError where the text is no uuid."""
    uuid = urlsafe_b64decode(text + "==")
    if len(uuid) != 16 or to_text(uuid) != text:
        raise ValueError(f"{text[:40]!r} is no uuid")
    return uuid


def is_reserved(uuid: bytes) -> bool:
    return int.from_bytes(uuid, "big") < _RESERVED_BELOW
