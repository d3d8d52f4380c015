"""A broker's life, as the controller is told of it."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from odradek.broker.lifecycle import BrokerLifecycle, Incarnation
from odradek.broker.refusal import ControllerRefused
from odradek.controller.controller_request_context import ControllerRequestContext
from odradek.metadata.image import Endpoint
from odradek.model.error_code import ErrorCode
from odradek.model.errors import StorageFailed
from odradek.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from odradek.wire.schema import Message

ME = Incarnation(
    broker_id=1,
    cluster_id="cluster",
    id=b"i" * 16,
    endpoints={"PLAINTEXT": Endpoint("h", 9092)},
    directories=(b"d" * 16,),
)


class Controller:
    """Answers as the test says, one after the other."""

    def __init__(self, *responses: Message) -> None:
        self._responses = list(responses)
        self.asked: list[Any] = []

    async def ask(self, request: Message, _context: ControllerRequestContext) -> Message:
        self.asked.append(request)
        return self._responses.pop(0)


def play(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 10))


def test_from_the_registration_to_the_end() -> None:
    beat = BrokerHeartbeatResponse(is_fenced=False)
    last = BrokerHeartbeatResponse(should_shut_down=True)
    controller = Controller(BrokerRegistrationResponse(broker_epoch=77), beat, beat, last)
    lifecycle = BrokerLifecycle(controller, ME)

    async def story() -> None:
        assert await lifecycle.register() == 77
        lifecycle.cordoned = (b"d" * 16,)
        await lifecycle.unfence(80)
        await lifecycle.shut_down(90)

    play(story())
    registered, unfenced, *stopping = controller.asked
    assert isinstance(registered, BrokerRegistrationRequest)
    assert (registered.cluster_id, registered.incarnation_id, registered.log_dirs) == (
        "cluster",
        b"i" * 16,
        (b"d" * 16,),
    )
    assert isinstance(unfenced, BrokerHeartbeatRequest)
    assert (unfenced.broker_epoch, unfenced.current_metadata_offset, unfenced.want_fence) == (77, 80, False)
    assert unfenced.cordoned_log_dirs == (b"d" * 16,)
    assert [each.want_shut_down for each in stopping] == [True, True], "until it may"


@pytest.mark.parametrize("code", [ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.DUPLICATE_BROKER_REGISTRATION])
def test_a_registration_that_is_refused(code: ErrorCode) -> None:
    async def story() -> None:
        with pytest.raises(ControllerRefused) as refused:
            await BrokerLifecycle(Controller(BrokerRegistrationResponse(error_code=code)), ME).register()
        assert refused.value.code == code

    play(story())


def test_a_broker_that_was_unregistered_just_stops() -> None:
    gone = BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)

    async def story() -> None:
        lifecycle = BrokerLifecycle(Controller(gone, gone), ME)
        await lifecycle.report(90)
        await lifecycle.shut_down(90)

    play(story())


def test_a_metadata_log_that_failed() -> None:
    failed = BrokerHeartbeatResponse(error_code=ErrorCode.KAFKA_STORAGE_ERROR)

    async def story() -> None:
        lifecycle = BrokerLifecycle(Controller(failed, failed), ME)
        for stopping in (lifecycle.unfence(90), lifecycle.shut_down(90)):
            with pytest.raises(StorageFailed):
                await stopping

    play(story())
