"""Settings for all tests."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Fresh examples on every run, and a failure prints the line that repeats it. No test may fail because the machine was
# slow: no deadline, and no complaint about the time that making examples takes.
settings.register_profile("ci", print_blob=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")

_INTEROP = Path(__file__).parent / "interop"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_INTEROP):
            item.add_marker(pytest.mark.interop)
