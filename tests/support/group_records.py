"""What a coordinator wrote of a group, read from a broker of either make."""

from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS
from support.same_answers import SETTINGS, Asker

Record = tuple[Message, Message | None]

_OF_OFFSETS = (0, 1)


async def records_of(ask: Asker, group_id: str) -> list[Record]:
    """All but offsets, in their order."""
    found: list[Record] = []
    for partition in range(int(SETTINGS["offsets.topic.num.partitions"])):
        for record in await ask.stored("__consumer_offsets", partition):
            key = CONSUMER_OFFSETS.read_key(record.key or b"")
            named = getattr(key, "group_id", None) or getattr(key, "group", None)
            if named == group_id and key.spec.key not in _OF_OFFSETS:
                value = None if record.value is None else CONSUMER_OFFSETS.read_value(key, record.value)[0]
                found.append((key, value))
    return found
