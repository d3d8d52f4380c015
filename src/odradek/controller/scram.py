"""SCRAM credentials of users: what lets a broker check a password that it does not know.

A client salts the password and sends the result. What is kept of it is two keys that follow from that: the stored key
checks what a user proves, the server key proves to the user who we are (RFC 5802, section 3).
"""

import hashlib
from collections.abc import Sequence
from enum import IntEnum
from hmac import digest
from typing import NamedTuple

from odradek.controller.errors import (
    DuplicateResource,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from odradek.controller.result import ControllerResult
from odradek.metadata.features import SCRAM
from odradek.metadata.image import Image, ScramKey
from odradek.model.errors import BrokerError, UnsupportedVersion
from odradek.wire.records.metadata import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from odradek.wire.schema import Message

ITERATIONS_LEAST, ITERATIONS_MOST = 4_096, 16_384


class Mechanism(IntEnum):
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


_HASHES: dict[int, str] = {Mechanism.SCRAM_SHA_256: "sha256", Mechanism.SCRAM_SHA_512: "sha512"}


class Deletion(NamedTuple):
    user: str
    mechanism: int


class Upsertion(NamedTuple):
    """A credential that takes the place of the one that there is, if there is one."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class Altered(NamedTuple):
    user: str
    error: BrokerError | None


def alter(image: Image, changes: Sequence[Deletion | Upsertion]) -> ControllerResult[tuple[Altered, ...]]:
    """One change for each user. What is wrong with one user is the outcome of that one; the others are done."""
    records: dict[str, Message] = {}
    outcomes: dict[str, BrokerError | None] = {}
    for change in changes:
        if outcomes.get(change.user) is not None:
            continue
        if change.user in outcomes:
            del records[change.user]
            outcomes[change.user] = DuplicateResource(
                f"A user credential cannot be altered twice in one request: {change.user}"
            )
            continue
        try:
            records[change.user] = _record(image, change)
            outcomes[change.user] = None
        except BrokerError as error:
            outcomes[change.user] = error
    return ControllerResult(tuple(records.values()), tuple(Altered(*each) for each in outcomes.items()))


def _record(image: Image, change: Deletion | Upsertion) -> Message:
    if image.metadata_version < SCRAM:
        raise UnsupportedVersion(f"metadata.version {image.metadata_version} has no SCRAM credentials")
    if not change.user:
        raise UnacceptableCredential("Username must not be empty")
    if change.mechanism not in _HASHES:
        raise UnsupportedSaslMechanism(f"Unknown SCRAM mechanism: {change.mechanism}")
    if isinstance(change, Upsertion):
        return _credential(change)
    if ScramKey(change.mechanism, change.user) not in image.scram:
        raise ResourceNotFound(f"User credential to delete does not exist: {change.user}")
    return RemoveUserScramCredentialRecord(name=change.user, mechanism=change.mechanism)


def _credential(change: Upsertion) -> UserScramCredentialRecord:
    if change.iterations < ITERATIONS_LEAST:
        raise UnacceptableCredential(f"Too few iterations: {change.iterations}, at least {ITERATIONS_LEAST}")
    if change.iterations > ITERATIONS_MOST:
        raise UnacceptableCredential(f"Too many iterations: {change.iterations}, at most {ITERATIONS_MOST}")
    if not change.salted_password:
        raise UnacceptableCredential("a credential without a password")
    hashed = _HASHES[change.mechanism]
    client_key = digest(change.salted_password, b"Client Key", hashed)
    return UserScramCredentialRecord(
        name=change.user,
        mechanism=change.mechanism,
        salt=change.salt,
        stored_key=hashlib.new(hashed, client_key).digest(),
        server_key=digest(change.salted_password, b"Server Key", hashed),
        iterations=change.iterations,
    )
