import re

import pytest

from support.script_stage import MOMENTS


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ('{"timestamp":1794937163123}', '{"timestamp":moment}'),
        ("CreateTime:1794937163123\tkey", "CreateTime:moment\tkey"),
        ("from 1700000000000 to 1794937163123.", "from moment to moment."),
        ('"avg_throughput":9.1794937163123', '"avg_throughput":9.1794937163123'),
        ("17949371631234", "17949371631234"),
    ],
)
def test_moments_are_hidden_and_rates_are_not(printed: str, shown: str) -> None:
    for pattern, stands_for in MOMENTS:
        printed = re.sub(pattern, stands_for, printed)
    assert printed == shown
