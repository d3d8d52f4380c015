"""A type for each kind of number, so that an offset is never taken for a file position."""

from typing import NewType

Offset = NewType("Offset", int)
"""Counts records in a partition."""

FilePos = NewType("FilePos", int)
"""Counts bytes in a segment file."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""Rises by one each time a partition gets a leader; -1 where there is none."""

ProducerId = NewType("ProducerId", int)
"""Names an idempotent or transactional producer; -1 where there is none."""

TimestampMs = NewType("TimestampMs", int)
"""Milliseconds since 1970; -1 where there is none."""

NO_OFFSET = Offset(-1)
NO_LEADER_EPOCH = LeaderEpoch(-1)
NO_PRODUCER_ID = ProducerId(-1)
NO_TIMESTAMP = TimestampMs(-1)
