"""Who may vote. With kraft.version 0 the nodes' configuration says it; from 1 on, control records of the log do."""

from dataclasses import dataclass, replace

from odradek.metadata.features import KRAFT_VERSION, SUPPORTED
from odradek.model.errors import InvalidConfig, UnsupportedVersion
from odradek.wire.records.control import KRaftVersionRecord, VotersRecord
from odradek.wire.schema import Message


@dataclass(frozen=True, slots=True)
class Voters:
    kraft_version: int = 0
    record: VotersRecord | None = None

    def after(self, control: Message) -> "Voters":
        """As a control record leaves them."""
        if isinstance(control, KRaftVersionRecord):
            if control.kraft_version not in range(SUPPORTED[KRAFT_VERSION].most + 1):
                raise UnsupportedVersion(f"{KRAFT_VERSION} {control.kraft_version} is newer than this node")
            return replace(self, kraft_version=control.kraft_version)
        if isinstance(control, VotersRecord):
            return replace(self, record=control)
        return self

    def records(self) -> tuple[Message, ...]:
        """The control records that say the same."""
        if self.kraft_version == 0:
            return ()
        version = KRaftVersionRecord(version=0, kraft_version=self.kraft_version)
        return (version,) if self.record is None else (version, self.record)

    def check(self, node_id: int, static: tuple[int, ...]) -> None:
        """Raises InvalidConfig unless the node is the only voter. `static` is what its vote file says, if anything."""
        dynamic = () if self.record is None else tuple(voter.voter_id for voter in self.record.voters)
        known = dynamic if self.kraft_version else static
        if known and known != (node_id,):
            said = ", ".join(map(str, known))
            raise InvalidConfig(f"node {node_id} can only be a quorum by itself; the voters here are {said}")


STATIC = Voters()
