"""Where a session runs, as far as that is known before Spark starts."""

import pytest

from odradek.spark.sessions import local_master


@pytest.mark.parametrize("named", ["local", "local[2]", "local[*]", "local-cluster[2,1,1024]"])
def test_a_master_on_this_machine(named: str) -> None:
    assert local_master(named, {"SPARK_HOME": "/spark"}) == named


@pytest.mark.parametrize("named", ["yarn", "spark://host:7077", "k8s://https://host"])
def test_a_master_elsewhere(named: str) -> None:
    assert local_master(named, {}) is None


def test_without_a_master_it_is_this_machine_unless_spark_may_have_been_told_of_another() -> None:
    assert local_master(None, {"PATH": "/bin"}) == "local[*]"
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        assert local_master(None, {name: "something"}) is None
