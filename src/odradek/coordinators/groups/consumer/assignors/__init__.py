"""Who reads which partition: the assignors that run on the server, by the names that members ask for them with."""

from collections.abc import Iterable, Mapping

from odradek.coordinators.groups.consumer.assignors.ranges import assign_ranges
from odradek.coordinators.groups.consumer.assignors.spec import Assignor
from odradek.coordinators.groups.consumer.assignors.uniform import assign_uniformly
from odradek.model.broker_config.rules import assignor_of

ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}


def assignors_of(configured: Iterable[str]) -> dict[str, Assignor]:
    """Those that `group.consumer.assignors` has. The first is for groups whose members do not ask for one."""
    return {name: ASSIGNORS[name] for name in map(assignor_of, configured) if name}
