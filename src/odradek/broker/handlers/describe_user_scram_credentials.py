"""DescribeUserScramCredentials, version 0: which credentials users have. Nothing that is secret leaves."""

from collections import Counter

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.controller.errors import DuplicateResource, ResourceNotFound
from odradek.model.errors import BrokerError
from odradek.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

VERSIONS = (0, 0)


class DescribeUserScramCredentials:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, _call: Call, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
        """Without users: all that have a credential."""
        known: dict[str, list[CredentialInfo]] = {}
        for key, record in sorted(self._broker.image.scram.items()):
            info = CredentialInfo(mechanism=key.mechanism, iterations=record.iterations)
            known.setdefault(key.user, []).append(info)
        asked = Counter(user.name for user in request.users) if request.users else Counter(dict.fromkeys(known, 1))
        results = tuple(_result(user, count, known) for user, count in asked.items())
        return DescribeUserScramCredentialsResponse(error_message="", results=results)


def _result(user: str, count: int, known: dict[str, list[CredentialInfo]]) -> DescribeUserScramCredentialsResult:
    try:
        infos = _credentials(user, count, known)
        return DescribeUserScramCredentialsResult(user=user, error_message="", credential_infos=infos)
    except BrokerError as error:
        return DescribeUserScramCredentialsResult(
            user=user, error_code=error.code, error_message=str(error), credential_infos=()
        )


def _credentials(user: str, count: int, known: dict[str, list[CredentialInfo]]) -> tuple[CredentialInfo, ...]:
    if count > 1:
        raise DuplicateResource(f"SCRAM credentials of the same user are asked for twice in one request: {user}")
    if user not in known:
        raise ResourceNotFound(f"User credential to describe does not exist: {user}")
    return tuple(known[user])
