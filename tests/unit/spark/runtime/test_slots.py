"""How many tasks run at the same time, as the processes of sources are told."""

import os
import subprocess
import sys

import pytest

from odradek.spark.runtime.slots import slots_here, slots_of, starter, tell_slots


@pytest.mark.parametrize(
    ("master", "slots"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[2, 4]", 2),
        ("local[2,4]", 2),
        ("local[0]", None),
        ("local-cluster[2,1,1024]", None),
        ("spark://nobody:7077", None),
        ("yarn", None),
        ("", None),
    ],
)
def test_masters(master: str, slots: int | None) -> None:
    assert slots_of(master) == slots


def test_all_cores_are_those_that_this_process_may_use() -> None:
    assert slots_of("local[*]") == slots_of("local[*, 4]") == len(os.sched_getaffinity(0))


def test_processes_that_are_started_within_know_it() -> None:
    tell = "import os; from odradek.spark.runtime.slots import slots_here; print(slots_here(os.environ))"
    with tell_slots(7):
        with tell_slots(None):
            assert slots_here(os.environ) is None
        assert subprocess.run([sys.executable, "-c", tell], capture_output=True, check=True).stdout == b"7\n"
    assert slots_here(os.environ) is None


@pytest.mark.parametrize("given", ["", "0", "-1", "many"])
def test_what_is_no_number_of_slots_is_not_known(given: str) -> None:
    assert slots_here({"ODRADEK_SPARK_SLOTS": given}) is None


JAVA = ["java", "-cp", "/jars/*", "org.apache.spark.deploy.SparkSubmit", "--name", "job"]


@pytest.mark.parametrize(
    ("arguments", "slots"),
    [
        (["--conf", "spark.master=local[3]", "pyspark-shell"], 3),
        (["--master", "local[4]", "job.py"], 4),
        (["--master", "local[4]", "--conf", "spark.master=local[2]", "job.py"], 2),
        (["--master", "yarn", "job.py"], None),
        (["--conf", "spark.master=spark://nobody:7077"], None),
        (["--conf", "spark.app.name=local[3]", "--master"], None),
        ([], None),
    ],
)
def test_a_session_that_was_made_in_another_way(arguments: list[str], slots: int | None) -> None:
    assert slots_here({}, [*JAVA, *arguments]) == slots
    assert slots_here({"ODRADEK_SPARK_SLOTS": "7"}, [*JAVA, *arguments]) == 7


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the arguments of a process")
def test_who_started_this_process() -> None:
    inner = "from odradek.spark.runtime.slots import starter; print(starter())"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    told = subprocess.run([sys.executable, "-c", outer, "spark.master=local[5]"], capture_output=True, text=True)
    assert "'spark.master=local[5]'" in told.stdout
    assert starter()
