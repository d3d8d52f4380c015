"""quorum-state, byte for byte as Kafka writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.model.errors import CorruptFile, NewerVersion
from odradek.model.numbers import LeaderEpoch
from odradek.quorum.vote_file import Vote, pack, parse

STATIC = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1}],"data_version":0}'
)
DYNAMIC = b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'


def test_static_voters() -> None:
    vote = Vote(LeaderEpoch(2), 1, (1,))
    assert pack(vote, 0) == STATIC
    assert parse(STATIC, "f") == vote


def test_voters_in_the_log() -> None:
    vote = Vote(LeaderEpoch(1), 1)
    assert pack(vote, 1) == DYNAMIC
    assert parse(DYNAMIC, "f") == vote


def test_a_candidate_that_was_killed_leaves_its_vote() -> None:
    assert parse(DYNAMIC.replace(b'"leaderId":1', b'"leaderId":-1'), "f") == Vote(LeaderEpoch(1), -1)


def test_a_newer_version_is_refused() -> None:
    with pytest.raises(NewerVersion):
        parse(DYNAMIC.replace(b'"data_version":1', b'"data_version":2'), "f")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b'{"data_version":1}',
        DYNAMIC.replace(b":1,", b":true,"),
        DYNAMIC.replace(b":1,", b":1e9,"),
    ],
)
def test_other_things_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptFile):
        parse(data, "f")


@given(st.binary(max_size=200) | st.text().map(str.encode))
def test_garbage_raises_one_error(data: bytes) -> None:
    with pytest.raises(CorruptFile):
        parse(data, "f")
