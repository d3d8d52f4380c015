"""What a Spark that jobs run on is told. It imports no Spark: whoever starts one in another process needs it too."""

OF_SPARK = {
    # All jobs have about 150 classes that Spark generates. It keeps 100: side by side, jobs would have each other's
    # thrown away, and compile their own anew in every batch.
    "spark.sql.codegen.cache.maxEntries": "1000",
}
"""To be given when it is started."""

OF_SESSION = {
    "spark.sql.session.timeZone": "UTC",
    # It plans a query again in the middle of it. Batches are small, and what they need is known.
    "spark.sql.adaptive.enabled": "false",
    # The only store that takes a state with a schema of its own; it also keeps large states out of the heap.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Results are told when they change, so a batch without events would only drop old windows: that can wait.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


def shuffle_partitions(jobs: int) -> int:
    """Where nobody says more. Jobs side by side share a few cores as it is, and every task more costs all of them."""
    return 2 if jobs == 1 else 1
