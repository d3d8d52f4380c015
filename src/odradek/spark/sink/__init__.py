"""From Arrow columns to records of Kafka's: the sink for PySpark."""
