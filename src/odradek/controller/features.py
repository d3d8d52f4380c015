"""Changing the levels of features, within what Kafka 4.3 knows."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from odradek.controller.errors import InvalidUpdateVersion
from odradek.controller.result import ControllerResult
from odradek.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS,
    KRAFT_VERSION,
    METADATA_CHANGED,
    METADATA_VERSION,
    SUPPORTED,
    Levels,
)
from odradek.metadata.image import Image, ResourceType
from odradek.wire.records.metadata import ConfigRecord, FeatureLevelRecord
from odradek.wire.schema import Message

_MIN_INSYNC = "min.insync.replicas"
_ELIGIBLE_LEADERS_NEED = 23
"""metadata.version, for partitions with eligible leaders."""


class UpgradeType(IntEnum):
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    name: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


def update(
    image: Image, updates: Sequence[FeatureUpdate], min_insync_replicas: int = 1, *, validate_only: bool = False
) -> ControllerResult[None]:
    """All of them or none; of several for one feature, the last. Raises InvalidUpdateVersion for one that cannot be."""
    wanted = {each.name: each for each in updates}
    proposed = {**image.features, **{each.name: each.level for each in updates}}
    records: list[Message] = []
    for each in wanted.values():
        _check(image, each, proposed)
        if each.name != KRAFT_VERSION:
            records.append(FeatureLevelRecord(name=each.name, feature_level=each.level))
        if each.name == ELIGIBLE_LEADER_REPLICAS and each.level > 0:
            records = [*_pin_min_insync(image, min_insync_replicas), *records]
    return ControllerResult(() if validate_only else tuple(records), None)


def _check(image: Image, update: FeatureUpdate, proposed: dict[str, int]) -> None:
    name, level, kind = update
    current = image.features.get(name, 0)
    if kind not in tuple(UpgradeType):
        raise _refusal(update, f"the given upgrade type {kind} is unknown: the controller does not support it")
    _check_support(image, update)
    if name == KRAFT_VERSION:
        raise _refusal(update, "the quorum's version cannot be changed")
    if level < current and kind == UpgradeType.UPGRADE:
        raise _refusal(
            update, f"from {current}, that is a downgrade, and the upgrade type is neither safe nor unsafe downgrade"
        )
    if level > current and kind != UpgradeType.UPGRADE:
        raise _refusal(update, f"it is at {current}, and that is no downgrade")
    if name == METADATA_VERSION:
        _check_metadata_version(update, current)
    elif name == ELIGIBLE_LEADER_REPLICAS and level and proposed[METADATA_VERSION] < _ELIGIBLE_LEADERS_NEED:
        raise _refusal(update, f"it needs {METADATA_VERSION} {_ELIGIBLE_LEADERS_NEED}")


def _check_support(image: Image, update: FeatureUpdate) -> None:
    """Level 0 turns a feature off, which every node can do."""
    if update.name not in SUPPORTED:
        raise _refusal(update, "the controller does not support this feature")
    nodes = {"the controller": SUPPORTED[update.name]}
    for broker in image.brokers.values():
        nodes[f"broker {broker.id}"] = broker.features.get(update.name, Levels(0, 0))
    for who, (least, most) in nodes.items():
        if update.level != 0 and not least <= update.level <= most:
            raise _refusal(update, f"{who} only supports versions {least}-{most}")


def _check_metadata_version(update: FeatureUpdate, current: int) -> None:
    if update.level == 0:
        raise _refusal(update, "it cannot be turned off")
    lost = [level for level in METADATA_CHANGED if update.level < level <= current]
    if lost:
        raise _refusal(
            update, f"the downgrade from {current} to {update.level} is unsupported, it might delete metadata"
        )


def _refusal(update: FeatureUpdate, why: str) -> InvalidUpdateVersion:
    return InvalidUpdateVersion(f"Invalid update version {update.level} for feature {update.name}: {why}")


def _pin_min_insync(image: Image, min_insync_replicas: int) -> list[Message]:
    """With eligible leaders, min.insync.replicas is the same for all brokers: set for the cluster, for none alone."""
    records: list[Message] = []
    if _MIN_INSYNC not in image.configs.of(ResourceType.BROKER, ""):
        records.append(_min_insync("", str(min_insync_replicas)))
    for resource, values in image.configs.resources.items():
        if resource.type == ResourceType.BROKER and resource.name and _MIN_INSYNC in values:
            records.append(_min_insync(resource.name, None))
    return records


def _min_insync(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=ResourceType.BROKER, resource_name=broker, name=_MIN_INSYNC, value=value)
