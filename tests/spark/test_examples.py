"""The scripts under examples/ do what they say."""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.testing import RunningBroker

EXAMPLES = Path(__file__).parents[2] / "examples"
Finished = Callable[[Callable[[], StreamingQuery]], StreamingQuery]


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_orders_get_the_plan_of_their_customer(
    spark: SparkSession, odradek_broker: RunningBroker, tmp_path: Path, finished: Finished
) -> None:
    bootstrap = odradek_broker.bootstrap
    odradek_broker.create_topic("orders", 2)
    odradek_broker.create_topic("orders_enriched", 2)
    odradek_broker.create_topic("customers", 1, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": bootstrap})
    for customer, plan in (("ann", "free"), ("bob", "free"), ("ann", "paid"), ("bob", None)):
        producer.produce("customers", plan, customer)
    for customer in ("ann", "bob"):
        producer.produce("orders", json.dumps({"customer": customer, "amount": 2.5}))
    assert producer.flush(60) == 0
    enrich_orders = example("enrich_orders")
    for _ in range(2):  # the second finds nothing new
        finished(lambda: enrich_orders.start(spark, bootstrap, str(tmp_path), once=True))
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": "orders_enriched"}
    rows = spark.read.format("odradek").options(**options).load().selectExpr("string(key) k", "string(value) v")
    found = {row.k: json.loads(row.v) for row in rows.collect()}
    assert rows.count() == 2
    assert found == {
        "ann": {"customer": "ann", "amount": 2.5, "plan": "paid"},
        "bob": {"customer": "bob", "amount": 2.5},
    }
