"""UnregisterBroker, version 0: a broker is gone for good. One that still runs leads nothing until it starts anew."""

from odradek.broker.call import Call
from odradek.controller import brokers
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

VERSIONS = (0, 0)


class UnregisterBroker:
    def __init__(self, metadata: MetadataLog) -> None:
        self._metadata = metadata

    async def handle(self, _call: Call, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
        try:
            await self._metadata.perform(lambda image: brokers.unregister(image, request.broker_id))
        except BrokerError as error:
            return UnregisterBrokerResponse(error_code=error.code, error_message=str(error))
        return UnregisterBrokerResponse(error_message="")
