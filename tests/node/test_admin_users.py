"""SCRAM credentials of users: told without what is secret, kept over a restart and a snapshot."""

import asyncio
from pathlib import Path

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from support.raw_client import RawClient
from support.running_node import node_on

SHA_256, SHA_512 = 1, 2
DONE = ErrorCode.NONE


def credential(name: str, mechanism: int = SHA_256, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"salted"
    )


async def alter(
    client: RawClient, *upsertions: ScramCredentialUpsertion, without: tuple[ScramCredentialDeletion, ...] = ()
) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest(deletions=without, upsertions=upsertions)
    answer = await client.ask(request, AlterUserScramCredentialsResponse, 0)
    return {each.user: each.error_code for each in answer.results}


async def describe(client: RawClient, *users: str) -> dict[str, tuple[int, list[tuple[int, int]]]]:
    asked = tuple(UserName(name=user) for user in users) if users else None
    request = DescribeUserScramCredentialsRequest(users=asked)
    answer = await client.ask(request, DescribeUserScramCredentialsResponse, 0)
    assert answer.error_code == DONE
    return {
        each.user: (each.error_code, [(info.mechanism, info.iterations) for info in each.credential_infos])
        for each in answer.results
    }


def test_credentials_are_set_told_and_removed(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            assert await describe(client) == {}
            assert await alter(client, credential("ann"), credential("bob", SHA_512, 8192)) == {"ann": 0, "bob": 0}
            assert await alter(client, credential("ann", SHA_512, 5000)) == {"ann": DONE}
            ann, bob = (DONE, [(SHA_256, 4096), (SHA_512, 5000)]), (DONE, [(SHA_512, 8192)])
            assert await describe(client) == {"ann": ann, "bob": bob}
            assert await describe(client, "bob", "bob", "cid", "ann") == {
                "bob": (ErrorCode.DUPLICATE_RESOURCE, []),
                "cid": (ErrorCode.RESOURCE_NOT_FOUND, []),
                "ann": ann,
            }
        async with node_on(tmp_path) as client:
            assert await describe(client) == {"ann": ann, "bob": bob}
            gone = ScramCredentialDeletion(name="ann", mechanism=SHA_256)
            assert await alter(client, credential("cid"), without=(gone,)) == {"ann": DONE, "cid": DONE}
            assert await alter(client, without=(gone,)) == {"ann": ErrorCode.RESOURCE_NOT_FOUND}
        async with node_on(tmp_path) as client:
            left = {"ann": (DONE, [(SHA_512, 5000)]), "bob": bob, "cid": (DONE, [(SHA_256, 4096)])}
            assert await describe(client) == left

    asyncio.run(main())


def test_one_bad_user_does_not_keep_the_others_out(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            answered = await alter(
                client, credential("ann"), credential("bob", 7), credential("cid", iterations=1), credential("", 1)
            )
            assert answered == {
                "ann": DONE,
                "bob": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
                "cid": ErrorCode.UNACCEPTABLE_CREDENTIAL,
                "": ErrorCode.UNACCEPTABLE_CREDENTIAL,
            }
            assert list(await describe(client)) == ["ann"]

    asyncio.run(main())
