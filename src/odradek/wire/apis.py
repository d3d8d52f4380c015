"""The APIs of Apache Kafka 4.3, with the versions that its nodes offer. To look one up loads no message."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from odradek.wire.schema import Message

API_VERSIONS = 18

NEVER = 1 << 15
"""Past any version."""

BROKER = frozenset({"broker"})
CONTROLLER = frozenset({"controller"})
BOTH = BROKER | CONTROLLER


class Api(NamedTuple):
    key: int
    name: str
    versions: tuple[int, int]
    """The first and the last that Kafka offers to clients, which are not always those that have a definition.

    Produce offers versions 0 to 2 and refuses them: old clients based on librdkafka look for them. The last version of
    InitProducerId is not offered yet.
    """
    flexible: int
    """The first version whose body, and whose header, has compact lengths and tagged fields."""
    listeners: frozenset[str]
    """Which kinds of nodes have it."""

    def serves(self, version: int) -> bool:
        least, most = self.versions
        return least <= version <= most

    @property
    def request(self) -> type[Message]:
        return self._message("Request")

    @property
    def response(self) -> type[Message]:
        return self._message("Response")

    def _message(self, kind: str) -> type[Message]:
        words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in self.name)
        module = import_module(f"odradek.wire.messages.{words[1:]}")
        found: type[Message] = getattr(module, self.name + kind)
        return found


# Kafka offers GetTelemetrySubscriptions and PushTelemetry only if something takes what clients push.
_TABLE = (
    Api(0, "Produce", (0, 13), 9, BROKER),
    Api(1, "Fetch", (4, 18), 12, BOTH),
    Api(2, "ListOffsets", (1, 11), 6, BROKER),
    Api(3, "Metadata", (0, 13), 9, BROKER),
    Api(8, "OffsetCommit", (2, 10), 8, BROKER),
    Api(9, "OffsetFetch", (1, 10), 6, BROKER),
    Api(10, "FindCoordinator", (0, 6), 3, BROKER),
    Api(11, "JoinGroup", (0, 9), 6, BROKER),
    Api(12, "Heartbeat", (0, 4), 4, BROKER),
    Api(13, "LeaveGroup", (0, 5), 4, BROKER),
    Api(14, "SyncGroup", (0, 5), 4, BROKER),
    Api(15, "DescribeGroups", (0, 6), 5, BROKER),
    Api(16, "ListGroups", (0, 5), 3, BROKER),
    Api(17, "SaslHandshake", (0, 1), NEVER, BOTH),
    Api(18, "ApiVersions", (0, 4), 3, BOTH),
    Api(19, "CreateTopics", (2, 7), 5, BOTH),
    Api(20, "DeleteTopics", (1, 6), 4, BOTH),
    Api(21, "DeleteRecords", (0, 2), 2, BROKER),
    Api(22, "InitProducerId", (0, 5), 2, BROKER),
    Api(23, "OffsetForLeaderEpoch", (2, 4), 4, BROKER),
    Api(24, "AddPartitionsToTxn", (0, 5), 3, BROKER),
    Api(25, "AddOffsetsToTxn", (0, 4), 3, BROKER),
    Api(26, "EndTxn", (0, 5), 3, BROKER),
    Api(27, "WriteTxnMarkers", (1, 2), 1, BROKER),
    Api(28, "TxnOffsetCommit", (0, 5), 3, BROKER),
    Api(29, "DescribeAcls", (1, 3), 2, BOTH),
    Api(30, "CreateAcls", (1, 3), 2, BOTH),
    Api(31, "DeleteAcls", (1, 3), 2, BOTH),
    Api(32, "DescribeConfigs", (1, 4), 4, BOTH),
    Api(33, "AlterConfigs", (0, 2), 2, BOTH),
    Api(34, "AlterReplicaLogDirs", (1, 2), 2, BROKER),
    Api(35, "DescribeLogDirs", (1, 5), 2, BROKER),
    Api(36, "SaslAuthenticate", (0, 2), 2, BOTH),
    Api(37, "CreatePartitions", (0, 3), 2, BOTH),
    Api(38, "CreateDelegationToken", (1, 3), 2, BOTH),
    Api(39, "RenewDelegationToken", (1, 2), 2, BOTH),
    Api(40, "ExpireDelegationToken", (1, 2), 2, BOTH),
    Api(41, "DescribeDelegationToken", (1, 3), 2, BOTH),
    Api(42, "DeleteGroups", (0, 2), 2, BROKER),
    Api(43, "ElectLeaders", (0, 2), 2, BOTH),
    Api(44, "IncrementalAlterConfigs", (0, 1), 1, BOTH),
    Api(45, "AlterPartitionReassignments", (0, 1), 0, BOTH),
    Api(46, "ListPartitionReassignments", (0, 0), 0, BOTH),
    Api(47, "OffsetDelete", (0, 0), NEVER, BROKER),
    Api(48, "DescribeClientQuotas", (0, 1), 1, BROKER),
    Api(49, "AlterClientQuotas", (0, 1), 1, BOTH),
    Api(50, "DescribeUserScramCredentials", (0, 0), 0, BOTH),
    Api(51, "AlterUserScramCredentials", (0, 0), 0, BOTH),
    Api(52, "Vote", (0, 2), 0, CONTROLLER),
    Api(53, "BeginQuorumEpoch", (0, 1), 1, CONTROLLER),
    Api(54, "EndQuorumEpoch", (0, 1), 1, CONTROLLER),
    Api(55, "DescribeQuorum", (0, 2), 0, BOTH),
    Api(56, "AlterPartition", (2, 3), 0, CONTROLLER),
    Api(57, "UpdateFeatures", (0, 2), 0, BOTH),
    Api(58, "Envelope", (0, 0), 0, CONTROLLER),
    Api(59, "FetchSnapshot", (0, 1), 0, CONTROLLER),
    Api(60, "DescribeCluster", (0, 2), 0, BOTH),
    Api(61, "DescribeProducers", (0, 0), 0, BROKER),
    Api(62, "BrokerRegistration", (0, 4), 0, CONTROLLER),
    Api(63, "BrokerHeartbeat", (0, 2), 0, CONTROLLER),
    Api(64, "UnregisterBroker", (0, 0), 0, BOTH),
    Api(65, "DescribeTransactions", (0, 0), 0, BROKER),
    Api(66, "ListTransactions", (0, 2), 0, BROKER),
    Api(67, "AllocateProducerIds", (0, 0), 0, CONTROLLER),
    Api(68, "ConsumerGroupHeartbeat", (0, 1), 0, BROKER),
    Api(69, "ConsumerGroupDescribe", (0, 1), 0, BROKER),
    Api(70, "ControllerRegistration", (0, 0), 0, CONTROLLER),
    Api(71, "GetTelemetrySubscriptions", (0, 0), 0, BROKER),
    Api(72, "PushTelemetry", (0, 0), 0, BROKER),
    Api(73, "AssignReplicasToDirs", (0, 0), 0, CONTROLLER),
    Api(74, "ListConfigResources", (0, 1), 0, BROKER),
    Api(75, "DescribeTopicPartitions", (0, 0), 0, BROKER),
    Api(76, "ShareGroupHeartbeat", (1, 1), 0, BROKER),
    Api(77, "ShareGroupDescribe", (1, 1), 0, BROKER),
    Api(78, "ShareFetch", (1, 2), 0, BROKER),
    Api(79, "ShareAcknowledge", (1, 2), 0, BROKER),
    Api(80, "AddRaftVoter", (0, 1), 0, BOTH),
    Api(81, "RemoveRaftVoter", (0, 0), 0, BOTH),
    Api(82, "UpdateRaftVoter", (0, 0), 0, CONTROLLER),
    Api(83, "InitializeShareGroupState", (0, 0), 0, BROKER),
    Api(84, "ReadShareGroupState", (0, 0), 0, BROKER),
    Api(85, "WriteShareGroupState", (0, 1), 0, BROKER),
    Api(86, "DeleteShareGroupState", (0, 0), 0, BROKER),
    Api(87, "ReadShareGroupStateSummary", (0, 1), 0, BROKER),
    Api(88, "StreamsGroupHeartbeat", (0, 0), 0, BROKER),
    Api(89, "StreamsGroupDescribe", (0, 0), 0, BROKER),
    Api(90, "DescribeShareGroupOffsets", (0, 1), 0, BROKER),
    Api(91, "AlterShareGroupOffsets", (0, 0), 0, BROKER),
    Api(92, "DeleteShareGroupOffsets", (0, 0), 0, BROKER),
)

APIS = {api.key: api for api in _TABLE}
