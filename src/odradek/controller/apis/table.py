"""The requests that the active controller decides on, each with its decision and its refusal."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from odradek.controller.apis import (
    allocate_producer_ids,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_user_scram_credentials,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
    create_partitions,
    create_topics,
    delete_topics,
    elect_leaders,
    incremental_alter_configs,
    unregister_broker,
    update_features,
)
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.schema import Message


class ControllerApi(NamedTuple):
    decide: Callable[[Image, Any, Context], ControllerResult[Message]]
    refuse: Callable[[Any, BrokerError], Message]
    strict_since: int | None = None
    """Of an API that creates or deletes partitions: the first version whose clients a quota can refuse."""
    hosts: Callable[[Any], frozenset[str]] | None = None
    """The hosts in a request that must have an address."""


CONTROLLER_APIS: Mapping[int, ControllerApi] = {
    19: ControllerApi(create_topics.decide, create_topics.refuse, create_topics.STRICT_SINCE),
    20: ControllerApi(delete_topics.decide, delete_topics.refuse, delete_topics.STRICT_SINCE),
    33: ControllerApi(alter_configs.decide, alter_configs.refuse),
    37: ControllerApi(create_partitions.decide, create_partitions.refuse, create_partitions.STRICT_SINCE),
    43: ControllerApi(elect_leaders.decide, elect_leaders.refuse),
    44: ControllerApi(incremental_alter_configs.decide, incremental_alter_configs.refuse),
    45: ControllerApi(alter_partition_reassignments.decide, alter_partition_reassignments.refuse),
    49: ControllerApi(alter_client_quotas.decide, alter_client_quotas.refuse, hosts=alter_client_quotas.hosts),
    51: ControllerApi(alter_user_scram_credentials.decide, alter_user_scram_credentials.refuse),
    57: ControllerApi(update_features.decide, update_features.refuse),
    62: ControllerApi(broker_registration.decide, broker_registration.refuse),
    63: ControllerApi(broker_heartbeat.decide, broker_heartbeat.refuse),
    64: ControllerApi(unregister_broker.decide, unregister_broker.refuse),
    67: ControllerApi(allocate_producer_ids.decide, allocate_producer_ids.refuse),
    73: ControllerApi(assign_replicas_to_dirs.decide, assign_replicas_to_dirs.refuse),
}
"""By the key of the API."""
