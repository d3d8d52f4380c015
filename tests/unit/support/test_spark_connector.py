"""The jars of Spark's connector: all of them for Spark, and nothing that Maven would look for elsewhere."""

from pathlib import Path

import pytest

from support import spark_connector
from support.maven import Unavailable

MAVEN = """#!/bin/sh
cp pom.xml "{pom}"
for argument; do
  case $argument in -DoutputDirectory=*) target=${{argument#*=}} ;; esac
done
mkdir -p "$target"
touch "$target/spark-sql-kafka-0-10_2.13-{version}.jar" "$target/commons-pool2.jar"
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("shutil.which", lambda name: str(programs / name) if (programs / name).exists() else None)
    return programs


def test_jars_are_fetched_without_what_they_depend_on(programs: Path, tmp_path: Path) -> None:
    maven = programs / "mvn"
    maven.write_text(MAVEN.format(pom=tmp_path / "pom.xml", version=spark_connector.VERSION), encoding="utf-8")
    maven.chmod(0o755)
    jars = [Path(jar) for jar in spark_connector.jars().split(",")]
    assert [jar.name for jar in jars] == [
        "commons-pool2.jar",
        f"spark-sql-kafka-0-10_2.13-{spark_connector.VERSION}.jar",
    ]
    assert all(jar.is_file() for jar in jars)
    pom = (tmp_path / "pom.xml").read_text(encoding="utf-8")
    assert pom.count("<dependency>") == pom.count("<exclusion><groupId>*</groupId><artifactId>*</artifactId>") == 4


def test_no_maven_is_told_in_a_line(programs: Path) -> None:
    with pytest.raises(Unavailable, match=r"connector .* there is no Maven"):
        spark_connector.jars()
