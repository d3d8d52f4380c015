"""AlterUserScramCredentials: sets and removes what users prove their passwords with."""

from odradek.controller import scram
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.controller.scram import Altered, Deletion, Upsertion
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)


def decide(
    image: Image, request: AlterUserScramCredentialsRequest, _context: Context
) -> ControllerResult[AlterUserScramCredentialsResponse]:
    result = scram.alter(image, _changes(request))
    results = tuple(map(_result, result.response))
    return ControllerResult(result.records, AlterUserScramCredentialsResponse(results=results))


def refuse(request: AlterUserScramCredentialsRequest, error: BrokerError) -> AlterUserScramCredentialsResponse:
    users = dict.fromkeys(each.user for each in _changes(request))
    return AlterUserScramCredentialsResponse(results=tuple(_result(Altered(user, error)) for user in users))


def _changes(request: AlterUserScramCredentialsRequest) -> list[Deletion | Upsertion]:
    changes: list[Deletion | Upsertion] = [Deletion(each.name, each.mechanism) for each in request.deletions]
    changes += [
        Upsertion(each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password))
        for each in request.upsertions
    ]
    return changes


def _result(altered: Altered) -> AlterUserScramCredentialsResult:
    error = altered.error
    return AlterUserScramCredentialsResult(
        user=altered.user, error_code=error.code if error else 0, error_message=str(error) if error else None
    )
