"""SCRAM credentials of users, with the answers of Apache Kafka, and with the records that it keeps."""

import pytest

from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from support.same_answers import Asker, Case, Level, Side, differences

SHA_256, SHA_512 = 1, 2


def credential(
    name: str, mechanism: int = SHA_256, iterations: int = 4096, salted: bytes = b"s" * 32, salt: bytes = b"salt"
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted
    )


async def change(ask: Asker, *upsertions: ScramCredentialUpsertion, without: tuple[tuple[str, int], ...] = ()) -> None:
    deletions = tuple(ScramCredentialDeletion(name=name, mechanism=mechanism) for name, mechanism in without)
    await ask(AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions))
    await ask.settle()


async def describe(ask: Asker, *users: str) -> None:
    await ask(DescribeUserScramCredentialsRequest(users=tuple(UserName(name=user) for user in users)))


async def credentials(ask: Asker) -> None:
    ann, bob, cid = map(ask.name, ("ann", "bob", "cid"))
    await describe(ask, ann)
    await change(ask, credential(ann), credential(bob, SHA_512, 8192))
    await change(ask, credential(ann, SHA_512, 16384))
    await describe(ask, ann, bob, cid)
    await describe(ask, ann, bob, ann)
    await describe(ask, ann, ann, ann)
    await describe(ask, "", ann)
    await change(ask, credential(ann, SHA_512, 5000, b"x", b""))
    await change(ask, credential(cid), without=((ann, SHA_256),))
    await describe(ask, ann, bob, cid)
    await change(ask, without=((ann, SHA_256),))
    await change(ask, without=((ann, SHA_512), (bob, SHA_512), (cid, SHA_256)))
    await describe(ask, ann, bob, cid)


async def all_users(ask: Asker) -> None:
    """Without users to look for, by null or by an empty list."""
    await change(ask, credential("one-of-all"), credential("another-of-all", SHA_512))
    await ask(DescribeUserScramCredentialsRequest(users=None))
    await describe(ask)
    await change(ask, without=(("one-of-all", SHA_256), ("another-of-all", SHA_512)))
    await describe(ask)


async def bad_credentials(ask: Asker) -> None:
    ann, bob = map(ask.name, ("bad-ann", "bad-bob"))
    await change(ask, credential(bob, iterations=5000))
    for bad in (
        credential(""),
        credential(ann, iterations=4095),
        credential(ann, iterations=16385),
        credential(ann, iterations=0),
        credential(ann, iterations=-1),
        credential(ann, 0),
        credential(ann, 3),
        credential(ann, -1),
        credential("", 7, 1),
        credential(ann, 7, 1),
    ):
        await change(ask, bad)
        await change(ask, bad, credential(bob, SHA_512))
    for gone in ((ann, SHA_256), (bob, SHA_512 + 1), ("", SHA_256), (ann, 0)):
        await change(ask, without=(gone,))
        await change(ask, credential(bob, SHA_512), without=(gone,))
    await change(ask)
    await describe(ask, ann, bob)


async def users_named_twice(ask: Asker) -> None:
    ann, bob = map(ask.name, ("twice-ann", "twice-bob"))
    await change(ask, credential(ann, iterations=5000))
    for upsertions, without in (
        ([credential(ann), credential(ann)], ()),
        ([credential(ann), credential(ann, SHA_512)], ()),
        ([credential(ann), credential(ann), credential(ann)], ()),
        ([credential(ann)], ((ann, SHA_256),)),
        ([credential(bob)], ((ann, SHA_256), (ann, SHA_256))),
        ([credential(ann, 0), credential(ann)], ()),
        ([credential(ann), credential(ann, 0)], ()),
        ([credential(bob, SHA_512)], ((bob, SHA_512),)),
    ):
        await change(ask, *upsertions, without=without)
        await describe(ask, ann, bob)


CASES: list[Case] = [credentials, all_users, bad_credentials, users_named_twice]


@pytest.mark.parametrize("level", [Level.LOWEST, Level.HIGHEST], ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
