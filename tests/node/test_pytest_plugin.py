"""The fixtures that pytest finds by itself where odradek is installed."""

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

PORTS = []

@pytest.fixture(scope="session")
def odradek_settings():
    return {"log.retention.hours": "5"}

def test_one(odradek_broker, odradek_shared_broker):
    PORTS.append((odradek_broker.port, odradek_shared_broker.port))

def test_two(odradek_broker, odradek_shared_broker):
    PORTS.append((odradek_broker.port, odradek_shared_broker.port))
    (own, shared), (another, same) = PORTS
    assert shared == same
    assert len({own, another, shared}) == 3

@pytest.mark.parametrize("odradek_settings", [{"log.retention.hours": "no number"}])
def test_three(odradek_broker):
    pass
"""

IMPORTS = """
import pytest, sys
before = set(sys.modules)
import odradek.testing.plugin
print(*set(sys.modules) - before)
"""


@pytest.mark.slow
def test_brokers_of_a_test_and_of_a_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "no:randomly", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*BrokerFailed: the broker did not start*", "*odradek: --set log.retention.hours: *"])


def test_pytest_does_not_load_a_broker_for_those_who_want_none() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    loaded = ran.stdout.split()
    assert "odradek.testing.broker" in loaded
    ours = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("odradek")}
    assert ours == {"odradek", "odradek.testing", "odradek.model"}
    assert {"asyncio", "confluent_kafka", "importlib.metadata", "ssl", "uvloop"}.isdisjoint(loaded)
