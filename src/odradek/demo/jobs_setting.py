"""What the process with the jobs is told, and what it says. No Spark, so that whoever starts it needs none."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from odradek.pipelines.registry import JOBS
from odradek.pipelines.spark_settings import OF_SPARK, shuffle_partitions

UP, DRAIN, DRAINED = "up", "drain", "drained"

_STARTS_MAX = 100
"""Spark gives a Python process ten seconds to start: a slow machine needs more tries. What cannot pass ends at once."""
_INTERVAL_S = 2.0
"""Between batches: eight jobs share two cores with the broker, the page and the simulators."""
_DRAIN_S = 600.0
"""For what takes half a minute on a slow machine. Else one would wait for it as long as jobs are started again."""
_FEW_EVENTS = 1_000
"""A second. So few are read faster in the first minutes if Java compiles them quickly, not well: a quarter less CPU."""
_SOCKET_DIRECTORY_MAX = 60
"""Bytes. Systems bound the path of a socket at about 100, and Spark's names of them take some 40."""


@dataclass(frozen=True, slots=True)
class JobsSetting:
    bootstrap: str
    checkpoint: str
    master: str
    configs: dict[str, str]
    starts_max: int = _STARTS_MAX
    interval_s: float = _INTERVAL_S
    drain_s: float = _DRAIN_S

    def as_argument(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of_argument(cls, text: str) -> "JobsSetting":
        return cls(**json.loads(text))


def spark_configs(scratch: Path, master: str, events_per_second: int) -> dict[str, str]:
    """All that Spark writes for itself goes below `scratch`."""
    java = [f"-Djava.io.tmpdir={scratch}", "-XX:-UsePerfData"]
    if events_per_second <= _FEW_EVENTS:
        java += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    configs = {
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.driver.memory": "1g",
        "spark.local.dir": str(scratch),
        "spark.log.level": "WARN",
        "spark.sql.shuffle.partitions": str(shuffle_partitions(len(JOBS))),
        **OF_SPARK,
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        configs |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        if len(os.fsencode(scratch)) > _SOCKET_DIRECTORY_MAX:
            configs["spark.python.unix.domain.socket.enabled"] = "false"
    return configs
