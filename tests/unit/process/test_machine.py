"""What a node has of its machine."""

import resource

from odradek.process.machine import Machine, raise_handle_limit


def test_the_limit_is_raised_as_far_as_the_system_lets_us() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        limit = raise_handle_limit()
        assert limit == resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= before[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_each_uuid_is_another() -> None:
    machine = Machine()
    assert len({machine.new_uuid() for _ in range(100)}) == 100
    assert len(machine.new_uuid()) == 16


def test_a_monotonic_clock_counts_seconds() -> None:
    clock = Machine().clock
    first = clock.monotonic_s()
    assert 0 <= clock.monotonic_s() - first < 3600
