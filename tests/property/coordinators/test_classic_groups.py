"""Whatever members of a classic group do, and whenever: nobody waits for ever, and the log has what they were told."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinators.groups.classic.group import ClassicGroup, State
from odradek.model.broker_config import BrokerConfig
from odradek.wire.messages.join_group import JoinGroupResponse
from odradek.wire.messages.leave_group import MemberIdentity
from support.classic_stage import GROUP, ClassicStage

HOUR_MS = 3_600_000
CONFIG = BrokerConfig(group_max_size=3)


class Act(NamedTuple):
    kind: str
    client: int
    amount: int


ACTS = st.builds(
    Act,
    st.sampled_from(["join", "join", "sync", "sync", "heartbeat", "leave", "advance", "restart", "other-protocols"]),
    st.integers(0, 4),
    st.integers(0, 3),
)


class Client:
    """Does what it is told, and believes what it hears. Every other one is static."""

    def __init__(self, number: int) -> None:
        self.instance_id = f"static-{number}" if number % 2 else None
        self.member_id = ""
        self.generation = -1
        self.waits_for: int | None = None
        self.protocols = {"range": b"", "sticky": b""}

    def hear(self, stage: ClassicStage) -> None:
        answer = stage.answers.get(self.waits_for)
        if isinstance(answer, JoinGroupResponse):
            self.waits_for = None
            self.member_id = answer.member_id
            if not answer.error_code:
                self.generation = answer.generation_id


def perform(stage: ClassicStage, client: Client, act: Act) -> None:
    if act.kind == "join":
        fields = {"instance_id": client.instance_id, "protocols": client.protocols}
        client.waits_for = stage.join(client.member_id, **fields)  # type: ignore[arg-type]
    elif act.kind == "sync":
        group = stage.groups.get(GROUP)
        members = group.members if isinstance(group, ClassicGroup) else {}
        given_out = {member_id: f"{client.generation} {member_id}".encode() for member_id in members}
        stage.sync(client.member_id, client.generation, given_out, version=4, group_instance_id=client.instance_id)
    elif act.kind == "heartbeat":
        stage.heartbeat(client.member_id, client.generation, client.instance_id)
    elif act.kind == "leave":
        stage.leave(MemberIdentity(member_id=client.member_id, group_instance_id=client.instance_id))
    elif act.kind == "other-protocols":
        client.protocols = {"sticky": b"x" * act.amount} | ({"range": b""} if act.amount % 2 else {})
    else:
        stage.advance(4000 * act.amount)


def recorded(group: ClassicGroup) -> object:
    """What a record of the group says."""
    members = [(each.member_id, each.instance_id, each.assignment) for each in group.members.values()]
    return group.state, group.generation, group.protocol_type, group.protocol, group.leader, members


def check(stage: ClassicStage) -> None:
    group = stage.groups.get(GROUP)
    if not isinstance(group, ClassicGroup):
        return
    assert (group.leader in group.members) if group.members else group.leader is None
    assert group.static == {each.instance_id: each.member_id for each in group.members.values() if each.instance_id}
    assert group.unsynced <= group.members.keys()
    assert not group.pending & group.members.keys()
    if group.state is not State.PREPARING_REBALANCE:
        assert not any(member.joining for member in group.members.values())
    if group.state in (State.STABLE, State.EMPTY):
        assert not any(member.syncing for member in group.members.values())
        assert recorded(group) == recorded(stage.restarted().group())
    for member in group.members.values():
        told = [f"{generation} {member.member_id}".encode() for generation in range(group.generation + 1)]
        # A static member may go on with what was assigned to the one whose place it took.
        assert member.assignment in (b"", *told) or member.instance_id


@given(st.lists(ACTS, max_size=60))
def test_random_histories(acts: list[Act]) -> None:
    stage = ClassicStage(CONFIG)
    clients = [Client(number) for number in range(5)]
    generation = 0
    for act in acts:
        if act.kind == "restart":
            stage = stage.restarted()
            for client in clients:
                client.waits_for = None  # the connection broke; who it is it knows still
            generation = 0  # one that its leader did not assign is forgotten
        else:
            perform(stage, clients[act.client], act)
        for client in clients:
            client.hear(stage)
        check(stage)
        if isinstance(group := stage.groups.get(GROUP), ClassicGroup):
            assert group.generation >= generation
            generation = group.generation
    stage.advance(HOUR_MS)  # in which nobody is heard of
    assert all(ticket in stage.answers for ticket in range(1, stage.asked + 1))
    assert len(stage.timers) == 0
    assert all(group.state_name == "Empty" for group in stage.groups.values())
