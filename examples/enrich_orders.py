"""Orders, each with the plan that its customer has: a stream joined with a compacted topic.

    odradek topics create orders --partitions 2
    odradek topics create orders_enriched --partitions 2
    odradek topics create customers --config cleanup.policy=compact
    python examples/enrich_orders.py localhost:9092 /tmp/enrich-checkpoint

Customers are keyed by their id, and their value is their plan. Orders are JSON with a customer and an amount. Each
batch of the stream is joined with the table as it is at that moment; an order of an unknown customer has no plan.
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

import odradek.spark

ORDER = "customer string, amount double"


def enrich(orders: DataFrame, customers: DataFrame) -> DataFrame:
    """Both as they come from topics; the result has what a sink needs."""
    parsed = orders.select(f.from_json(f.col("value").cast("string"), ORDER).alias("order")).select("order.*")
    plans = customers.select(f.col("key").cast("string").alias("customer"), f.col("value").cast("string").alias("plan"))
    joined = parsed.join(plans, "customer", "left")
    return joined.select(
        f.col("customer").alias("key"), f.to_json(f.struct("customer", "amount", "plan")).alias("value")
    )


def start(spark: SparkSession, bootstrap: str, checkpoint: str, *, once: bool = False) -> StreamingQuery:
    """With `once`, the query ends when it has read what is there now."""
    orders = (
        spark.readStream.format("odradek")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .load()
    )
    customers = odradek.spark.table(spark, "customers", bootstrap)
    sink = (
        enrich(orders, customers)
        .writeStream.format("odradek")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", "orders_enriched")
        .option("checkpointLocation", checkpoint)
    )
    return (sink.trigger(availableNow=True) if once else sink).start()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bootstrap")
    parser.add_argument("checkpoint")
    parser.add_argument("--once", action="store_true", help="end when all that is there now is read")
    options = parser.parse_args()
    start(odradek.spark.session(), options.bootstrap, options.checkpoint, once=options.once).awaitTermination()


if __name__ == "__main__":
    main()
