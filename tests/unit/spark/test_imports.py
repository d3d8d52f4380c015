"""What Spark's planning processes import stays small: the time that it takes is added to every query."""

import json
import subprocess
import sys
from pkgutil import iter_modules

HEAVY = {"asyncio", "numba", "numpy", "pandas", "pyarrow", "confluent_kafka", "odradek.client", "odradek.wire"}
PRINTED = """
import json, sys
import pyspark.sql.datasource, pyspark.sql.types
before = set(sys.modules)
import pyspark_odradek
print(json.dumps([sorted(set(sys.modules) - before), pyspark_odradek.DefaultSource.name()]))
"""


def test_the_module_that_spark_finds_by_its_name_imports_nothing_heavy() -> None:
    printed = subprocess.run([sys.executable, "-c", PRINTED], capture_output=True, text=True, check=True).stdout
    imported, name = json.loads(printed)
    assert name == "odradek"
    assert not {each for each in imported if each in HEAVY or each.split(".")[0] in HEAVY}
    assert len(imported) < 30, imported


def test_spark_finds_it_as_it_looks_for_sources() -> None:
    assert "pyspark_odradek" in {each.name for each in iter_modules() if each.name.startswith("pyspark_")}


def test_without_spark_it_is_told_what_to_install() -> None:
    script = "import sys; sys.modules['pyspark'] = None; import odradek.spark; odradek.spark.session()"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stderr
    assert told.endswith("ModuleNotFoundError: there is no Spark here: pip install 'odradek[spark]'\n")
