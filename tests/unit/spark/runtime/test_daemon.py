import socket

import pytest
from pyspark import daemon as of_pyspark

from odradek.spark.runtime import daemon


def test_a_worker_that_spark_lets_go_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def let_go(sock: socket.socket, authenticated: bool) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(daemon, "_of_pyspark", let_go)
    with socket.socket() as unused:
        assert daemon.worker(unused, True) == 1


def test_it_wraps_what_pyspark_calls() -> None:
    """The name that PySpark looks up for each task: where it had another, tracebacks would be back."""
    assert "worker" in of_pyspark.manager.__code__.co_names
    assert daemon._of_pyspark is of_pyspark.worker
