"""Jobs on the master that is named, to the end of what their topics have: a driver of Spark's, a process of its own."""

import json
import sys
from threading import Event

from odradek.pipelines.queries import Setting
from odradek.pipelines.registry import job_named
from odradek.pipelines.runner import run_all
from odradek.spark import session
from support.spark_cluster import LIGHT_JAVA


def main(master: str, names: list[str], setting: Setting) -> None:
    spark = session(
        "jobs",
        master,
        **{
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "768m",
            "spark.driver.extraJavaOptions": LIGHT_JAVA,
            "spark.executor.extraJavaOptions": LIGHT_JAVA,
            "spark.executor.memory": "640m",
            "spark.log.level": "WARN",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
        },
    )
    try:
        run_all(spark, [job_named(name) for name in names], setting, Event())
    finally:
        spark.stop()


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    main(given["master"], given["jobs"], Setting(**given["setting"]))
