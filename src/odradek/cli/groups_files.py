"""`odradek groups export` and `import`: the offsets of groups out to a file, and in from one."""

import argparse
import sys
from pathlib import Path

from odradek.cli import groups_plan, offsets_file, reaching
from odradek.cli.groups_plan import Plan, change_offsets
from odradek.cli.groups_reset import plan_of
from odradek.cli.groups_scope import complaint
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.quantities import count
from odradek.cli.streams import complain, lenient
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.committed import Committed, fetch_committed
from odradek.client.errors import ClientError
from odradek.client.groups import list_groups

_WITH_OFFSETS = ("Classic", "Consumer")
_STANDARD = "-"


def add_arguments(verbs: Verbs) -> None:
    exporting = verbs.add("export", export_offsets, "write the offsets of groups to a file")
    exporting.add_argument("groups", metavar="GROUP", nargs="*", help="a group; without one, all that have offsets")
    exporting.add_argument("--csv", action="store_true", help="as Kafka's own tool takes and writes it, not as JSON")
    exporting.add_argument("--output", metavar="FILE", default=_STANDARD, help="(standard output)")
    importing = verbs.add("import", import_offsets, "set groups to the offsets that a file has")
    importing.add_argument("file", metavar="FILE", help="of `groups export` or of Kafka's tool; - is standard input")
    importing.add_argument("--group", metavar="GROUP", help="for this group, whichever group the file names")
    groups_plan.add_arguments(importing)


def export_offsets(options: argparse.Namespace) -> int:
    if options.csv and options.json:
        raise Misused("give either --csv or --json")

    async def work(client: Client) -> int:
        group_ids = list(dict.fromkeys(options.groups))
        if not group_ids:
            group_ids = [each.group_id for each in await list_groups(client, kinds=_WITH_OFFSETS)]
        status = 0
        groups: dict[str, offsets_file.Offsets] = {}
        for group_id, found in (await fetch_committed(client, group_ids)).items():
            if isinstance(found, ClientError):
                complain(complaint(group_id, found))
                status = EXIT_FAILED
                continue
            offsets = {partition: each for partition, each in found.items() if isinstance(each, Committed)}
            if offsets:
                groups[group_id] = offsets
            elif options.groups:
                complain(f"{group_id} has no offsets")
                status = EXIT_FAILED
        lines = list(offsets_file.to_csv(groups) if options.csv else offsets_file.to_json(groups))
        _write(lines, options.output)
        return status

    return reaching.run(options, work)


def _write(lines: list[str], file: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if file == _STANDARD:
        lenient(sys.stdout).write(text)
    else:
        Path(file).write_text(text, encoding="utf-8")
        print(f"{count(len(lines), 'offset')} written to {file}", file=sys.stderr)


def import_offsets(options: argparse.Namespace) -> int:
    given = _read(options.file, options.group)

    async def work(client: Client) -> int:
        async def make(group_id: str) -> Plan:
            return await plan_of(client, group_id, given[group_id])

        return await change_offsets(client, list(given), make, options)

    return reaching.run(options, work)


def _read(file: str, group_id: str | None) -> dict[str, offsets_file.Offsets]:
    try:
        text = sys.stdin.read() if file == _STANDARD else Path(file).read_text(encoding="utf-8")
        given = offsets_file.read_offsets(text, [] if group_id is None else [group_id])
    except (offsets_file.BadFile, UnicodeDecodeError) as error:
        raise Misused(f"{file}: {error}") from None
    if not given:
        raise Misused(f"{file}: has no offsets")
    if group_id is None:
        return given
    if len(given) > 1:
        raise Misused(f"{file}: has {len(given)} groups, so --group cannot say which of them is meant")
    return {group_id: next(iter(given.values()))}
