"""`odradek demo`: a broker, live events, the jobs on Spark and a page with their results."""

import argparse
import importlib
import importlib.util
import os
import sys
from pathlib import Path

from odradek.cli.main import Misused
from odradek.cli.streams import lenient
from odradek.client.client import parse_bootstrap
from odradek.demo.demo import Demo
from odradek.demo.parts import DemoSetting
from odradek.demo.scenario import EVENTS_PER_SECOND, EVENTS_PER_SECOND_LEAST
from odradek.demo.screen import Lines, Terminal
from odradek.demo.signals import noted_signals
from odradek.demo.workplace import workplace
from odradek.model.errors import InvalidConfig

_SPARK_PACKAGES = ("numba", "numpy", "pandas", "pyarrow", "pyspark")
_PAGE_PACKAGES = ("fastapi", "nicegui", "uvicorn")
_SECONDS_MAX = 3600
_EVENTS_MAX = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", metavar="N", type=_seconds, help="end after so many, check all results and print a table"
    )
    parser.add_argument(
        "--events-per-second",
        metavar="N",
        type=_events,
        default=EVENTS_PER_SECOND,
        help=f"the load, trucks and tenants together ({EVENTS_PER_SECOND})",
    )
    parser.add_argument("--bootstrap", metavar="HOST:PORT,...", help="use this Kafka, and start no broker")
    parser.add_argument("--master", metavar="URL", default="local[2]", help="of Spark (local[2])")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep data, checkpoints and logs there")
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    parser.set_defaults(handler=demo)


def demo(options: argparse.Namespace) -> int:
    missing = [name for name in _SPARK_PACKAGES if not _is_there(name)]
    if missing:
        raise Misused(f"the demo needs {missing[0]}, which is not installed: pip install 'odradek[spark,console]'")
    java = importlib.import_module(
        "odradek.spark.runtime.java"
    )  # by name: it may import what a broker is installed without
    setting = DemoSetting(
        java_home=java.find_java_home(os.environ),
        bootstrap=_bootstrap(options.bootstrap),
        master=options.master,
        events_per_second=options.events_per_second,
        seconds=options.seconds,
        keep=options.keep,
        has_page=all(map(_is_there, _PAGE_PACKAGES)),
        opens_browser=not options.no_browser,
    )
    stream = lenient(sys.stdout)
    new_screen = Terminal if stream.isatty() else Lines
    with noted_signals() as stop, workplace(setting.keep) as place, new_screen(stream) as screen:
        return Demo(setting, place, screen, stop).run()


def _bootstrap(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return ",".join(map(str, parse_bootstrap(text)))
    except InvalidConfig as error:
        raise Misused(f"--bootstrap: {error}") from None


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # what a test has hidden
        return False


def _seconds(text: str) -> float:
    return float(_whole(text, 1, _SECONDS_MAX))


def _events(text: str) -> int:
    return _whole(text, EVENTS_PER_SECOND_LEAST, _EVENTS_MAX)


def _whole(text: str, least: int, most: int) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from {least:,} to {most:,}")
    return int(text)
