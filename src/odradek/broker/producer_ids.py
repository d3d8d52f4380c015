"""Producer ids, taken from the controller a block at a time."""

import asyncio

from odradek.controller import producer_ids
from odradek.model.numbers import ProducerId
from odradek.quorum.metadata_log import MetadataLog


class ProducerIds:
    def __init__(self, metadata: MetadataLog, broker_id: int, broker_epoch: int) -> None:
        self._metadata = metadata
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._next = self._end = 0
        self._allocating = asyncio.Lock()

    async def take(self) -> ProducerId:
        """One that nobody else ever gets."""
        if self._next == self._end:
            async with self._allocating:
                if self._next == self._end:  # else another one who waited got a block for both
                    await self._allocate()
        taken = ProducerId(self._next)
        self._next += 1
        return taken

    async def _allocate(self) -> None:
        block = await self._metadata.perform(
            lambda image: producer_ids.allocate(image, self._broker_id, self._broker_epoch)
        )
        self._next, self._end = block.first, block.first + block.size
