"""`odradek log sizes`: how large logs are, as brokers say or as the files do."""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from odradek.cli import reaching
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.quantities import count, size
from odradek.cli.streams import complain, lenient
from odradek.cli.table import table
from odradek.client.client import Client
from odradek.client.log_dirs import LogDirView, describe_log_dirs
from odradek.process.files import OsFiles
from odradek.storage.names import Mark
from odradek.storage.sizes import measure

_NUMBERS = ("partition", "broker", "partitions", "logs", "size", "free", "of")
_SIZES = ("size", "free", "of")


class Row(NamedTuple):
    """A log. The broker is None where files were looked at."""

    topic: str
    partition: int
    broker: int | None
    directory: str
    size: int
    note: str | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directories", nargs="*", metavar="DIR", help="look at these, or at all in them; without one, ask the brokers"
    )
    parser.add_argument("--topic", metavar="TOPIC", action="append", default=[], help="only this; may be repeated")
    parser.add_argument(
        "--by", choices=("partition", "topic", "directory"), default="partition", help="sum up by (partition)"
    )
    parser.add_argument("--sort", choices=("size", "name"), default="size", help="the largest first, or by name (size)")
    parser.add_argument("--top", metavar="N", type=_positive, help="only the first N lines")
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line, with sizes in bytes")
    reaching.add_arguments(parser)
    parser.set_defaults(handler=run)


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} must be a number above 0")
    return int(text)


def run(options: argparse.Namespace) -> int:
    if options.directories:
        _show(_measured(options.directories), [], options)
        return 0

    async def work(client: Client) -> int:
        views = await describe_log_dirs(client)
        _show([row for view in views for row in _rows(view)], views, options)
        failed = [view for view in views if view.error is not None]
        for view in failed:
            complain(f"{view.path} of broker {view.node_id}: {view.error}")
        return EXIT_FAILED if failed else 0

    return reaching.run(options, work)


def _measured(directories: Iterable[str]) -> list[Row]:
    rows = []
    for directory in dict.fromkeys(directories):
        try:
            logs = measure(OsFiles(), directory)
        except NotADirectoryError:
            raise Misused(f"{directory} is a file") from None
        if not logs:
            raise Misused(f"{directory} has no logs in it")
        rows += [Row(*each.partition, None, each.log_dir, each.size, _marked(each.mark)) for each in logs]
    return rows


def _marked(mark: Mark) -> str | None:
    return mark.value.removeprefix("-") or None


def _rows(view: LogDirView) -> list[Row]:
    return [
        Row(*each.partition, view.node_id, view.path, each.size, "future" if each.is_future else None)
        for each in view.replicas
    ]


class Line(NamedTuple):
    """Of what is shown."""

    name: tuple[str | int, ...]
    """To sort by."""
    size: int
    fields: Mapping[str, object]


def _show(rows: Sequence[Row], views: Sequence[LogDirView], options: argparse.Namespace) -> None:
    chosen = [row for row in rows if not options.topic or row.topic in options.topic]
    lines = _directories(chosen, views) if options.by == "directory" else _LINES[options.by](chosen)
    by_name = sorted(lines, key=lambda line: line.name)
    shown = by_name if options.sort == "name" else sorted(by_name, key=lambda line: line.size, reverse=True)
    fields = [line.fields for line in shown[: options.top]]
    if options.json:
        for each in fields:
            print(json.dumps(each))
    elif fields:
        titles = [title for title in fields[0] if any(each[title] is not None for each in fields)]
        cells = [[_cell(title, each[title]) for title in titles] for each in fields]
        summary = f"{count(len(chosen), 'log')}, {size(sum(row.size for row in chosen))}"
        print(*table(titles, cells, right=_NUMBERS), summary, sep="\n", file=lenient(sys.stdout))


def _cell(title: str, value: object) -> object:
    return size(value) if title in _SIZES and isinstance(value, int) else value


def _partitions(rows: Iterable[Row]) -> list[Line]:
    return [Line((row.topic, row.partition, row.broker or 0, row.directory), row.size, row._asdict()) for row in rows]


def _topics(rows: Iterable[Row]) -> list[Line]:
    """Replicas and copies in the making count."""
    topics: dict[str, list[Row]] = {}
    for row in rows:
        topics.setdefault(row.topic, []).append(row)
    lines = []
    for topic, logs in topics.items():
        total, partitions = sum(log.size for log in logs), len({log.partition for log in logs})
        lines.append(Line((topic,), total, {"topic": topic, "partitions": partitions, "size": total}))
    return lines


def _directories(rows: Iterable[Row], views: Iterable[LogDirView]) -> list[Line]:
    """Also those without a log, where brokers told of them."""
    rooms = {(view.node_id, view.path): (view.usable, view.total) for view in views if view.error is None}
    directories: dict[tuple[int | None, str], list[Row]] = {place: [] for place in rooms}
    for row in rows:
        directories.setdefault((row.broker, row.directory), []).append(row)
    lines = []
    for (broker, path), logs in directories.items():
        total = sum(log.size for log in logs)
        free, of = (None, None) if broker is None else rooms[broker, path]
        fields = {"broker": broker, "directory": path, "logs": len(logs), "size": total, "free": free, "of": of}
        lines.append(Line((broker or 0, path), total, fields))
    return lines


_LINES = {"partition": _partitions, "topic": _topics}
