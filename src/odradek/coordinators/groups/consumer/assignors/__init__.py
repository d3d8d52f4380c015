"""Who reads which partition: the assignors that run on the server, by the names that members ask for them with."""

from collections.abc import Iterable, Mapping

from odradek.coordinators.groups.consumer.assignors.ranges import assign_ranges
from odradek.coordinators.groups.consumer.assignors.spec import Assignor
from odradek.coordinators.groups.consumer.assignors.uniform import assign_uniformly

_CLASSES = "org.apache.kafka.coordinator.group.assignor."

ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}
_NAMES = {f"{_CLASSES}UniformAssignor": "uniform", f"{_CLASSES}RangeAssignor": "range"}


def assignors_of(configured: Iterable[str]) -> dict[str, Assignor]:
    """Those that `group.consumer.assignors` has, which names them, or the classes that they are in Apache Kafka.

    The first is the one for groups whose members do not ask for any. Others than these two cannot be had here.
    """
    names = [_NAMES.get(name, name) for name in configured]
    return {name: ASSIGNORS[name] for name in names if name in ASSIGNORS}
