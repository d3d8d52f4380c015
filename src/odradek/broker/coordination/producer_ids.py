"""Producer ids, taken from the controller a block at a time."""

import asyncio
import logging

from odradek.broker.refusal import raise_refusal
from odradek.controller.controller import Controller
from odradek.controller.controller_request_context import ControllerRequestContext
from odradek.coordinators.errors import CoordinatorLoading
from odradek.model.errors import BrokerError
from odradek.model.numbers import ProducerId
from odradek.process.tasks import Tasks
from odradek.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

logger = logging.getLogger(__name__)


class ProducerIds:
    def __init__(self, controller: Controller, broker_id: int, broker_epoch: int, tasks: Tasks) -> None:
        self._controller = controller
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._tasks = tasks
        self._next = self._end = 0
        self._allocating = asyncio.Lock()

    async def take(self) -> ProducerId:
        """One that nobody else ever gets."""
        await self.have_some()
        return self.take_now()

    def take_now(self) -> ProducerId:
        """The same without waiting. Raises CoordinatorLoading where none is at hand; then some will be soon."""
        if self._next == self._end:
            self._tasks.create_task(self._have_some_later(), name="producer-ids")
            raise CoordinatorLoading("producer ids are being asked for")
        taken = ProducerId(self._next)
        self._next += 1
        return taken

    async def have_some(self) -> None:
        """One at least is at hand when this returns. Raises a BrokerError."""
        if self._next == self._end:
            async with self._allocating:
                if self._next == self._end:  # else another one who waited got a block for both
                    await self._allocate()

    async def _have_some_later(self) -> None:
        try:
            await self.have_some()
        except BrokerError as error:
            logger.warning("there are no producer ids", extra={"reason": str(error)})

    async def _allocate(self) -> None:
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch)
        response = await self._controller.ask(request, ControllerRequestContext(version=0))
        assert isinstance(response, AllocateProducerIdsResponse)
        raise_refusal(response.error_code)
        self._next = response.producer_id_start
        self._end = self._next + response.producer_id_len
