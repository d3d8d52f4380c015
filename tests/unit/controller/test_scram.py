"""SCRAM credentials: set, replaced, removed, and refused, a user at a time."""

import hashlib
import hmac
from base64 import b64decode
from typing import Any

import pytest

from odradek.controller import scram
from odradek.controller.errors import (
    DuplicateResource,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from odradek.controller.scram import Deletion, Upsertion
from odradek.metadata.image import ScramKey
from odradek.metadata.replay import image_of
from odradek.metadata.snapshot import records_of
from odradek.model.errors import BrokerError, UnsupportedVersion
from odradek.wire.records.metadata import (
    FeatureLevelRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

SHA_256, SHA_512 = scram.Mechanism


def credential(user: str, mechanism: int = SHA_256, iterations: int = 4096, password: bytes = b"salted") -> Upsertion:
    return Upsertion(user, mechanism, iterations, b"salt", password)


def alter(cluster: Any, *changes: Deletion | Upsertion) -> dict[str, type[BrokerError] | None]:
    altered = cluster.do(scram.alter(cluster.image, changes))
    return {user: error and type(error) for user, error in altered}


def test_what_is_kept_checks_the_proof_of_a_password(cluster: Any) -> None:
    """The conversation that RFC 7677 prints in section 3."""
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    said = f"n=user,r={nonce[:20]},r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}".encode()
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    assert alter(cluster, Upsertion("user", SHA_256, 4096, salt, salted)) == {"user": None}
    kept = cluster.image.scram[ScramKey(SHA_256, "user")]
    assert (kept.salt, kept.iterations) == (salt, 4096)
    signature = hmac.digest(kept.stored_key, said, "sha256")
    proof = b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
    assert hashlib.sha256(client_key).digest() == kept.stored_key
    proven = hmac.digest(kept.server_key, said, "sha256")
    assert proven == b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_user_has_a_credential_for_each_mechanism(cluster: Any) -> None:
    assert alter(cluster, credential("ann"), credential("bob")) == {"ann": None, "bob": None}
    assert alter(cluster, credential("ann", SHA_512, 8192)) == {"ann": None}
    assert {key: kept.iterations for key, kept in cluster.image.scram.items()} == {
        ScramKey(SHA_256, "ann"): 4096,
        ScramKey(SHA_256, "bob"): 4096,
        ScramKey(SHA_512, "ann"): 8192,
    }
    assert [len(cluster.image.scram[ScramKey(each, "ann")].stored_key) for each in scram.Mechanism] == [32, 64]
    assert alter(cluster, credential("ann", SHA_512, 16384)) == {"ann": None}, "replaced"
    assert cluster.image.scram[ScramKey(SHA_512, "ann")].iterations == 16384


def test_deletions_and_upsertions_go_together(cluster: Any) -> None:
    alter(cluster, credential("ann"), credential("bob"))
    decision = scram.alter(cluster.image, [Deletion("ann", SHA_256), credential("cid")])
    assert [type(record) for record in decision.records] == [RemoveUserScramCredentialRecord, UserScramCredentialRecord]
    cluster.do(decision)
    assert {key.user for key in cluster.image.scram} == {"bob", "cid"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (credential(""), UnacceptableCredential),
        (credential("ann", iterations=4095), UnacceptableCredential),
        (credential("ann", iterations=16385), UnacceptableCredential),
        (credential("ann", iterations=-1), UnacceptableCredential),
        (credential("ann", password=b""), UnacceptableCredential),
        (credential("ann", 0), UnsupportedSaslMechanism),
        (credential("ann", 3), UnsupportedSaslMechanism),
        (Deletion("", SHA_256), UnacceptableCredential),
        (Deletion("ann", -1), UnsupportedSaslMechanism),
        (Deletion("ann", SHA_256), ResourceNotFound),
        (Deletion("bob", SHA_512), ResourceNotFound),
    ],
)
def test_what_is_wrong_with_one_user_is_the_outcome_of_that_one(
    cluster: Any, change: Deletion | Upsertion, expected: type[BrokerError]
) -> None:
    alter(cluster, credential("bob"))
    assert alter(cluster, change, credential("dan")) == {change.user: expected, "dan": None}
    assert {key.user for key in cluster.image.scram} == {"bob", "dan"}


@pytest.mark.parametrize(
    "second", [credential("ann"), credential("ann", SHA_512), credential("ann", 0)], ids=["same", "other", "unknown"]
)
def test_a_user_is_changed_once_in_a_request(cluster: Any, second: Upsertion) -> None:
    alter(cluster, credential("ann", iterations=5000))
    for first in (credential("ann"), Deletion("ann", SHA_256)):
        assert alter(cluster, first, second, credential("bob")) == {"ann": DuplicateResource, "bob": None}
        assert cluster.image.scram[ScramKey(SHA_256, "ann")].iterations == 5000


def test_the_first_error_of_a_user_stays(cluster: Any) -> None:
    assert alter(cluster, Deletion("ann", SHA_256), credential("ann")) == {"ann": ResourceNotFound}
    assert cluster.image.scram == {}


def test_a_cluster_of_an_older_level_has_none(make_cluster: Any) -> None:
    cluster = make_cluster(1)
    cluster.write(FeatureLevelRecord(name="metadata.version", feature_level=10))
    assert alter(cluster, credential("ann"), Deletion("bob", SHA_256)) == {
        "ann": UnsupportedVersion,
        "bob": UnsupportedVersion,
    }


def test_a_snapshot_has_them(cluster: Any) -> None:
    alter(cluster, credential("ann"), credential("bob", SHA_512))
    again = image_of(records_of(cluster.image), cluster.image.position)
    assert again.scram == cluster.image.scram
    assert len(again.scram) == 2
