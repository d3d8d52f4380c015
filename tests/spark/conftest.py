"""One Spark for all tests of a worker: it takes seconds to start, and a gigabyte."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from support import small_spark

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """On two cores; a task may fail three times. Leave it running, and its settings as they are."""
    with small_spark.small_spark("odradek-tests", tmp_path_factory.mktemp("spark")) as made:
        yield made


@pytest.fixture
def finished() -> Callable[[Callable[[], StreamingQuery]], StreamingQuery]:
    """Starts a query that ends by itself, and waits for its end; raises what it ends with."""
    return small_spark.finished
