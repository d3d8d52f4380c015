"""The module that Spark finds by the beginning of its name: where odradek is installed, `format("odradek")` is known.

Every Spark session that looks up a Python data source imports this module, so it must stay cheap.
"""

from odradek.spark.source import OdradekSource as DefaultSource

__all__ = ["DefaultSource"]
