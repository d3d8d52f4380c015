"""What the runtime of coordinators asks of the state that it keeps for a partition."""

from collections.abc import Mapping
from typing import Any, Protocol

from odradek.coordinators.result import CoordinatorResult
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.numbers import NO_PRODUCER_ID, Offset, ProducerId
from odradek.wire.schema import Message


class Shard(Protocol):
    """The state of all keys that belong to one partition. It decides; the runtime does what is decided."""

    def replay(
        self, offset: Offset, key: Message, value: Message | None, producer_id: ProducerId = NO_PRODUCER_ID
    ) -> None:
        """A record that is in the log at this offset; with a producer it counts once its transaction is committed."""
        ...

    def end_transaction(self, producer_id: ProducerId, *, commit: bool) -> None: ...

    def loaded(self) -> CoordinatorResult:
        """All that is in the log was replayed."""
        ...

    def counts(self) -> Mapping[str, int]:
        """How many of what it has, for those who run the broker."""
        ...

    def expired(self, deadline: Any) -> CoordinatorResult:
        """A key of the timers that the shard was made with is due."""
        ...

    def topics_changed(self, delta: Delta, image: Image) -> CoordinatorResult:
        """Told of every change of the metadata."""
        ...
