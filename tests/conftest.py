"""Settings for all tests."""

import gzip
import json
import os
import signal
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support.failures import collected
from support.stalls import watched

# Fresh examples on every run, and a failure prints the line that repeats it. No test may fail because the machine was
# slow: no deadline, and no complaint about the time that making examples takes.
settings.register_profile("ci", print_blob=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")

# A shell starts what runs in its background deaf to Ctrl-C, and so would be every program that a test interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_HERE = Path(__file__).parent
_INTEROP = _HERE / "interop"
_GOLDEN = _HERE / "golden" / "kafka-4.3.0"
_LONG = (
    "spark/test_demo",
    "sim/test_transactions_under_faults",
    "spark/test_sink_kill",
    "spark/test_pipelines_cluster",
    "crash/test_exactly_once_kill",
    "sim/test_planted_transaction_faults",
    "spark/test_pipelines_command",
    "spark/test_pipelines_faults",
    "crash/test_power_loss",
    "spark/test_pipelines_kill",
    "spark/test_sink",
    "spark/test_sessions",
    "unit/broker/test_moves_interrupted",
    "spark/test_source_batch",
    "spark/test_source_stream",
    "unit/storage/test_interrupted_steps",
    "spark/test_pipelines_stream",
    "interop/test_clients",
    "interop/test_demo",
    "interop/test_handover",
    "interop/test_group_tools",
    "interop/test_spark_connector",
    "interop/test_rolling_restart",
    "interop/test_everything_handed_over",
    "interop/test_derived_files",
    "interop/test_half_ended_transactions",
    "interop/test_streams_word_count",
    "interop/test_pipelines",
    "interop/test_spark_source",
    "interop/test_spark_sink",
    "interop/test_consumer_groups_taken_over",
    "interop/test_cli_groups",
)
"""Files that take half a minute and more, in the order in which they are begun."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files begin, or workers would wait for the last one in the end; all others keep the order of chance."""
    rank = {_HERE / f"{name}.py": at for at, name in enumerate(_LONG)}
    items.sort(key=lambda item: rank.get(item.path, len(_LONG)))
    for item in items:
        if item.path.is_relative_to(_INTEROP):
            item.add_marker(pytest.mark.interop)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: much of what tests do is waiting."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def _unexpected_failures() -> Iterator[None]:
    """No test passes where a guard kept a failure to itself. One that plants some collects them itself."""
    with collected() as lines:
        yield
    assert lines == []


@pytest.fixture(autouse=True, scope="session")
def _stalls() -> Iterator[list[str]]:
    """Of the loops of nodes in this process. Where no test imports the node, none can run."""
    node = sys.modules.get("odradek.server.node")
    if node is None:
        yield []
        return
    with watched(node.Node) as found:
        yield found


@pytest.fixture(autouse=True)
def _no_stalls(_stalls: list[str]) -> Iterator[None]:
    """No test passes in which the loop of a node was held."""
    yield
    found = list(_stalls)
    _stalls.clear()
    assert not found, "\n".join(found)


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
