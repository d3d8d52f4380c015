"""A request of each API that is about topics, as a client would send it: where fuzzing begins."""

from odradek.wire.messages import alter_configs as alter
from odradek.wire.messages import alter_partition_reassignments as reassignments
from odradek.wire.messages import create_partitions as partitions
from odradek.wire.messages import create_topics as create
from odradek.wire.messages import delete_records as delete
from odradek.wire.messages import describe_configs as describe
from odradek.wire.messages import describe_log_dirs as log_dirs
from odradek.wire.messages import describe_producers as producers
from odradek.wire.messages import describe_topic_partitions as topic_partitions
from odradek.wire.messages import elect_leaders as elections
from odradek.wire.messages import incremental_alter_configs as incremental
from odradek.wire.messages import list_offsets as offsets
from odradek.wire.messages import list_partition_reassignments as ongoing
from odradek.wire.messages import offset_for_leader_epoch as epochs
from odradek.wire.schema import Message
from support.places import move_request

_TOPIC = 2


def requests_about(topic: str) -> tuple[Message, ...]:
    """In fields that the oldest versions have, too."""
    return (
        create.CreateTopicsRequest(
            topics=(
                create.CreatableTopic(
                    name=f"{topic}-new",
                    num_partitions=2,
                    replication_factor=1,
                    assignments=(),
                    configs=(create.CreatableTopicConfig(name="retention.ms", value="1000000"),),
                ),
            )
        ),
        partitions.CreatePartitionsRequest(
            topics=(partitions.CreatePartitionsTopic(name=topic, count=2, assignments=None),),
            timeout_ms=1000,
            validate_only=False,
        ),
        delete.DeleteRecordsRequest(
            topics=(
                delete.DeleteRecordsTopic(
                    name=topic, partitions=(delete.DeleteRecordsPartition(partition_index=0, offset=1),)
                ),
            ),
            timeout_ms=1000,
        ),
        *_about_settings(topic),
        offsets.ListOffsetsRequest(
            replica_id=-1,
            topics=(
                offsets.ListOffsetsTopic(
                    name=topic, partitions=(offsets.ListOffsetsPartition(partition_index=0, timestamp=1000),)
                ),
            ),
        ),
        epochs.OffsetForLeaderEpochRequest(
            topics=(
                epochs.OffsetForLeaderTopic(
                    topic=topic, partitions=(epochs.OffsetForLeaderPartition(partition=0, leader_epoch=0),)
                ),
            )
        ),
        producers.DescribeProducersRequest(topics=(producers.TopicRequest(name=topic, partition_indexes=(0,)),)),
        topic_partitions.DescribeTopicPartitionsRequest(topics=(topic_partitions.TopicRequest(name=topic),)),
        log_dirs.DescribeLogDirsRequest(topics=(log_dirs.DescribableLogDirTopic(topic=topic, partitions=(0,)),)),
        *_about_replicas(topic),
    )


def _about_replicas(topic: str) -> tuple[Message, ...]:
    part = reassignments.ReassignablePartition(partition_index=0, replicas=(1,))
    return (
        elections.ElectLeadersRequest(topic_partitions=(elections.TopicPartitions(topic=topic, partitions=(0,)),)),
        reassignments.AlterPartitionReassignmentsRequest(
            topics=(reassignments.ReassignableTopic(name=topic, partitions=(part,)),)
        ),
        ongoing.ListPartitionReassignmentsRequest(
            topics=(ongoing.ListPartitionReassignmentsTopics(name=topic, partition_indexes=(0,)),)
        ),
        move_request(topic, "/none"),
    )


def _about_settings(topic: str) -> tuple[Message, ...]:
    return (
        alter.AlterConfigsRequest(
            resources=(
                alter.AlterConfigsResource(
                    resource_type=_TOPIC,
                    resource_name=topic,
                    configs=(alter.AlterableConfig(name="retention.ms", value="1000000"),),
                ),
            ),
            validate_only=False,
        ),
        incremental.IncrementalAlterConfigsRequest(
            resources=(
                incremental.AlterConfigsResource(
                    resource_type=_TOPIC,
                    resource_name=topic,
                    configs=(incremental.AlterableConfig(name="retention.ms", config_operation=0, value="1000000"),),
                ),
            ),
            validate_only=False,
        ),
        describe.DescribeConfigsRequest(
            resources=(
                describe.DescribeConfigsResource(
                    resource_type=_TOPIC, resource_name=topic, configuration_keys=("retention.ms",)
                ),
            )
        ),
    )
