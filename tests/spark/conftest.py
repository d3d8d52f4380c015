"""One Spark for all tests of a run: it takes seconds to start, and a gigabyte."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.spark import session

_HERE = Path(__file__).parent
_TOO_SLOW = "Python worker failed to connect back"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """On two cores; a task may fail three times. Leave it running, and its settings as they are."""
    made = session(
        "odradek-tests",
        "local[2, 4]",
        **{
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.sql.session.timeZone": "UTC",
            "spark.log.level": "ERROR",
        },
    )
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def finished() -> Callable[[Callable[[], StreamingQuery]], StreamingQuery]:
    """Starts a query that ends by itself, and waits for its end; raises what it ends with."""

    def run(start: Callable[[], StreamingQuery]) -> StreamingQuery:
        while True:
            query = start()
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                # Spark gives a Python process ten seconds to start, with no setting for it: that is the machine's
                # fault, and not the query's, which has done nothing yet.
                if _TOO_SLOW not in str(error):
                    raise
                continue
            return query

    return run
