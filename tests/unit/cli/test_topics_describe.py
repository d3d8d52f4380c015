"""`odradek topics describe`: which partitions are in trouble."""

import pytest

from odradek.cli.topics_describe import Trouble
from odradek.client.cluster import PartitionView

WELL = PartitionView(0, leader=1, leader_epoch=3, replicas=(1, 2, 3), in_sync=(1, 2, 3), offline=())
BEHIND = WELL._replace(in_sync=(1, 2))
ALONE = WELL._replace(in_sync=(1,))
LOST = WELL._replace(leader=-1, in_sync=(3,), offline=(1, 2, 3))


@pytest.mark.parametrize(
    ("trouble", "least", "those"),
    [
        (Trouble.UNDER_REPLICATED, 2, [BEHIND, ALONE, LOST]),
        (Trouble.UNAVAILABLE, 2, [LOST]),
        (Trouble.UNDER_MIN_ISR, 2, [ALONE, LOST]),
        (Trouble.AT_MIN_ISR, 2, [BEHIND]),
        (Trouble.AT_MIN_ISR, 3, [WELL]),
        (Trouble.UNDER_MIN_ISR, None, []),
        (Trouble.AT_MIN_ISR, None, []),
    ],
)
def test_partitions_in_trouble(trouble: Trouble, least: int | None, those: list[PartitionView]) -> None:
    assert [each for each in (WELL, BEHIND, ALONE, LOST) if trouble.has(each, least)] == those
