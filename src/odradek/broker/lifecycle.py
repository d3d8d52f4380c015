"""A broker's life in the cluster: registered, unfenced, and shut down in order, each by a request to the controller."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from odradek.broker.refusal import raise_refusal
from odradek.controller.controller import Controller
from odradek.controller.controller_request_context import ControllerRequestContext
from odradek.metadata.features import SUPPORTED
from odradek.metadata.image import Endpoint
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)

logger = logging.getLogger(__name__)

_REGISTRATION = ControllerRequestContext(version=4)
_HEARTBEAT = ControllerRequestContext(version=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Incarnation:
    """What a broker says of itself when it registers."""

    broker_id: int
    cluster_id: str
    id: bytes
    """Another one each time that it starts."""
    endpoints: Mapping[str, Endpoint]
    """By the name of the listener."""
    directories: tuple[bytes, ...]
    """The ids of its log directories."""
    rack: str | None = None


class BrokerLifecycle:
    def __init__(self, controller: Controller, incarnation: Incarnation) -> None:
        self._controller = controller
        self._incarnation = incarnation
        self.broker_epoch = -1
        """Known when it is registered."""
        self.cordoned: tuple[bytes, ...] | None = None
        """The ids of log directories that take no new replicas, as heartbeats tell them; None while that is unknown."""

    async def register(self) -> int:
        """Returns the broker epoch; the broker is fenced. Raises a BrokerError where it is refused."""
        me = self._incarnation
        request = BrokerRegistrationRequest(
            broker_id=me.broker_id,
            cluster_id=me.cluster_id,
            incarnation_id=me.id,
            listeners=tuple(
                Listener(name=name, host=each.host, port=each.port, security_protocol=each.security_protocol)
                for name, each in me.endpoints.items()
            ),
            features=tuple(
                Feature(name=name, min_supported_version=least, max_supported_version=most)
                for name, (least, most) in SUPPORTED.items()
            ),
            rack=me.rack,
            log_dirs=me.directories,
        )
        response = await self._controller.ask(request, _REGISTRATION)
        assert isinstance(response, BrokerRegistrationResponse)
        raise_refusal(response.error_code)
        self.broker_epoch = response.broker_epoch
        return response.broker_epoch

    async def unfence(self, metadata_offset: int) -> None:
        """The broker has applied the metadata up to an offset, and is ready to lead. Raises a BrokerError."""
        response = await self._beat(metadata_offset)
        raise_refusal(response.error_code)

    async def report(self, metadata_offset: int) -> None:
        """Tell the controller what changed: which log directories are cordoned."""
        response = await self._beat(metadata_offset)
        if response.error_code:  # somebody unregistered the broker; it registers when it starts again
            logger.warning("the controller refused a heartbeat", extra={"code": response.error_code})

    async def shut_down(self, metadata_offset: int) -> None:
        """Returns when the controller lets the broker go, or knows nothing of it. Raises StorageFailed."""
        while True:
            response = await self._beat(metadata_offset, want_shut_down=True)
            if response.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                raise_refusal(response.error_code)
            if response.error_code or response.should_shut_down:
                return
            await asyncio.sleep(0)  # others are to lead first

    async def _beat(self, metadata_offset: int, *, want_shut_down: bool = False) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self._incarnation.broker_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=metadata_offset,
            want_fence=False,
            want_shut_down=want_shut_down,
            cordoned_log_dirs=None if want_shut_down else self.cordoned,
        )
        response = await self._controller.ask(request, _HEARTBEAT)
        assert isinstance(response, BrokerHeartbeatResponse)
        return response
