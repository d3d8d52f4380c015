"""Settings for all tests."""

import gzip
import json
import signal
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Fresh examples on every run, and a failure prints the line that repeats it. No test may fail because the machine was
# slow: no deadline, and no complaint about the time that making examples takes.
settings.register_profile("ci", print_blob=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")

# A shell starts what runs in its background deaf to Ctrl-C, and so would be every program that a test interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_INTEROP = Path(__file__).parent / "interop"
_GOLDEN = Path(__file__).parent / "golden" / "kafka-4.3.0"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_INTEROP):
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session")
def golden_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directories that Apache Kafka wrote, unpacked: `clean` and `crashed`. Not to be written to."""
    target = tmp_path_factory.mktemp("golden")
    with tarfile.open(_GOLDEN / "kafka-4.3.0-data.tar.xz") as archive:
        archive.extractall(target, filter="data")
    return target


@pytest.fixture(scope="session")
def golden_expected() -> Any:
    """What a consumer reads from them."""
    with gzip.open(_GOLDEN / "expected.json.gz", "rt") as file:
        return json.load(file)
