"""The jobs: live events of trucks and of data centres, on Spark, with their results in topics."""
