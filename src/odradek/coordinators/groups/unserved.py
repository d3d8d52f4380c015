"""Groups of kinds that are not served: share and streams groups, as an Apache Kafka left them.

Their records stay as they are. Their ids are taken, and they can be listed.
"""

from collections.abc import Iterable

from odradek.coordinators.groups.errors import GroupNotEmpty, GroupNotFound, UnknownMember
from odradek.coordinators.groups.group import Group, GroupKind, Member
from odradek.coordinators.result import Stored
from odradek.model.errors import UnsupportedVersion
from odradek.model.numbers import TimestampMs
from odradek.wire.records.share_group import ShareGroupMemberMetadataKey, ShareGroupMetadataKey
from odradek.wire.records.streams_group import StreamsGroupMemberMetadataKey, StreamsGroupMetadataKey
from odradek.wire.schema import Message
from odradek.wire.stored import write_coordinator_key

_GROUPS = (ShareGroupMetadataKey, StreamsGroupMetadataKey)
_MEMBERS = (ShareGroupMemberMetadataKey, StreamsGroupMemberMetadataKey)


class UnservedGroup:
    def __init__(self, group_id: str, kind: GroupKind) -> None:
        self.group_id = group_id
        self.kind = kind
        self.members: dict[str, None] = {}
        self._keys: dict[bytes, Message] = {}
        """Of its records, but for the one that makes it a group."""

    @property
    def state_name(self) -> str:
        """As far as it can be told: a streams group with members may as well be on its way there."""
        return "Stable" if self.members else "Empty"

    @property
    def protocol_type(self) -> str:
        return self.kind.value

    def check_commit(self, member: Member, version: int, *, transactional: bool) -> None:
        self._check_has_offsets()
        if self.members or member.epoch >= 0:
            raise UnknownMember(f"members of group {self.group_id} are not served")

    def check_offset_fetch(self, member: Member | None) -> None:
        self._check_has_offsets()
        if member is not None:
            raise UnknownMember(f"members of group {self.group_id} are not served")

    def check_offset_delete(self) -> None:
        self._check_has_offsets()

    def _check_has_offsets(self) -> None:
        if self.kind is GroupKind.SHARE:
            raise GroupNotFound(f"Group {self.group_id} is not a consumer group")

    def check_delete(self) -> None:
        if self.members:
            raise GroupNotEmpty(f"The group {self.group_id} is not empty")
        if self.kind is GroupKind.SHARE:  # there is more of it in another topic, which nobody would delete
            raise UnsupportedVersion(f"group {self.group_id} is a share group, which are not served")

    def is_subscribed(self, topic: str) -> bool:
        return bool(self.members)

    def expiry_base_ms(self, committed_ms: TimestampMs) -> None:
        """Its offsets stay: when they came out of use nobody here knows."""

    def tombstones(self) -> Iterable[Stored]:
        for key in self._keys.values():
            yield Stored(key, None)
        whole = StreamsGroupMetadataKey if self.kind is GroupKind.STREAMS else ShareGroupMetadataKey
        yield Stored(whole(group_id=self.group_id), None)

    def replay(self, key: Message, value: Message | None) -> None:
        if isinstance(key, _GROUPS):
            return
        raw = write_coordinator_key(key)
        if value is None:
            self._keys.pop(raw, None)
        else:
            self._keys[raw] = key
        if isinstance(key, _MEMBERS):
            if value is None:
                self.members.pop(key.member_id, None)
            else:
                self.members[key.member_id] = None


class UnservedGroups:
    def __init__(self, groups: dict[str, Group]) -> None:
        """`groups` has all groups of the shard, of any kind."""
        self._groups = groups

    def replay(self, kind: GroupKind, key: Message, value: Message | None) -> None:
        """A record of such a group. It takes the place of one that was made for the offsets in it."""
        group_id: str = key.group_id  # type: ignore[attr-defined]  # all of them have it
        group = self._groups.get(group_id)
        if value is not None and (group is None or _is_bare(group)):
            group = self._groups[group_id] = UnservedGroup(group_id, kind)
        if not isinstance(group, UnservedGroup):
            return
        group.replay(key, value)
        if isinstance(key, _GROUPS) and value is None:
            del self._groups[group_id]


def _is_bare(group: Group) -> bool:
    """Made for offsets that are committed in it, before any record told its kind."""
    return group.kind is GroupKind.CLASSIC and not group.protocol_type and group.state_name == "Empty"
