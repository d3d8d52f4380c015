"""Where a session runs, as far as that is known before Spark starts."""

from pathlib import Path

import pytest

from odradek.spark.sessions import is_connect, local_master


@pytest.mark.parametrize("named", ["local", "local[2]", "local[*]", "local[2, 4]"])
def test_a_master_on_this_machine(named: str) -> None:
    assert local_master(named, {"MASTER": "yarn"}) == named


@pytest.mark.parametrize("named", ["yarn", "spark://host:7077", "k8s://https://host", "local-cluster[2,1,1024]"])
def test_a_master_elsewhere(named: str) -> None:
    assert local_master(named, {}) is None


def test_without_a_master_it_is_this_machine_unless_spark_may_have_been_told_of_another() -> None:
    assert local_master(None, {"PATH": "/bin"}) == "local[*]"
    for name in ("PYSPARK_GATEWAY_PORT", "MASTER"):
        assert local_master(None, {name: "something"}) is None


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("--driver-memory 2g pyspark-shell", "local[*]"),
        ("--master yarn pyspark-shell", None),
        ("--master=local[2] pyspark-shell", None),
        ("--conf spark.master=yarn pyspark-shell", None),
        ("--remote sc://host pyspark-shell", None),
        ("--properties-file of-the-cluster.conf pyspark-shell", None),
    ],
)
def test_arguments_for_spark_may_name_a_master(given: str, found: str | None) -> None:
    assert local_master(None, {"PYSPARK_SUBMIT_ARGS": given}) == found


def test_defaults_of_spark_may_name_a_master(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    for environ in ({"SPARK_HOME": str(tmp_path)}, {"SPARK_CONF_DIR": str(tmp_path / "conf")}):
        (tmp_path / "conf" / "spark-defaults.conf").unlink(missing_ok=True)
        assert local_master(None, environ) == "local[*]"
        for text, found in (
            ("# spark.master yarn\nspark.ui.enabled false\n", "local[*]"),
            ("spark.ui.enabled false\nspark.master yarn\n", None),
            (" spark.master=spark://host:7077\n", None),
        ):
            (tmp_path / "conf" / "spark-defaults.conf").write_text(text, encoding="utf-8")
            assert local_master(None, environ) == found


@pytest.mark.parametrize(
    ("configs", "environ", "found"),
    [
        ({}, {}, False),
        ({"spark.master": "local[2]"}, {"PYSPARK_GATEWAY_PORT": "1"}, False),
        ({"spark.remote": "sc://host"}, {}, True),
        ({}, {"SPARK_REMOTE": "sc://host"}, True),
        ({}, {"SPARK_CONNECT_MODE_ENABLED": "1"}, True),
    ],
)
def test_sessions_of_spark_connect_are_left_to_their_server(
    configs: dict[str, str], environ: dict[str, str], found: bool
) -> None:
    assert is_connect(configs, environ) is found
