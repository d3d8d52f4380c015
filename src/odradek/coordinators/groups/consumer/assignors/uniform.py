"""The uniform assignor: about the same number of partitions for each member, and as few moves as that allows."""

from odradek.coordinators.groups.consumer.assignors.heterogeneous import assign_heterogeneous
from odradek.coordinators.groups.consumer.assignors.homogeneous import assign_homogeneous
from odradek.coordinators.groups.consumer.assignors.spec import GroupAssignment, GroupSpec


def assign_uniformly(spec: GroupSpec) -> GroupAssignment:
    if not spec.members:
        return {}
    return assign_homogeneous(spec) if spec.is_homogeneous else assign_heterogeneous(spec)
