"""AlterUserScramCredentials, version 0: sets and removes what users prove their passwords with."""

from odradek.broker.call import Call
from odradek.controller import scram
from odradek.controller.scram import Altered, Deletion, Upsertion
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)

VERSIONS = (0, 0)


class AlterUserScramCredentials:
    def __init__(self, metadata: MetadataLog) -> None:
        self._metadata = metadata

    async def handle(self, _call: Call, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
        changes: list[Deletion | Upsertion] = [Deletion(each.name, each.mechanism) for each in request.deletions]
        changes += [
            Upsertion(each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password))
            for each in request.upsertions
        ]
        try:
            altered = await self._metadata.perform(lambda image: scram.alter(image, changes))
        except BrokerError as error:
            altered = tuple(Altered(user, error) for user in dict.fromkeys(each.user for each in changes))
        return AlterUserScramCredentialsResponse(results=tuple(map(_result, altered)))


def _result(altered: Altered) -> AlterUserScramCredentialsResult:
    error = altered.error
    return AlterUserScramCredentialsResult(
        user=altered.user, error_code=error.code if error else 0, error_message=str(error) if error else None
    )
