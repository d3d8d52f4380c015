"""Fetching Apache Kafka: once, whole or not at all, and one line where it cannot be had. Java and Maven are fakes."""

import threading
from pathlib import Path

import pytest

from support import apache_kafka
from support.apache_kafka import ApacheKafka, Unavailable

JAVA = """#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "{version}" 2025-04-15' >&2; exit 0; fi
for last; do :; done
echo "ran $last"
"""
MAVEN = """#!/bin/sh
echo called >>"{calls}"
for argument; do
  case $argument in -DoutputDirectory=*) target=${{argument#*=}} ;; esac
done
mkdir -p "$target"
touch "$target/kafka-clients-4.3.0.jar"
{then}
"""
WHOLE = 'touch "$target/kafka-tools-4.3.0.jar"'
FAILS = 'echo "[ERROR] no such host"; exit 1'


class Machine:
    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._bin = root / "bin"
        self._bin.mkdir()
        self.calls = root / "calls"
        self.cache = root / "cache" / "odradek"
        monkeypatch.setenv("PATH", f"{self._bin}:/usr/bin:/bin")
        monkeypatch.setattr(
            "shutil.which", lambda name, path=None: str(self._bin / name) if (self._bin / name).exists() else None
        )
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))

    def install(self, name: str, script: str) -> None:
        path = self._bin / name
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def install_both(self, then: str = WHOLE, version: str = "17.0.15") -> None:
        self.install("java", JAVA.format(version=version))
        self.install("mvn", MAVEN.format(calls=self.calls, then=then))

    def fetches(self) -> int:
        return len(self.calls.read_text(encoding="utf-8").splitlines()) if self.calls.exists() else 0


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def why_not(machine: Machine) -> str:
    with pytest.raises(Unavailable) as reason:
        apache_kafka.find()
    assert not (machine.cache / "apache-kafka-4.3.0").exists()
    assert "\n" not in str(reason.value)
    return str(reason.value)


def test_it_is_fetched_once_and_run(machine: Machine) -> None:
    machine.install_both()
    for _ in range(2):
        kafka = apache_kafka.find()
        assert kafka.run("some.Tool", "argument") == (0, "ran argument\n", "")
    assert machine.fetches() == 1
    assert sorted(path.name for path in machine.cache.iterdir()) == ["apache-kafka-4.3.0", "apache-kafka-4.3.0.lock"]


def test_no_java_an_old_java_no_maven(machine: Machine) -> None:
    assert why_not(machine) == "Apache Kafka needs Java 17 or later, and there is none on PATH"
    machine.install("java", JAVA.format(version="1.8.0_402"))
    assert why_not(machine).startswith("Apache Kafka needs Java 17 or later; ")
    machine.install("java", JAVA.format(version="21"))
    assert why_not(machine).endswith("there is no Maven (mvn) to fetch it with")


def test_a_fetch_that_fails_leaves_nothing_that_looks_whole(machine: Machine) -> None:
    machine.install_both(then=FAILS)
    assert why_not(machine) == "Maven could not fetch Apache Kafka 4.3.0: [ERROR] no such host"
    machine.install_both(then="exit 0")  # it says that all went well, but not all is there
    assert why_not(machine).startswith("Maven could not fetch Apache Kafka 4.3.0: ")
    assert [path.name for path in machine.cache.iterdir()] == ["apache-kafka-4.3.0.lock"]
    machine.install_both()
    apache_kafka.find()


def test_two_at_once_fetch_once(machine: Machine) -> None:
    machine.install_both()
    found: list[ApacheKafka] = []
    threads = [threading.Thread(target=lambda: found.append(apache_kafka.find())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), machine.fetches()) == (4, 1)


def test_a_cache_that_cannot_be_written_to(machine: Machine, tmp_path: Path) -> None:
    machine.install_both()
    (tmp_path / "cache").write_text("", encoding="utf-8")
    assert "cannot be kept in" in why_not(machine)
