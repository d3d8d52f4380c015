"""The topics that a consumer subscribes to, as it tells the leader of its group."""

from struct import Struct
from struct import error as NotEnough

_INT16 = Struct(">h")
_INT32 = Struct(">i")


def topics_in(metadata: bytes) -> list[str] | None:
    """None where this is no subscription.

    In every version the topics come first. What follows them differs, and versions that nobody knows yet are read too.
    """
    try:
        (version,) = _INT16.unpack_from(metadata, 0)
        (count,) = _INT32.unpack_from(metadata, 2)
        if version < 0 or count < 0:
            return None
        at, topics = 6, []
        for _ in range(count):
            (size,) = _INT16.unpack_from(metadata, at)
            at += 2 + size
            if size < 0 or at > len(metadata):
                return None
            topics.append(metadata[at - size : at].decode(errors="replace"))
    except NotEnough:
        return None
    return topics
